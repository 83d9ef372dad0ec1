package bench

import (
	"context"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// apiServer answers lists and watches of its objects. Any other request panics: nothing that is measured here may
// make a request.
type apiServer struct {
	mu      sync.Mutex
	version int
	tables  map[schema.GroupVersionResource]*table
}

type table struct {
	objects []unstructured.Unstructured
	events  chan watch.Event
}

func newAPIServer() *apiServer {
	return &apiServer{version: 1_000_000, tables: map[schema.GroupVersionResource]*table{}}
}

// table returns the table of a resource. The lock is held.
func (s *apiServer) table(resource schema.GroupVersionResource) *table {
	if s.tables[resource] == nil {
		s.tables[resource] = &table{events: make(chan watch.Event, 1024)}
	}
	return s.tables[resource]
}

// add puts objects there before anybody lists them. They are not copied.
func (s *apiServer) add(resource schema.GroupVersionResource, objects ...*unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table(resource)
	for _, object := range objects {
		t.objects = append(t.objects, *object)
	}
}

// send has the watchers of a resource see an event, with a version of its own.
func (s *apiServer) send(resource schema.GroupVersionResource, kind watch.EventType, object *unstructured.Unstructured) {
	s.mu.Lock()
	s.version++
	version, events := s.version, s.table(resource).events
	s.mu.Unlock()
	seen := object.DeepCopy()
	seen.SetResourceVersion(strconv.Itoa(version))
	events <- watch.Event{Type: kind, Object: seen}
}

// Resource returns the endpoint of a resource.
func (s *apiServer) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return endpoint{server: s, resource: resource}
}

// IsWatchListSemanticsUnSupported has informers list before they watch.
func (s *apiServer) IsWatchListSemanticsUnSupported() bool { return true }

// endpoint has of a resource's methods only those that informers use.
type endpoint struct {
	dynamic.NamespaceableResourceInterface
	server   *apiServer
	resource schema.GroupVersionResource
}

func (e endpoint) Namespace(namespace string) dynamic.ResourceInterface {
	if namespace != "" {
		panic("a request in namespace " + namespace)
	}
	return e
}

func (e endpoint) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	e.server.mu.Lock()
	defer e.server.mu.Unlock()
	list := &unstructured.UnstructuredList{Object: map[string]any{}, Items: e.server.table(e.resource).objects}
	list.SetResourceVersion(strconv.Itoa(e.server.version))
	return list, nil
}

func (e endpoint) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	e.server.mu.Lock()
	defer e.server.mu.Unlock()
	return feed(e.server.table(e.resource).events), nil
}

// feed is a watch that does not end: a table has one watcher, its informer.
type feed chan watch.Event

func (f feed) ResultChan() <-chan watch.Event { return f }
func (f feed) Stop()                          {}

// newest is the version of the last event.
func (s *apiServer) newest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}
