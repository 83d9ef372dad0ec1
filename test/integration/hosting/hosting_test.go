// Package hosting tests bin/libretto as a whole, as a process, against a real
// API server: what a user of CompositeControllers sees.
package hosting

import (
	"fmt"
	"os"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// newEnv returns an Env that has the custom resource Thing and runs libretto.
func newEnv(t *testing.T, flags ...string) *env.Env {
	t.Helper()
	e := env.New(t)
	e.Apply(thingCRD(e))
	e.Start(flags...)
	return e
}

// thingCRD returns the definition of Things, whose status has just these fields.
func thingCRD(e *env.Env) string {
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
`, e.Group)
}

// define applies a CompositeController of Things, with a script and more lines of the spec, and returns its name.
func define(e *env.Env, suffix, script, more string) string {
	e.T.Helper()
	return e.Define(env.Composite, suffix, e.Parent("things", ""), env.Hooks(script, "sync"), more)
}

// waitForParents waits until a definition's status counts so many parents, which takes a second after one came or went.
func waitForParents(e *env.Env, definition string, want int64) {
	e.T.Helper()
	e.ClusterScope().WaitFor(env.CompositeControllers, definition, env.HasField(want, "status", "parents"))
}

// applyThing applies a Thing that selects the label thing=<name>, with more lines of the spec.
func applyThing(e *env.Env, name, spec string) {
	e.T.Helper()
	e.ApplyThing(name, "", fmt.Sprintf("selector: {matchLabels: {thing: %q}}\n%s", name, spec))
}
