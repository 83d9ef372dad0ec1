package informer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// serve returns a client of a server, over HTTP/2 as that of an API server.
func serve(t *testing.T, handler http.HandlerFunc) rest.Interface {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := RESTClientFor(&rest.Config{Host: server.URL, UserAgent: "test", TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func configMap(name, version, value string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"default","resourceVersion":"%s",`+
		`"labels":{"app":"web"},"managedFields":[{"manager":"libretto/a","operation":"Apply","apiVersion":"v1","time":"2024-01-01T00:00:00Z",`+
		`"fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}},{"manager":"kubectl","operation":"Apply"}]},"data":{"text":"%s"}}`, name, version, value)
}

func watchEvent(typ, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", typ, object)
}

const initialEventsEnd = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7",` +
	`"annotations":{"k8s.io/initial-events-end":"true"}}}`

// streaming answers watches by text, and leaves them open.
func streaming(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// TestRESTPool checks that a cache is filled by a streamed list, follows the watch, and keeps what it should.
func TestRESTPool(t *testing.T) {
	var mu sync.Mutex
	var requests []string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, fmt.Sprintf("%s watch=%s initial=%s accept=%s gzip=%t agent=%s", r.URL.Path, r.URL.Query().Get("watch"),
			r.URL.Query().Get("sendInitialEvents"), r.Header.Get("Accept"), strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"), r.UserAgent()))
		mu.Unlock()
		streaming(w, r, watchEvent("ADDED", configMap("a", "5", "x"))+watchEvent("ADDED", configMap("b", "6", "x"))+
			watchEvent("BOOKMARK", initialEventsEnd)+watchEvent("MODIFIED", configMap("a", "8", "y"))+watchEvent("DELETED", configMap("b", "9", "x")))
	})
	pool := NewRESTPool(t.Context(), client, logr.Discard())
	pool.KeepFields("libretto")
	h := pool.Open(configMaps)
	defer h.Close()
	events := make(chan Event, 10)
	if err := h.Watch(func(e Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	var before, after *unstructured.Unstructured
	for deleted := false; !deleted || after == nil; {
		select {
		case e := <-events:
			deleted = deleted || e.New == nil
			if e.Old != nil && e.New != nil {
				before, after = e.Old, e.New
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the cache does not follow: %v", h.Err())
		}
	}
	want := map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1", "data": map[string]any{"text": "y"},
		"metadata": map[string]any{"name": "a", "namespace": "default", "resourceVersion": "8", "labels": map[string]any{"app": "web"}},
	}
	if diff := cmp.Diff(want, h.Get("default", "a").Object); diff != "" {
		t.Errorf("object (-want, +got):\n%s", diff)
	}
	if got := before.Object["data"].(map[string]any)["text"]; got != "x" {
		t.Errorf("the version before has the text %v, want x: it has been changed", got)
	}
	fields := []any{map[string]any{
		"manager": "libretto/a", "operation": "Apply", "apiVersion": "v1", "fieldsV1": map[string]any{"f:data": map[string]any{}},
	}}
	if diff := cmp.Diff(fields, h.AppliedFields(after)); diff != "" {
		t.Errorf("managedFields (-want, +got):\n%s", diff)
	}
	if h.Get("default", "b") != nil {
		t.Error("a deleted object is in the cache")
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"/api/v1/configmaps watch=true initial=true accept=application/json gzip=false agent=test"}, requests); diff != "" {
		t.Errorf("requests (-want, +got):\n%s", diff)
	}
}

// TestRESTPoolLists checks that a server without streamed lists is listed page by page.
func TestRESTPoolLists(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		case query.Get("watch") != "":
			streaming(w, r, watchEvent("ADDED", configMap("c", "8", "x")))
		case query.Get("continue") == "":
			_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"more"},`+
				`"items":[{"metadata":{"name":"a"}}]}`)
		default:
			_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},`+
				`"items":[{"metadata":{"name":"b"}}]}`)
		}
	})
	h := NewRESTPool(t.Context(), client, logr.Discard()).Open(configMaps)
	defer h.Close()
	await(t, func() bool { return h.Get("default", "c") != nil })
	for _, name := range []string{"a", "b"} {
		want := map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"name": name}}
		if got := h.Get("", name); got == nil || !cmp.Equal(want, got.Object) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// TestRESTPoolErr checks that a resource whose watch brings garbage can't be read, though it can be listed.
func TestRESTPoolErr(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		streaming(w, r, watchEvent("BOOKMARK", initialEventsEnd)+"<html>")
	})
	h := NewRESTPool(t.Context(), client, logr.Discard()).Open(configMaps)
	defer h.Close()
	await(t, func() bool { return h.Err() != nil })
	if err := h.Err(); !strings.Contains(err.Error(), "'<' where an event begins") {
		t.Errorf("the error is %v", err)
	}
}

