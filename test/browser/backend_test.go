package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/dev/page"
)

// object is JSON.
type object = map[string]any

// backend answers as libretto dev does, with messages that a test gives. It keeps the objects of the Kubernetes API as they are sent.
type backend struct {
	*httptest.Server
	meta object

	mu       sync.Mutex
	messages []object
	news     chan struct{}
	// details are of passes, by their ID.
	details map[string]object
	// explored is the answer to the search for a counterexample, and revision the archived files.
	explored, revision object
	// parts are the objects of a large revision beside its own.
	parts []object
	// requests are those that write, in order: method, path and body.
	requests []string
}

func newBackend(t *testing.T, messages ...object) *backend {
	t.Helper()
	handler, err := page.Handler()
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{
		meta: object{"live": false, "edit": true, "folder": "catset", "version": "v1.0.0"}, messages: messages, news: make(chan struct{}),
		details: map[string]object{},
	}
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("GET /dev/v1/meta", func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		answer(w, b.meta)
	})
	mux.HandleFunc("GET /dev/v1/stream", b.stream)
	mux.HandleFunc("GET /dev/v1/passes/{id}", func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		answer(w, b.details[r.PathValue("id")])
	})
	mux.HandleFunc("POST /dev/v1/explore", func(w http.ResponseWriter, _ *http.Request) { answer(w, b.explored) })
	mux.HandleFunc("GET /apis/apps/v1/controllerrevisions", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"items": append([]object{b.revision}, b.parts...)})
	})
	mux.HandleFunc("GET /api/v1/namespaces/default/events", func(w http.ResponseWriter, _ *http.Request) { answer(w, events) })
	mux.HandleFunc("GET /api/v1", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"resources": []object{{"name": "pods", "kind": "Pod", "namespaced": true}, {"name": "pods/status", "kind": "Pod",
			"namespaced": true}}})
	})
	mux.HandleFunc("GET /apis/ctl.example.com/v1", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"resources": []object{{"name": "catsets", "kind": "CatSet", "namespaced": true}}})
	})
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		mux.HandleFunc(method+" /", b.write)
	}
	b.Server = httptest.NewServer(mux)
	t.Cleanup(func() { b.CloseClientConnections(); b.Close() })
	return b
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // A browser that has gone needs no answer.
}

// write notes a request, and refuses names that Kubernetes refuses.
func (b *backend) write(w http.ResponseWriter, r *http.Request) {
	var body object
	_ = json.NewDecoder(r.Body).Decode(&body) // Without a body it stays nil.
	encoded, _ := json.Marshal(body)
	b.mu.Lock()
	b.requests = append(b.requests, r.Method+" "+r.URL.Path+" "+string(encoded))
	b.mu.Unlock()
	if metadata, ok := body["metadata"].(object); ok && strings.ToLower(fmt.Sprint(metadata["name"])) != metadata["name"] {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(object{"kind": "Status",
			"message": fmt.Sprintf("CatSet %q is invalid: metadata.name: a lowercase name is needed", metadata["name"])})
		return
	}
	answer(w, body)
}

// writes returns what was written so far.
func (b *backend) writes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// send adds messages to the stream.
func (b *backend) send(messages ...object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.messages = append(b.messages, messages...)
	close(b.news)
	b.news = make(chan struct{})
}

// replace has later streams begin with other messages: the backend was started again.
func (b *backend) replace(messages ...object) { b.replaceFolder("catset", messages...) }

// replaceFolder is replace with another folder.
func (b *backend) replaceFolder(name string, messages ...object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meta["folder"], b.messages = name, messages
}

func (b *backend) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	encoder := json.NewEncoder(w)
	for sent := 0; ; {
		b.mu.Lock()
		messages, news := b.messages[min(sent, len(b.messages)):], b.news
		b.mu.Unlock()
		for _, m := range messages {
			if err := encoder.Encode(m); err != nil {
				return
			}
		}
		sent += len(messages)
		w.(http.Flusher).Flush()
		select {
		case <-news:
		case <-r.Context().Done():
			return
		}
	}
}

// sent returns a message about an object.
func sent(event, role, state, message, owner string, o object) object {
	return object{"object": object{"event": event, "role": role, "state": state, "message": message, "owner": owner,
		"definition": "CompositeController catset", "object": o}}
}

var start = time.Date(2026, time.November, 30, 9, 41, 3, 0, time.UTC)

func newObject(apiVersion, kind, name string, fields object) object {
	metadata := object{"name": name, "namespace": "default", "uid": strings.ToLower(kind) + "-" + name, "resourceVersion": "41",
		"creationTimestamp": start.Format(time.RFC3339)}
	if strings.HasSuffix(kind, "Controller") || kind == "CustomResourceDefinition" {
		delete(metadata, "namespace")
	}
	o := object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	maps.Copy(o, fields)
	return o
}
