// Package webhooks tests bin/libretto as a process against a real API server, with
// hooks that are answered by HTTP and HTTPS servers of the tests: what a user of
// webhooks sees (sections 1.4 and 2 of the specification).
package webhooks

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// define applies a CompositeController of the Things that have the label set: <name>, with a sync hook and more lines of
// the spec, and returns its name.
func define(e *env.Env, name, hook, more string) string {
	e.T.Helper()
	return e.Define(env.Composite, "-"+name, "generateSelector: true", e.Parent("things", name), env.UpdatedChildren,
		"hooks: {sync: "+hook+"}", more)
}

// webhook returns the hook of a URL.
func webhook(url string) string { return fmt.Sprintf("{webhook: {url: %q}}", url) }

// applyThing applies a Thing for the definition of that name.
func applyThing(e *env.Env, set, name string) {
	e.T.Helper()
	e.ApplyThing(name, "set: "+set, "")
}

// applySecret applies a Secret of the test's namespace.
func applySecret(e *env.Env, name string, data map[string]string) {
	e.T.Helper()
	values := map[string]any{}
	for key, value := range data {
		values[key] = value
	}
	e.ApplyObject(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "stringData": values,
	}})
}

// waitForValue waits for a child with a value.
func waitForValue(e *env.Env, child, value string) {
	e.T.Helper()
	e.WaitFor(env.ConfigMaps, child, env.HasField(value, "data", "value"))
}

// hookOf returns the labels of the metrics of a definition's sync hook.
func hookOf(definition string, more ...string) map[string]string {
	labels := map[string]string{"kind": "CompositeController", "definition": definition, "hook": "sync"}
	for i := 0; i+1 < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

// server answers hooks. Its answer can be changed while it runs.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	calls  int
}

// serve starts a server that answers as wanting("yes") does. Unless edit is nil, it uses TLS.
func serve(t *testing.T, edit func(*httptest.Server)) *server {
	t.Helper()
	s := &server{answer: wanting("yes")}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.handle))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if edit == nil {
		s.Start()
	} else {
		s.EnableHTTP2 = true
		edit(s.Server)
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls++
	answer := s.answer
	s.mu.Unlock()
	// A server notices that a client is gone only once it has read the body.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer(w, r)
}

func (s *server) says(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *server) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// authority is the server's certificate in PEM, as a string of YAML.
func (s *server) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// wanting answers with one ConfigMap, named as the parent, that holds the value.
func wanting(value string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := askedAbout(w, r, "parent")
		if name == "" {
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"children": []any{map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"value": value},
		}}})
	}
}

// askedAbout is the name of the object that a request is about, which is in that field of it. If there is
// none, that is answered.
func askedAbout(w http.ResponseWriter, r *http.Request, field string) string {
	var request map[string]any
	err := json.NewDecoder(r.Body).Decode(&request)
	name, _, _ := unstructured.NestedString(request, field, "metadata", "name")
	if name == "" {
		http.Error(w, fmt.Sprintf("there is no %s: %v", field, err), http.StatusBadRequest)
	}
	return name
}

// mustNotTellOf shows that no event names a server, as of what passes by itself.
func mustNotTellOf(e *env.Env, url string) {
	e.T.Helper()
	for _, event := range e.List(env.Events, "") {
		if message := fmt.Sprint(event.Object["message"]); strings.Contains(message, url) {
			e.T.Errorf("an event tells of what passes by itself: %s", message)
		}
	}
}

// script answers as wanting does.
func script(value string) string {
	return env.Quote(fmt.Sprintf(`export const sync = ({parent}) => ({children: [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: %q}}]});`, value))
}
