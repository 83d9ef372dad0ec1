// Package rolling tests rolling updates of bin/libretto, as a process, against a real API server: how a change of a
// parent reaches its children a few at a time, whatever happens meanwhile.
//
// A Crew is a parent and Parts are its children; GlobalCrew and GlobalPart are the same without a namespace. The tests
// take the place of whatever makes a Part work: they set its status.
package rolling

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// The methods of rolling updates.
const (
	inPlace  = "RollingInPlace"
	recreate = "RollingRecreate"
)

// cell is one cell of the matrix.
type cell struct {
	clusterParent, clusterChild bool
	method                      string
	// served says that children are applied on the server's side.
	served bool
}

// cells are all that the garbage collector allows, and for server-side apply one for
// each method: how a child is written has nothing to do with where it is.
func cells() []cell {
	var all []cell
	for _, method := range []string{recreate, inPlace} {
		for _, scopes := range [][2]bool{{false, false}, {true, false}, {true, true}} {
			all = append(all, cell{clusterParent: scopes[0], clusterChild: scopes[1], method: method})
		}
	}
	return append(all, cell{method: inPlace, served: true}, cell{clusterParent: true, method: recreate, served: true})
}

func (c cell) String() string {
	scope := map[bool]string{false: "namespaced", true: "cluster"}
	served := map[bool]string{true: "-served"}
	return fmt.Sprintf("%s-parent-%s-child-%s%s", scope[c.clusterParent], scope[c.clusterChild], strings.ToLower(c.method), served[c.served])
}

// strategy is how children are written.
func (c cell) strategy() string {
	return map[bool]string{false: "DynamicApply", true: "ServerSideApply"}[c.served]
}

// stage is a world with Crews and Parts.
type stage struct{ *env.Env }

// newStage makes the resources and starts libretto, which keeps the revisions of GlobalCrews in the test's namespace.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := newStageWithoutLibretto(t)
	s.start()
	return s
}

func newStageWithoutLibretto(t *testing.T) *stage {
	t.Helper()
	s := &stage{env.New(t)}
	var crds []*unstructured.Unstructured
	for kind, scope := range map[string]string{"Crew": "Namespaced", "GlobalCrew": "Cluster", "Part": "Namespaced", "GlobalPart": "Cluster"} {
		crds = append(crds, s.Parse(env.CRD(s.Group, kind, scope)))
	}
	if err := s.Cluster.Apply(t.Context(), s.Namespace, crds...); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) start(flags ...string) {
	s.T.Helper()
	s.Start(append([]string{"--namespace", s.Namespace}, flags...)...)
}

// in is the same stage for a subtest.
func (s *stage) in(t *testing.T) *stage { return &stage{s.WithT(t)} }

func (s *stage) resource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: s.Group, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// parentKind and childKind are those of a cell.
func (c cell) parentKind() string {
	return map[bool]string{false: "Crew", true: "GlobalCrew"}[c.clusterParent]
}
func (c cell) childKind() string {
	return map[bool]string{false: "Part", true: "GlobalPart"}[c.clusterChild]
}

// hook makes spec.count Parts <crew>-<n>. What it says of itself is up to spec.says.
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
  const well = Object.values(Object.values(children)[0]).filter(({metadata, status}) =>
    status?.conditions?.[0].status === "True" && status.observedGeneration === metadata.generation);
  return {children: wanted, status: {well: well.length}};
}`

func (s *stage) script(c cell) string {
	namespace := env.Quote(s.Namespace)
	if c.clusterChild {
		namespace = "undefined"
	}
	return strings.NewReplacer("GROUP", s.Group, "KIND", c.childKind(), "NAMESPACE", namespace).Replace(hook)
}

// settings are what a definition says beyond its cell.
type settings struct {
	// templateOnly narrows what is rolled out to spec.template.
	templateOnly bool
	// strategy and spec are further fields of the update strategy and the spec, in YAML's flow style.
	strategy, spec string
}

func (s settings) history() string {
	if s.templateOnly {
		return "revisionHistory: {fieldPaths: [spec.template]}"
	}
	return ""
}

// definition is a CompositeController of the Crews that carry its name in their label.
type definition struct {
	*stage
	cell
	settings
	name, suffix string
}

func (s *stage) define(suffix string, c cell, more settings) *definition {
	s.T.Helper()
	d := &definition{s, c, more, s.Namespace + "-" + suffix, suffix}
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
  hooks: {sync: {version: v2, script: {engine: JavaScript, inline: %[9]s}}},
  %[10]s
}`, d.name, d.Group, d.resource(d.parentKind()).Resource, d.suffix, d.history(),
		d.resource(d.childKind()).Resource, d.method, strategy, env.Quote(d.script(d.cell)), d.settings.spec, d.cell.strategy()))
	d.WaitForCondition(d.name, "Ready", "True")
}

// in is the same definition for a subtest.
func (d *definition) in(t *testing.T) *definition {
	return &definition{d.stage.in(t), d.cell, d.settings, d.name, d.suffix}
}
