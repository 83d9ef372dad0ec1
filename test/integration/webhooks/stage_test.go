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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// stage is a world with a custom resource Thing, and a libretto.
type stage struct {
	*env.Env
	things schema.GroupVersionResource
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := newStageWithoutLibretto(t)
	s.Start()
	return s
}

func newStageWithoutLibretto(t *testing.T) *stage {
	t.Helper()
	w := env.New(t)
	w.Apply(env.CRD(w.Group, "Thing", "Namespaced"))
	return &stage{Env: w, things: schema.GroupVersionResource{Group: w.Group, Version: "v1", Resource: "things"}}
}

// in is the same stage for a subtest.
func (s *stage) in(t *testing.T) *stage { return &stage{Env: s.WithT(t), things: s.things} }

// definition applies a CompositeController of the Things that have the label
// set: <name>, with a sync hook and more of a spec, and gives its name.
func (s *stage) definition(name, hook, more string) string {
	s.T.Helper()
	full := s.Namespace + "-" + name
	s.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: %s}}}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks: {sync: %s}
%s`, full, s.Group, name, hook, env.Indent(more)))
	return full
}

// thing applies a Thing for the definition of that name.
func (s *stage) thing(set, name string) {
	s.T.Helper()
	s.Apply(fmt.Sprintf(`{apiVersion: %s/v1, kind: Thing, metadata: {name: %s, labels: {set: %s}}, spec: {}}`, s.Group, name, set))
}

// secret applies a Secret of the test's namespace.
func (s *stage) secret(name string, data map[string]string) {
	s.T.Helper()
	values := map[string]any{}
	for key, value := range data {
		values[key] = value
	}
	s.ApplyObject(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "stringData": values,
	}})
}

// holds waits for a child with a value.
func (s *stage) holds(child, value string) {
	s.T.Helper()
	s.WaitFor(env.ConfigMaps, child, func(o *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(o.Object, "data", "value"); got != value {
			return fmt.Errorf("ConfigMap %s holds %q, want %q", child, got, value)
		}
		return nil
	})
}

// counted waits until a counter of libretto's is at least that.
func (s *stage) counted(least float64, metric string, labels map[string]string) {
	s.T.Helper()
	cluster.Eventually(s.T, env.Timeout, func() error {
		if got := s.count(metric, labels); got < least {
			return fmt.Errorf("%s%v is %v, want %v", metric, labels, got, least)
		}
		return nil
	})
}

func (s *stage) count(metric string, labels map[string]string) float64 {
	s.T.Helper()
	metrics, err := s.Libretto().Metrics(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	return metrics.Sum(metric, labels)
}

// hookOf labels what is counted of the sync hook of a definition.
func hookOf(definition string, more ...string) map[string]string {
	labels := map[string]string{"definition": "CompositeController " + definition, "hook": "sync"}
	for i := 0; i+1 < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

// server answers hooks. What it says can be changed while it runs.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	calls  int
}

// serve starts a server, with TLS unless edit is nil, that answers as wanting("yes") does.
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

func asYAML(text string) string { return env.Quote(text) }

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
func (s *stage) mustNotTellOf(url string) {
	s.T.Helper()
	for _, e := range s.List(env.Events, "") {
		if message := fmt.Sprint(e.Object["message"]); strings.Contains(message, url) {
			s.T.Errorf("an event tells of what passes by itself: %s", message)
		}
	}
}

// script answers as wanting does.
func script(value string) string {
	return env.Quote(fmt.Sprintf(`export const sync = ({parent}) => ({children: [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: %q}}]});`, value))
}

// uncounted waits until nothing is left of a counter.
func (s *stage) uncounted(metric string, labels map[string]string) {
	s.T.Helper()
	cluster.Eventually(s.T, env.Timeout, func() error {
		if got := s.count(metric, labels); got > 0 {
			return fmt.Errorf("%s%v is still %v", metric, labels, got)
		}
		return nil
	})
}
