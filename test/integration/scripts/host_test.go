package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// kept are the ControllerRevisions that hold scripts.
var kept = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}

// host is a world with a custom resource Thing, and a libretto process that hosts only this test's definitions.
type host struct {
	*env.Env
	things schema.GroupVersionResource
	flags  []string
}

func newHost(t *testing.T, flags ...string) *host {
	t.Helper()
	w := env.New(t)
	h := &host{Env: w, things: schema.GroupVersionResource{Group: w.Group, Version: "v1", Resource: "things"}}
	h.flags = append([]string{"--target-label-selector=test=" + w.Namespace, "--namespace=" + w.Namespace}, flags...)
	w.Apply(env.CRD(w.Group, "Thing", "Namespaced"))
	return h
}

// begin starts libretto.
func (h *host) begin() *host {
	h.T.Helper()
	h.Start(h.flags...)
	return h
}

// configMap applies a ConfigMap with files; given are keys and texts in turn.
func (h *host) configMap(name string, keysAndTexts ...string) {
	h.T.Helper()
	h.ApplyObject(configMap(name, keysAndTexts...))
}

func configMap(name string, keysAndTexts ...string) *unstructured.Unstructured {
	data := map[string]any{}
	for i := 0; i < len(keysAndTexts); i += 2 {
		data[keysAndTexts[i]] = keysAndTexts[i+1]
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data,
	}}
}

// define applies a CompositeController of Things whose sync hook is sync.js of those sources, and gives its name.
func (h *host) define(suffix string, sources ...string) string {
	h.T.Helper()
	name := h.Namespace + suffix
	h.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things, labelSelector: {matchExpressions: [{key: not%s, operator: DoesNotExist}]}}
  scriptSources: [%s]
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`, name, h.Namespace, h.Group, suffix, strings.Join(sources, ", ")))
	return name
}

// from is a source: a ConfigMap of the test's namespace.
func (h *host) from(name string) string {
	return fmt.Sprintf("{configMap: {namespace: %s, name: %s}}", h.Namespace, name)
}

// saying is a script that says text in the status.
func saying(text any) string {
	return fmt.Sprintf("export function sync() {\n  return {status: {said: \"%v\"}, children: []};\n}\n", text)
}

const broken = "export function sync() {\n  return );\n}\n"

func (h *host) thing(name string) {
	h.T.Helper()
	h.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s}, spec: {}}", h.Group, name))
}

// says waits until a Thing has said text.
func (h *host) says(name string, text any) {
	h.T.Helper()
	h.WaitFor(h.things, name, func(o *unstructured.Unstructured) error {
		if got := said(o); got != fmt.Sprint(text) {
			return fmt.Errorf("%s said %q, want %v", name, got, text)
		}
		return nil
	})
}

func said(o *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(o.Object, "status", "said")
	return text
}

// serving is the revision in a definition's status.
func (h *host) serving(definition string) string {
	h.T.Helper()
	object, err := h.Cluster.Dynamic().Resource(env.CompositeControllers).Get(h.T.Context(), definition, metav1.GetOptions{})
	if err != nil {
		h.T.Fatal(err)
	}
	revision, _, _ := unstructured.NestedString(object.Object, "status", "scriptRevision")
	return revision
}

// reloaded waits until a definition's status tells of another revision than before, and gives that.
func (h *host) reloaded(definition, before string) string {
	h.T.Helper()
	var now string
	cluster.Eventually(h.T, env.Timeout, func() error {
		if now = h.serving(definition); now == "" || now == before {
			return fmt.Errorf("%s serves revision %q, want another one than %q", definition, now, before)
		}
		return nil
	})
	return now
}

// metric reads a figure of libretto's.
func (h *host) metric(name string, labels map[string]string) float64 {
	h.T.Helper()
	metrics, err := h.Libretto().Metrics(h.T.Context())
	if err != nil {
		h.T.Fatal(err)
	}
	return metrics.Sum(name, labels)
}

// keeps waits until a definition's serving revision is kept.
func (h *host) keeps(definition string) *unstructured.Unstructured {
	h.T.Helper()
	var found *unstructured.Unstructured
	cluster.Eventually(h.T, env.Timeout, func() error {
		name := "composite-" + definition + "-" + h.serving(definition)
		if found = h.Get(kept, name); found == nil {
			return fmt.Errorf("no ControllerRevision %s", name)
		}
		return nil
	})
	return found
}
