// Package rolling tests rolling updates of bin/libretto, as a process, against a real API server: how a change of a
// parent reaches its children a few at a time, whatever happens meanwhile.
//
// A Set is a parent and Replicas are its children; GlobalSet and GlobalReplica are the same without a namespace. The tests
// set the status of Replicas.
package rolling

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// The methods of rolling updates.
const (
	inPlace  = "RollingInPlace"
	recreate = "RollingRecreate"
)

// cell is a cell of the matrix.
type cell struct {
	clusterParent, clusterChild bool
	method                      string
	// serverSide cells apply children with server-side apply.
	serverSide bool
}

// cells returns all that the garbage collector allows, and for server-side apply one for
// each method: how a child is written has nothing to do with where it is.
func cells() []cell {
	var all []cell
	for _, method := range []string{recreate, inPlace} {
		for _, scopes := range [][2]bool{{false, false}, {true, false}, {true, true}} {
			all = append(all, cell{clusterParent: scopes[0], clusterChild: scopes[1], method: method})
		}
	}
	return append(all, cell{method: inPlace, serverSide: true}, cell{clusterParent: true, method: recreate, serverSide: true})
}

func (c cell) String() string {
	scope := map[bool]string{false: "namespaced", true: "cluster"}
	served := map[bool]string{true: "-served"}
	return fmt.Sprintf("%s-parent-%s-child-%s%s", scope[c.clusterParent], scope[c.clusterChild], strings.ToLower(c.method),
		served[c.serverSide])
}

// strategy returns how children are written.
func (c cell) strategy() string {
	return map[bool]string{false: "DynamicApply", true: "ServerSideApply"}[c.serverSide]
}

// newEnv creates the resources and starts libretto, which keeps the revisions of GlobalSets in the test's namespace.
func newEnv(t *testing.T) *env.Env {
	t.Helper()
	e := newEnvWithoutLibretto(t)
	start(e)
	return e
}

func newEnvWithoutLibretto(t *testing.T) *env.Env {
	t.Helper()
	e := env.New(t)
	var crds []*unstructured.Unstructured
	for kind, scope := range map[string]string{"Set": "Namespaced", "GlobalSet": "Cluster", "Replica": "Namespaced",
		"GlobalReplica": "Cluster"} {
		crds = append(crds, e.Parse(env.CRD(e.Group, kind, scope)))
	}
	env.NoError(t, e.Cluster.Apply(t.Context(), e.Namespace, crds...))
	return e
}

func start(e *env.Env, flags ...string) {
	e.T.Helper()
	e.Start(append([]string{"--namespace", e.Namespace}, flags...)...)
}

// parentKind and childKind return the kinds of a cell.
func (c cell) parentKind() string {
	return map[bool]string{false: "Set", true: "GlobalSet"}[c.clusterParent]
}
func (c cell) childKind() string {
	return map[bool]string{false: "Replica", true: "GlobalReplica"}[c.clusterChild]
}

// hook makes spec.count Replicas <set>-<n>. Its status depends on spec.says.
const hook = `
export function sync({parent, children}) {
  const {count, template, motto, says} = parent.spec;
  const wanted = Array.from({length: count}, (_, n) => ({
    apiVersion: "GROUP/v1", kind: "KIND",
    metadata: {name: parent.metadata.name + "-" + n, namespace: NAMESPACE, labels: template.metadata.labels},
    spec: {version: template.version, motto},
  }));
  if (says === "nothing") {
    return {children: wanted};
  }
  if (says === "own") {
    const condition = {type: "Updated", status: "Unknown", reason: "AskAgain", message: "the hook's own"};
    return {children: wanted, status: {conditions: [condition]}};
  }
  const ready = Object.values(Object.values(children)[0]).filter(({metadata, status}) =>
    status?.conditions?.[0].status === "True" && status.observedGeneration === metadata.generation);
  return {children: wanted, status: {ready: ready.length}};
}`

func script(e *env.Env, c cell) string {
	namespace := env.Quote(e.Namespace)
	if c.clusterChild {
		namespace = "undefined"
	}
	return strings.NewReplacer("GROUP", e.Group, "KIND", c.childKind(), "NAMESPACE", namespace).Replace(hook)
}

// settings are fields of a definition beyond those of its cell.
type settings struct {
	// templateOnly narrows what is rolled out to spec.template.
	templateOnly bool
	// strategy and spec are further fields of the update strategy and the spec, in YAML's flow style.
	strategy, spec string
	// rollingScripts puts the script into a ConfigMap, whose edits are rolled out.
	rollingScripts bool
}

func (s settings) history() string {
	if s.rollingScripts {
		return "revisionHistory: {scriptChanges: Rolling}"
	}
	if s.templateOnly {
		return "revisionHistory: {fieldPaths: [spec.template]}"
	}
	return ""
}

// definition is a CompositeController of the Sets that carry its name in their label.
type definition struct {
	*env.Env
	cell
	settings
	name, suffix string
}

func define(e *env.Env, suffix string, c cell, more settings) *definition {
	e.T.Helper()
	d := &definition{e, c, more, e.Namespace + "-" + suffix, suffix}
	d.set(more.strategy)
	return d
}

// set applies the definition with such a strategy and waits until it is in force.
func (d *definition) set(strategy string) {
	d.T.Helper()
	d.settings.strategy = strategy
	d.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec: {
  parentResource: {apiVersion: %[2]s/v1, resource: %[3]s, labelSelector: {matchLabels: {cell: %[4]s}}, %[5]s},
  childResources: [{apiVersion: %[2]s/v1, resource: %[6]s, applyStrategy: %[11]s, updateStrategy: {
    method: %[7]s, statusChecks: {conditions: [{type: Ready, status: "True"}]}, %[8]s}}],
  hooks: {sync: {version: v2, script: {%[9]s}}},
  %[10]s
}`, d.name, d.Group, d.Resource(d.parentKind()).Resource, d.suffix, d.history(),
		d.Resource(d.childKind()).Resource, d.method, strategy, d.scriptField(), d.settings.spec, d.cell.strategy()))
	d.WaitForCondition(d.name, "Ready", "True")
}

// scriptField returns where the script of the hook is.
func (d *definition) scriptField() string {
	if d.rollingScripts {
		return "path: sync.js"
	}
	return "engine: JavaScript, inline: " + env.Quote(script(d.Env, d.cell))
}

// in returns the same definition for a subtest.
func (d *definition) in(t *testing.T) *definition {
	return &definition{d.Env.WithT(t), d.cell, d.settings, d.name, d.suffix}
}
