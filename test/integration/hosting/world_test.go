// Package hosting tests bin/libretto as a whole, as a process, against a real
// API server: what a user of CompositeControllers sees.
package hosting

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// host is a world with a custom resource Thing.
type host struct {
	*env.Env
	things schema.GroupVersionResource
}

// newWorld makes a namespace, a custom resource Thing in an API group of the test's own, and starts libretto.
func newWorld(t *testing.T) *host {
	t.Helper()
	w := newWorldWithoutThings(t)
	w.Apply(w.thingCRD())
	w.Start()
	return w
}

func newWorldWithoutThings(t *testing.T) *host {
	t.Helper()
	w := env.New(t)
	return &host{Env: w, things: schema.GroupVersionResource{Group: w.Group, Version: "v1", Resource: "things"}}
}

// in is the same world for a subtest.
func (w *host) in(t *testing.T) *host { return &host{Env: w.WithT(t), things: w.things} }

// thingCRD defines Thing: a spec of any shape, a status without phases, and the status subresource.
func (w *host) thingCRD() string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              observedGeneration: {type: integer}
              count: {type: integer}
              said: {type: string}
`, w.Group)
}

// definition applies a CompositeController of Things named after the test's namespace and suffix, with a script and further spec fields.
func (w *host) definition(suffix, script, more string) string {
	w.T.Helper()
	name := w.Namespace + suffix
	w.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec:
  parentResource: {apiVersion: %s/v1, resource: things}
  hooks: {sync: {version: v2, script: {engine: JavaScript, inline: %s}}}
%s`, name, w.Group, env.Quote(script), env.Indent(more)))
	return name
}

// mustCountParents waits until a definition tells of so many parents, which it does a second after one came or went.
func (w *host) mustCountParents(definition string, want int64) {
	w.T.Helper()
	w.ClusterScope().WaitFor(env.CompositeControllers, definition, func(o *unstructured.Unstructured) error {
		if parents, _, _ := unstructured.NestedInt64(o.Object, "status", "parents"); parents != want {
			return fmt.Errorf("the definition counts %d parents, want %d", parents, want)
		}
		return nil
	})
}

// thing applies a Thing that selects the label thing=<name>, with further spec fields.
func (w *host) thing(name, spec string) {
	w.T.Helper()
	w.Apply(fmt.Sprintf(`
apiVersion: %[1]s/v1
kind: Thing
metadata: {name: %[2]q}
spec:
  selector: {matchLabels: {thing: %[2]q}}
%[3]s`, w.Group, name, env.Indent(spec)))
}
