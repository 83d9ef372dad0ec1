// Package apiserver is a Kubernetes API server on a cluster in memory, with what else a control plane does: a garbage collector,
// namespaces, CustomResourceDefinitions that become resources, and objects that become ready. It listens nowhere: it is an http.Handler,
// and a transport that calls it in the same process.
//
// Everyone may do everything. An object of a kind with several versions is served in the one in which it was written.
package apiserver

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
)

// Config is what a Server is made of.
type Config struct {
	Clock clock.WithTicker
	Log   logr.Logger
	// ReadyAfter is how long it takes until an object is ready after a change.
	ReadyAfter time.Duration
	// IsParent reports whether a custom kind has a status that hooks write, so that no other controller reports that its objects are ready.
	// Those of the definitions in the cluster are known. It may be nil.
	IsParent func(schema.GroupVersionKind) bool
	// Wrote is called with each write of a request, in whose context it is, also with those that are refused. It may be nil.
	Wrote func(context.Context, memcluster.Write)
}

// Server is an API server. It is safe for concurrent use.
type Server struct {
	config  Config
	cluster *memcluster.Cluster
	client  dynamic.Interface // Of the cluster's own controllers.
	reader  dynamic.Interface // It returns what is stored, which is read-only.

	mu        sync.RWMutex
	resources map[schema.GroupVersionResource]*resource
	changed   map[schema.GroupVersion]int64 // How often the resources of a group and version were changed.
	started   int64                         // When the server was made.

	controllers *controllers
}

// New returns a server of a cluster with the built-in resources, those of Libretto, and the namespaces default and kube-system. What else a
// cluster does begins with Run.
func New(config Config) (*Server, error) {
	builtIn, err := validation.BuiltIn()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: config, cluster: memcluster.New(config.Clock),
		resources: map[schema.GroupVersionResource]*resource{}, changed: map[schema.GroupVersion]int64{},
		started: config.Clock.Now().UnixNano(), controllers: newControllers(config.Clock),
	}
	s.cluster.ManageFields()
	s.client, s.reader = s.cluster.Client(nil), s.cluster.Reader()
	for _, r := range append(builtIn, validation.CustomResourceDefinitions()) {
		if r.GroupVersionResource == crds {
			r.Finalizer = apiextensionsv1.CustomResourceCleanupFinalizer
		}
		if !r.Custom { // Libretto's own come with their CustomResourceDefinitions.
			s.serve(builtInResource(r))
		}
	}
	for _, r := range reviews() {
		s.resources[r.GroupVersionResource] = r
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		namespace := &unstructured.Unstructured{}
		namespace.SetGroupVersionKind(namespaceKind)
		namespace.SetName(name)
		if err := s.cluster.Seed(namespace); err != nil { // syncNamespace gives it the rest.
			return nil, err
		}
	}
	if err := s.installOwn(); err != nil {
		return nil, err
	}
	s.cluster.Observe(s.note)
	for _, object := range s.cluster.Snapshot() {
		s.note(watch.Event{Type: watch.Added, Object: object})
	}
	return s, nil
}

// RESTConfig returns the configuration of clients that call the handler in this process.
func (s *Server) RESTConfig() *rest.Config {
	return &rest.Config{Host: "http://memory.invalid", Transport: NewTransport(s.Handler()), QPS: -1}
}

// serve makes the server serve a resource.
func (s *Server) serve(r *resource) {
	s.cluster.Serve(r.Resource)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources[r.GroupVersionResource] = r
	s.changed[r.GroupVersion()]++
}

// unserve makes the server forget a resource.
func (s *Server) unserve(gvr schema.GroupVersionResource) {
	s.cluster.Unserve(gvr)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.resources, gvr)
	s.changed[gvr.GroupVersion()]++
}

// find returns a resource, or nil.
func (s *Server) find(gvr schema.GroupVersionResource) *resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.resources[gvr]
}
