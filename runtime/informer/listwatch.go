package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// listWatch lists and watches a resource for a reflector, as the dynamic client does. It decodes objects straight
// from the response. A reflector makes one request at a time: it stops a watch before the next one, and a watch that
// is stopped decodes no more, so that the interner has one user.
type listWatch struct {
	client  rest.Interface
	scope   scope
	options objectjson.Options
	log     logr.Logger
	failed  func(error) // Called if a watch ends because of what it has received.
	// watching is told of watches. It may be nil.
	watching *watchStream
}

// unlimited does not limit watches: they are few, and a limiter of requests would only delay them.
var unlimited = flowcontrol.NewFakeAlwaysRateLimiter()

// RESTClientFor returns a client for NewRESTPool. Responses are not compressed: to unpack them would take longer than
// to decode them.
func RESTClientFor(config *rest.Config) (rest.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.DisableCompression = true
	config.GroupVersion = nil
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return rest.UnversionedRESTClientForConfigAndClient(config, client)
}

// informer returns an informer of the resource, which has not been started.
func (l *listWatch) informer() cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(
		&cache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch},
		&unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{Indexers: indexers(), ObjectDescription: l.scope.GroupVersionResource.String()},
	)
}

func (l *listWatch) request(options *metav1.ListOptions) *rest.Request {
	path := []string{"apis", l.scope.Group, l.scope.Version}
	if l.scope.Group == "" {
		path = []string{"api", l.scope.Version}
	}
	if l.scope.namespace != "" {
		path = append(path, "namespaces", l.scope.namespace)
	}
	path = append(path, l.scope.Resource)
	return l.client.Get().AbsPath(path...).SetHeader("Accept", runtime.ContentTypeJSON).
		SpecificallyVersionedParams(options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// list lists the objects that the options ask for. It decodes each as soon as it has come.
func (l *listWatch) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ShardSelector = l.scope.shard.Selector()
	request, start := l.request(&options), time.Now()
	// A stream is not measured by its client.
	defer func() { metrics.RequestLatency.Observe(ctx, http.MethodGet, *request.URL(), time.Since(start)) }()
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	list, items, err := objectjson.NewDecoder(body, l.options).List()
	if err != nil {
		return nil, fmt.Errorf("the API server's list of %s can't be read: %w", l.scope, err)
	}
	result := &unstructured.UnstructuredList{Object: list, Items: make([]unstructured.Unstructured, 0, len(items))}
	for _, item := range items {
		if object := (unstructured.Unstructured{Object: item}); l.scope.contains(&object) {
			result.Items = append(result.Items, object)
		}
	}
	return result, nil
}

// watch watches what the options ask for, until the watch is stopped, ctx ends or the response does.
func (l *listWatch) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch, options.ShardSelector = true, l.scope.shard.Selector()
	ctx, cancel := context.WithCancel(ctx)
	body, err := l.request(&options).Throttle(unlimited).Stream(ctx)
	switch {
	case err == nil:
	case utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err):
		cancel()
		return watch.NewEmptyWatch(), nil // The reflector tries again, as with client-go's watches.
	default:
		cancel()
		return nil, err
	}
	s := &stream{
		scope: l.scope, body: body, cancel: cancel, done: ctx.Done(), decoder: objectjson.NewDecoder(body, l.options), failed: l.failed,
		log: l.log, events: make(chan watch.Event, eventBuffer), ended: make(chan struct{}),
	}
	if s.watching = l.watching; s.watching != nil {
		s.watching.begin()
	}
	go s.receive()
	return s, nil
}

// eventBuffer is how many events of a watch may be decoded before the reflector takes them: decoding goes on while handlers run.
const eventBuffer = 32

// stream is a watch.
type stream struct {
	scope    scope
	watching *watchStream // May be nil.
	body     io.ReadCloser
	decoder  *objectjson.Decoder
	failed   func(error)
	log      logr.Logger
	events   chan watch.Event

	stop   sync.Once
	cancel context.CancelFunc
	done   <-chan struct{}
	ended  chan struct{}
}

// ResultChan returns the events.
func (s *stream) ResultChan() <-chan watch.Event { return s.events }

// Stop ends the watch. After it has returned, nothing is decoded.
func (s *stream) Stop() {
	s.close()
	<-s.ended
}

func (s *stream) close() {
	s.stop.Do(func() {
		s.cancel()
		_ = s.body.Close()
	})
}

// receive sends the events until the stream ends.
func (s *stream) receive() {
	// In reverse: Stop returns only once nothing reads the body and the reflector has seen the end of the events.
	defer close(s.ended)
	defer close(s.events)
	defer s.close()
	if s.watching != nil {
		defer s.watching.end() // Before the reflector sees the end, and opens the next one.
	}
	for {
		event, err := s.next()
		if err != nil {
			s.end(err)
			return
		}
		select {
		case <-s.done:
			return
		case s.events <- event:
		}
	}
}

// errUnreadable is the error of an event that came and makes no sense.
var errUnreadable = errors.New("an event of the watch can't be read")

// next decodes an event.
func (s *stream) next() (watch.Event, error) {
	decoded, err := s.decoder.Event()
	var syntax *objectjson.SyntaxError
	switch {
	case errors.As(err, &syntax), errors.Is(err, objectjson.ErrTooLarge):
		return watch.Event{}, fmt.Errorf("%w: %w", errUnreadable, err)
	case err != nil:
		return watch.Event{}, err
	}
	event := watch.Event{Type: watch.EventType(decoded.Type), Object: &unstructured.Unstructured{Object: decoded.Object}}
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		if object := event.Object.(*unstructured.Unstructured); !s.scope.contains(object) {
			// The reflector has to know how far the watch has come.
			event.Type, event.Object = watch.Bookmark, bookmark(object)
		}
		return event, nil
	case watch.Bookmark:
		return event, nil
	case watch.Error:
		if decoded.Object["kind"] != "Status" {
			return event, nil // The reflector shows it as an unexpected object.
		}
		status := &metav1.Status{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(decoded.Object, status); err != nil {
			return watch.Event{}, fmt.Errorf("%w: the status of an error: %w", errUnreadable, err)
		}
		event.Object = status
		return event, nil
	default:
		return watch.Event{}, fmt.Errorf("%w: unknown type of event %q", errUnreadable, decoded.Type)
	}
}

// contains reports whether an object is in the scope's shard. An API server without sharded lists and watches sends those of all.
func (s scope) contains(object *unstructured.Unstructured) bool {
	return s.shard.Contains(object.GetNamespace())
}

// covers reports whether the scope's cache has an object as long as that is there.
func (s scope) covers(object *unstructured.Unstructured) bool {
	return (s.namespace == "" || s.namespace == object.GetNamespace()) && s.contains(object)
}

// bookmark returns what stands for an object that is of another shard.
func bookmark(of *unstructured.Unstructured) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind()}}
	object.SetResourceVersion(of.GetResourceVersion())
	return object
}

// end tells the reflector why the stream has ended, unless that is normal. A connection may break in many ways, and what is
// wrong with it shows in the next request.
func (s *stream) end(err error) {
	switch {
	case isStopped(s.done), errors.Is(err, io.EOF):
	case !errors.Is(err, errUnreadable):
		s.log.V(1).Info("the connection of a watch has ended", "error", err.Error())
	default: // The reflector lists again after an error. After a normal end it would watch on, from before the same event.
		s.failed(err)
		status := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding").AsObject(err)
		select {
		case <-s.done:
		case s.events <- watch.Event{Type: watch.Error, Object: status}:
		}
	}
}

func isStopped(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
