package diff

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/test/env"
)

// verdictScript makes three ConfigMaps, unless the definition says otherwise. Its finalize hook waits.
const verdictScript = `export function sync({parent, controller}) {
  const child = (n) => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-" + n}, data: {value: "one"}});
  return {children: controller.spec.resyncPeriodSeconds === 4321 ? [] : [1, 2, 3].map(child)};
}
export function finalize({parent, controller}) {
  return {...sync({parent, controller}), finalized: false};
}
`

// verdictScene is a definition with three Things of three children each. A test with it is not parallel: the host of another one would
// have its definition, too, and the two would write what the other has written.
func verdictScene(t *testing.T, parent, child, hooks string) (s *scene, spec []string) {
	t.Helper()
	s = &scene{Env: env.NewRunning(t)}
	s.Apply(s.hooks(verdictScript))
	spec = []string{
		"generateSelector: true", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things%s}", s.Group, parent),
		"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: " + child + "}}]",
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: hooks}}]", s.Namespace), "hooks: {" + hooks + "}",
	}
	s.name = s.DefineReady(env.Composite, "", spec...)
	for n := range parents {
		s.ApplyThing(fmt.Sprint("thing-", n), "", "")
	}
	s.waitForChildren("one")
	s.WaitForQuiet()
	return s, spec
}

// waitForChildren waits until all children have a value.
func (s *scene) waitForChildren(value string) {
	s.T.Helper()
	for n := range parents {
		for child := range 3 {
			s.WaitFor(env.ConfigMaps, fmt.Sprintf("thing-%d-%d", n, child+1), env.HasField(value, "data", "value"))
		}
	}
}

const syncHook, finalizeHook = "sync: {version: v2, script: {path: sync.js}}", "finalize: {version: v2, script: {path: sync.js}}"

// sentence returns the last line of what diff prints.
func sentence(stdout string) string {
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	return lines[len(lines)-1]
}

// TestVerdictOfRollingScripts edits scripts whose children follow one after another: diff and the host say that it goes through.
func TestVerdictOfRollingScripts(t *testing.T) {
	s, _ := verdictScene(t, ", revisionHistory: {scriptChanges: Rolling}", "RollingRecreate", syncHook)
	edited := strings.ReplaceAll(verdictScript, `"one"`, `"two"`)
	stdout, stderr, _ := s.diff(s.Cluster.Kubeconfig, edited)
	said := sentence(stdout)
	if !strings.HasPrefix(said, "revision ") || !strings.Contains(said, " serves: previewed on 3 of 3 parents") {
		t.Errorf("diff ends with %q:\n%s%s", said, stdout, stderr)
	}
	said, _, _ = strings.Cut(said, "; a host considers others")
	s.Apply(s.hooks(edited))
	s.WaitForEvent(s.name, "ScriptReloaded", said)
	s.waitForChildren("two")
}

// TestVerdictOfDefinition edits the definition alone.
func TestVerdictOfDefinition(t *testing.T) {
	s, spec := verdictScene(t, "", "InPlace", syncHook)
	document := func(more ...string) string {
		return "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: " + s.name + "}\nspec:\n" +
			env.Indent(strings.Join(append(more, spec...), "\n"))
	}
	stdout, stderr, code := s.diffFile(s.Cluster.Kubeconfig, document())
	if said := sentence(stdout); code != 0 || strings.Contains(said, "revision") {
		t.Errorf("exit code %d: no edit, and diff ends with %q:\n%s%s", code, said, stdout, stderr)
	}
	const seconds = "resyncPeriodSeconds: 4321"
	stdout, stderr, _ = s.diffFile(s.Cluster.Kubeconfig, document(seconds))
	said := sentence(stdout)
	if !strings.HasSuffix(said, " is held: it would delete 9 of 9 children of 3 of 3 parents, first ConfigMap "+s.Namespace+"/thing-0-1") {
		t.Errorf("diff ends with %q:\n%s%s", said, stdout, stderr)
	}
	s.Apply(document(seconds))
	s.WaitForCondition(s.name, "Progressing", "False", said)
	s.waitForChildren("one")
}

// TestVerdictOfFinalize edits a finalize hook while parents are being deleted: one that lets go of them loses their children to the garbage
// collector.
func TestVerdictOfFinalize(t *testing.T) {
	s, _ := verdictScene(t, "", "InPlace", syncHook+", "+finalizeHook)
	edited := strings.Replace(verdictScript, "...sync({parent, controller}), finalized: false", "finalized: true, children: []", 1)
	stdout, stderr, code := s.diff(s.Cluster.Kubeconfig, edited)
	const letsGo = "! if they were deleted now, its finalize hook would let go of 3 of 3 parents at once, with 9 children: the one that serves would not\n"
	if code != 0 || !strings.Contains(stdout, letsGo) || strings.Contains(stdout, "- delete") || !strings.Contains(sentence(stdout), " serves: previewed on 3 of 3 ") {
		t.Errorf("before a parent is deleted: exit code %d:\n%s%s", code, stdout, stderr)
	}
	for n := range parents {
		s.NoError(s.In(s.Things()).Delete(t.Context(), fmt.Sprint("thing-", n), metav1.DeleteOptions{}))
	}
	s.WaitForQuiet()
	stdout, stderr, code = s.diff(s.Cluster.Kubeconfig, edited)
	said := sentence(stdout)
	if code != 1 || !strings.Contains(stdout, "- delete 9 ConfigMaps of 3 parents\n") || !strings.Contains(said, " is held: it would delete 9 of 9 children of 3 of 3 parents, first ConfigMap ") {
		t.Errorf("exit code %d, diff ends with %q:\n%s%s", code, said, stdout, stderr)
	}
	s.Apply(s.hooks(edited))
	s.WaitForCondition(s.name, "Progressing", "False", said)
	s.waitForChildren("one")
}
