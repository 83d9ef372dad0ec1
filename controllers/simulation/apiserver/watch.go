package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// longestWatch is how long a watch without a timeout goes on.
const longestWatch = time.Hour

// serveWatch streams changes until the client or the timeout ends it. Without a version it begins with what there is.
func (q *request) serveWatch(w http.ResponseWriter, options metav1.ListOptions) error {
	timeout := longestWatch
	if options.TimeoutSeconds != nil {
		timeout = time.Duration(*options.TimeoutSeconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(q.Context(), timeout)
	defer cancel()
	endpoint, stream := q.endpoint(q.server.reader), &eventStream{request: q, writer: w}
	sendsInitial := options.SendInitialEvents != nil && *options.SendInitialEvents
	var initial *unstructured.UnstructuredList
	if sendsInitial || options.SendInitialEvents == nil && (options.ResourceVersion == "" || options.ResourceVersion == "0") {
		var err error
		if initial, err = endpoint.List(ctx, options); err != nil {
			return err
		}
		options.ResourceVersion = initial.GetResourceVersion()
	}
	if after, err := strconv.ParseInt(options.ResourceVersion, 10, 64); err == nil && after > q.server.cluster.Version() {
		// It is of an earlier server at the same address, of which nothing is left: the client is to list again.
		return apierrors.NewResourceExpired(fmt.Sprintf("the resource version %d is not of this server", after))
	}
	changes, err := endpoint.Watch(ctx, options)
	if err != nil {
		return err
	}
	defer changes.Stop()
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(http.StatusOK)
	if initial != nil {
		for i := range initial.Items {
			stream.send(watch.Added, &initial.Items[i])
		}
		if sendsInitial && options.AllowWatchBookmarks {
			stream.bookmark(initial.GetResourceVersion(), map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		}
	}
	stream.flush()
	stream.follow(ctx, changes.ResultChan())
	return nil
}

// eventStream writes the events of a watch.
type eventStream struct {
	request *request
	writer  http.ResponseWriter
	isBegun bool // A table has its columns in the first event only.
	err     error
}

// follow writes events until there are no more, or the client is gone. There is no need of bookmarks: a version stays as good as it is
// while the resource does not change.
func (s *eventStream) follow(ctx context.Context, events <-chan watch.Event) {
	for s.err == nil {
		select {
		case event, isOpen := <-events:
			if !isOpen {
				return
			}
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				s.send(event.Type, object)
			} else {
				s.write(event.Type, event.Object)
			}
			s.flush()
		case <-ctx.Done():
			return
		}
	}
}

// send writes an event about an object.
func (s *eventStream) send(kind watch.EventType, object *unstructured.Unstructured) {
	value, err := s.request.represent(object)
	if err != nil {
		s.err = err
		return
	}
	if table, ok := value.(*metav1.Table); ok {
		if s.isBegun {
			table.ColumnDefinitions = nil
		}
		s.isBegun = true
	}
	s.write(kind, value)
}

// bookmark writes the version up to which all changes were sent.
func (s *eventStream) bookmark(version string, annotations map[string]string) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(s.request.resource.Kind)
	object.SetResourceVersion(version)
	object.SetAnnotations(annotations)
	object.SetCreationTimestamp(metav1.Time{})
	s.send(watch.Bookmark, object)
}

func (s *eventStream) write(kind watch.EventType, object any) {
	if s.err == nil {
		s.err = objectjson.Write(s.writer, map[string]any{"type": string(kind), "object": object})
	}
	if s.err == nil {
		_, s.err = s.writer.Write([]byte{'\n'})
	}
}

func (s *eventStream) flush() {
	if flusher, ok := s.writer.(http.Flusher); ok {
		flusher.Flush()
	}
}