// TestWatch checks how a watch goes on, with the events that the reflector gets.
func TestWatch(t *testing.T) {
	added := watchEvent("ADDED", configMap("a", "5", "x"))
	expired := watchEvent("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,`+
		`"message":"too old resource version"}`)
	cases := map[string]struct {
		reason, text string
		aborted      bool
		want         []string
		failed       string
	}{
		"Ended":   {reason: "a watch ends after some minutes", text: added, want: []string{"ADDED a"}},
		"Cut":     {reason: "a connection may break, then the reflector watches again", text: added + `{"type":"ADD`, want: []string{"ADDED a"}},
		"Aborted": {reason: "an error of HTTP/2 is another way to break", text: added + `{"type":"ADD`, aborted: true, want: []string{"ADDED a"}},
		"OddError": {
			reason: "what the error says is not known", text: watchEvent("ERROR", `{"kind":"Status","code":"no number"}`),
			want:   []string{"ERROR internal: an event of the watch can't be read: the status of an error: unrecognized type: int32"},
			failed: "an event of the watch can't be read: the status of an error: unrecognized type: int32",
		},
		"Expired": {reason: "the reflector lists again", text: expired, want: []string{"ERROR expired: too old resource version"}},
		"Garbage": {
			reason: "an event that can't be read is no end of a watch", text: added + `{"type":"ADDED","object":[]}`,
			want:   []string{"ADDED a", "ERROR internal: an event of the watch can't be read: byte 403: '[' where an object begins"},
			failed: "an event of the watch can't be read: byte 403: '[' where an object begins",
		},
		"Unknown": {
			reason: "what it means is not known", text: watchEvent("RENAMED", configMap("a", "5", "x")),
			want:   []string{`ERROR internal: an event of the watch can't be read: unknown type of event "RENAMED"`},
			failed: `an event of the watch can't be read: unknown type of event "RENAMED"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, tc.text)
				if tc.aborted {
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			failed := ""
			l := &listWatch{
				client: client, scope: scope{GroupVersionResource: configMaps}, failed: func(err error) { failed = err.Error() },
				options: objectjson.Options{Interner: objectjson.NewInterner()},
			}
			w, err := l.watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			var got []string
			for event := range w.ResultChan() {
				got = append(got, described(event))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: events (-want, +got):\n%s", tc.reason, diff)
			}
			if failed != tc.failed {
				t.Errorf("%s: the failure is %q, want %q", tc.reason, failed, tc.failed)
			}
		})
	}
}

func described(event watch.Event) string {
	if object, ok := event.Object.(*unstructured.Unstructured); ok {
		return string(event.Type) + " " + object.GetName()
	}
	err := apierrors.FromObject(event.Object)
	kind := "other"
	switch {
	case apierrors.IsResourceExpired(err):
		kind = "expired"
	case apierrors.IsInternalError(err):
		kind = "internal"
	}
	message := err.Error()
	if status, ok := event.Object.(*metav1.Status); ok && status.Details != nil && len(status.Details.Causes) > 0 {
		message = status.Details.Causes[0].Message
	}
	return fmt.Sprintf("%s %s: %s", event.Type, kind, message)
}

// TestWatchRefused checks that answers that are no watch are errors of the API.
func TestWatchRefused(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old","code":410}`)
	})
	l := &listWatch{client: client, scope: scope{GroupVersionResource: configMaps}}
	if _, err := l.watch(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a refused watch fails with %v, want an expired version", err)
	}
	if _, err := l.list(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a refused list fails with %v, want an expired version", err)
	}
	page := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<html>") })
	l = &listWatch{client: page, scope: scope{GroupVersionResource: configMaps}}
	want := `the API server's list of /v1, Resource=configmaps can't be read: byte 0: '<' where a list begins`
	if _, err := l.list(t.Context(), metav1.ListOptions{}); err == nil || err.Error() != want {
		t.Errorf("a page in the place of a list fails with %v, want %s", err, want)
	}
}

// TestWatchStops checks that a watch ends with its context and when it is stopped, even if nobody takes its events.
func TestWatchStops(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		streaming(w, r, strings.Repeat(watchEvent("ADDED", configMap("a", "5", "x")), 10*eventBuffer))
	})
	for name, stop := range map[string]func(watch.Interface, context.CancelFunc){
		"stopped": func(w watch.Interface, _ context.CancelFunc) { w.Stop(); w.Stop() },
		"context": func(_ watch.Interface, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l := &listWatch{client: client, scope: scope{GroupVersionResource: configMaps}, options: objectjson.Options{Interner: objectjson.NewInterner()}}
			w, err := l.watch(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			<-w.ResultChan()
			stop(w, cancel)
			select {
			case <-w.(*stream).ended:
			case <-time.After(20 * time.Second):
				t.Fatal("the watch goes on")
			}
		})
	}
}
