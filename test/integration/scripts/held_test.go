package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// defineOfConfigMaps is define for children that are ConfigMaps, as the update method says.
func defineOfConfigMaps(e *env.Env, suffix, method, source string) string {
	e.T.Helper()
	name := e.Namespace + suffix
	e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: %s}}]
  scriptSources: [%s]
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`, name, e.Namespace, e.Group, method, source))
	return name
}

// scriptMaking returns a script that makes three ConfigMaps of each Thing with the same value, and tells it.
func scriptMaking(value string) string {
	return fmt.Sprintf(`export function sync({parent}) {
  const name = parent.metadata.name;
  const child = (n) => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name: name + "-" + n}, data: {value: %q}});
  return {status: {said: %[1]q}, children: [1, 2, 3].map(child)};
}
`, value)
}

// scriptForgetting returns a script that makes no children by mistake.
func scriptForgetting(value string) string {
	return strings.Replace(scriptMaking(value), "[1, 2, 3].map(child)", "[]", 1)
}

// scriptThrowing returns a script that fails on the first call.
func scriptThrowing(value string) string {
	return strings.Replace(scriptMaking(value), "parent.metadata.name", "parent.metadata.name.first.letter", 1)
}

// uids returns the UIDs of the children of all Things, so that what was recreated is seen.
func uids(e *env.Env) []string {
	e.T.Helper()
	var all []string
	for name, object := range e.List(env.ConfigMaps, "") {
		if name != "hooks" && name != "kube-root-ca.crt" && !strings.HasPrefix(name, "libretto-finalizers") {
			all = append(all, string(object.GetUID()))
		}
	}
	slices.Sort(all)
	return all
}

// newWithChildren returns an Env with three Things of three ConfigMaps each, and the name of the definition.
func newWithChildren(t *testing.T, method string) (e *env.Env, definition string) {
	t.Helper()
	e = newRunning(t)
	applyFiles(e, "hooks", "sync.js", scriptMaking("one"))
	definition = defineOfConfigMaps(e, "", method, source(e, "hooks"))
	for _, name := range []string{"a", "b", "c"} {
		e.ApplyThing(name, "", "")
		waitForSaid(e, name, "one")
	}
	e.Eventually(func() error {
		if n := len(uids(e)); n != 9 {
			return fmt.Errorf("%d children, want 9", n)
		}
		object := e.ClusterScope().Get(env.Definitions(env.Composite), definition).Object
		if n, _, _ := unstructured.NestedInt64(object, "status", "parents"); n != 3 { // It is written later than the children.
			return fmt.Errorf("the status has %d parents, want 3", n)
		}
		return nil
	})
	waitUntilArchived(e, definition)
	return e, definition
}

// isWhole fails the test if a child was deleted or recreated.
func isWhole(e *env.Env, before []string, when string) {
	e.T.Helper()
	now := uids(e)
	for _, uid := range before {
		if !slices.Contains(now, uid) {
			e.T.Fatalf("%s: a child was deleted or recreated: %q, before %q", when, now, before)
		}
	}
}

// TestHeld makes the accidents that people make: no children by mistake, one field more where children are recreated, and a TypeError on the
// first call. Each is held and reported, and nothing is deleted.
func TestHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		script func(string) string
		want   string
	}{
		"no children by mistake":    {"InPlace", scriptForgetting, "it would delete 9 of 9 children of 3 of 3 parents, first ConfigMap "},
		"children recreated":        {"Recreate", scriptMaking, "it would recreate 9 of 9 children of 3 of 3 parents, first ConfigMap "},
		"a TypeError on every call": {"InPlace", scriptThrowing, "3 of 3 parents that succeed now would fail, first Thing "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, definition := newWithChildren(t, c.method)
			before, good := uids(e), e.ScriptRevision(definition)
			mark := e.Mark()
			applyFiles(e, "hooks", "sync.js", c.script("two"))
			held := e.WaitForCondition(definition, "Progressing", "False", "Held", c.want, "revision "+good+" goes on serving",
				"kubectl annotate --overwrite compositecontroller "+definition+" metacontroller.k8s.io/approved-revision=")
			e.WaitForCondition(definition, "ScriptsReady", "True", "Held", "revision "+good+" goes on serving")
			e.WaitForCondition(definition, "Ready", "False", "Held", c.want)
			e.WaitForEvent(definition, "Held", c.want)
			e.WaitForEvent("hooks", "Held", "CompositeController "+definition+": revision ", c.want)
			if text := e.Kubectl("get", "compositecontroller", definition); !strings.Contains(text, "Held") {
				t.Errorf("kubectl get says nothing of it:\n%s", text)
			}
			if text := e.Kubectl("describe", "compositecontroller", definition); !strings.Contains(text, c.want) {
				t.Errorf("kubectl describe says nothing of it:\n%s", text)
			}
			label := map[string]string{"kind": "CompositeController", "definition": definition, "result": "held"}
			if n := e.Metric("libretto_definition_script_previews_total", label); n < 1 || n > 1 && !strings.Contains(c.want, "would fail") {
				t.Errorf("%v previews were held, want 1, and more after a time only if a parent would fail", n)
			}
			e.NoRequests(e.Requests(mark).In(e.Namespace).Of("", "configmaps").Writes(), "the edit is held")
			e.ApplyThing("d", "", "") // The last good revision goes on.
			waitForSaid(e, "d", "one")
			isWhole(e, before, held.Message)
		})
	}
}

// TestHeldForParent holds an edit for one parent, and mends that: the edit takes over.
func TestHeldForParent(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	demanding := strings.Replace(scriptMaking("two"), "const child", `if (name === "b" && !parent.spec.team) throw new Error("no team");
  const child`, 1)
	applyFiles(e, "hooks", "sync.js", demanding)
	e.WaitForCondition(definition, "Progressing", "False", "Held", "1 of 3 parents that succeed now would fail, first Thing ", "no team",
		"it is previewed again, at most every 30s; correct the scripts, or let it through")
	e.Patch(e.Things(), "b", `{"spec": {"team": "ours"}}`)
	cluster.Eventually(t, 2*scripts.PreviewInterval, func() error { return env.HasField("two", "data", "value")(e.Get(env.ConfigMaps, "b-1")) })
	e.WaitForCondition(definition, "Progressing", "True", "Serving")
}

// TestHeldAndMended holds an edit over a restart, mends it by the text, and lets another one through by name.
func TestHeldAndMended(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	before := uids(e)
	applyFiles(e, "hooks", "sync.js", scriptForgetting("two"))
	e.WaitForCondition(definition, "Progressing", "False", "Held", "it would delete 9 of 9 children")

	e.Restart()
	e.ApplyThing("d", "", "")
	waitForSaid(e, "d", "one")
	e.WaitForCondition(definition, "ScriptsReady", "True", "Held", "it would delete ")
	isWhole(e, before, "the restart")

	applyFiles(e, "hooks", "sync.js", scriptMaking("three"))
	waitForSaid(e, "a", "three")
	e.WaitForCondition(definition, "Progressing", "True", "Serving")
	isWhole(e, before, "the mended text")

	applyFiles(e, "hooks", "sync.js", scriptForgetting("four"))
	held := e.WaitForCondition(definition, "Progressing", "False", "Held")
	_, command, _ := strings.Cut(held.Message, "kubectl annotate ")
	e.Kubectl(append([]string{"annotate"}, strings.Fields(command)...)...)
	waitForSaid(e, "a", "four")
	e.Eventually(func() error {
		if left := uids(e); len(left) > 0 {
			return fmt.Errorf("children %q are left", left)
		}
		return nil
	})
	e.WaitForCondition(definition, "Progressing", "True", "Serving")
	e.WaitForEvent(definition, "ScriptReloaded", "approved by name")
}

// TestHeldAndApprovedOnTheConfigMap lets one edit through by an annotation of the ConfigMap. The next one is held again.
func TestHeldAndApprovedOnTheConfigMap(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "Recreate")
	e.ClusterScope().Patch(env.CompositeControllers, definition, `{"spec": {"scriptRollout": {"approvals": "ConfigMap"}}}`)
	applyFiles(e, "hooks", "sync.js", scriptMaking("two"))
	held := e.WaitForCondition(definition, "Progressing", "False", "Held", "it would recreate 9 of 9 children", ", or annotate it or a ConfigMap of its scripts: ")
	_, id, _ := strings.Cut(held.Message, "approved-revision=")
	e.Patch(env.ConfigMaps, "hooks", fmt.Sprintf(`{"metadata": {"annotations": {"metacontroller.k8s.io/approved-revision": %q}}}`, id))
	waitForSaid(e, "c", "two")
	e.WaitForCondition(definition, "Progressing", "True", "Serving")
	e.Eventually(func() error {
		if n := len(uids(e)); n != 9 {
			return fmt.Errorf("%d children, want 9", n)
		}
		return nil
	})
	before := uids(e)
	applyFiles(e, "hooks", "sync.js", scriptMaking("three"))
	e.WaitForCondition(definition, "Progressing", "False", "Held", "it would recreate 9 of 9 children")
	isWhole(e, before, "a newer edit")
}

// TestHeldWhileDown edits scripts while no host runs: the archived revision serves, and the edit is held.
func TestHeldWhileDown(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	before, good := uids(e), e.ScriptRevision(definition)
	e.Kill()
	applyFiles(e, "hooks", "sync.js", scriptForgetting("two"))
	start(e)
	e.WaitForCondition(definition, "Progressing", "False", "Held", "it would delete 9 of 9 children", "revision "+good+" goes on serving")
	e.ApplyThing("d", "", "")
	waitForSaid(e, "d", "one")
	isWhole(e, before, "an edit made while no host ran")
}

// TestNoPreview turns the preview off: an edit that deletes too much serves, and is taken back before it has.
func TestNoPreview(t *testing.T) {
	t.Parallel()
	e := newRunning(t, "--script-preview=false")
	applyFiles(e, "hooks", "sync.js", scriptMaking("one"))
	definition := defineOfConfigMaps(e, "", "InPlace", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")
	waitUntilArchived(e, definition)
	applyFiles(e, "hooks", "sync.js", scriptForgetting("two"))
	e.WaitForCondition(definition, "Progressing", "False", "RolledBack", "it would delete 2 of 3 children of 1 of 1 parents")
	e.Eventually(func() error {
		if left := uids(e); len(left) != 3 {
			return fmt.Errorf("children %q are left", left)
		}
		return nil
	})
}

// TestHeldDefinition edits an inline script, which is a new spec: the earlier spec goes on. A restart restores what
// served, holds the edit again, and deletes nothing.
func TestHeldDefinition(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	name := e.Namespace
	inline := func(script string) {
		e.ApplyObject(e.Parse(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks: {sync: {version: v2, script: {engine: JavaScript, inline: %q}}}
`, name, e.Namespace, e.Group, script)))
	}
	inline(scriptMaking("one"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")
	e.WaitForCondition(name, "Ready", "True")
	before := uids(e)
	inline(scriptForgetting("two"))
	e.WaitForCondition(name, "Progressing", "False", "Held", "it would delete 3 of 3 children", "\nrevision ", " goes on serving")
	e.WaitForCondition(name, "Ready", "False", "EarlierSpecServes", "it would delete 3 of 3 children")
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "one")
	isWhole(e, before, "a held spec")

	e.Restart()
	e.WaitForCondition(name, "Progressing", "False", "Held", "it would delete ", "\nrevision ", " goes on serving")
	isWhole(e, before, "a restart")
	inline(scriptMaking("three"))
	waitForSaid(e, "b", "three")
	e.WaitForCondition(name, "Ready", "True")
	isWhole(e, before, "the mended spec")
}

// timedHost is a host whose edits are measured.
type timedHost struct {
	*env.Env
	answers <-chan watch.Event
	took    []time.Duration
	// processor is the processor time of the host, in seconds, before the edits. Workers have theirs besides.
	processor float64
}

// largeScript is a script of 16 KiB that makes three ConfigMaps of each Thing.
func largeScript(text string) string {
	var padding strings.Builder
	for n := 0; padding.Len() < 16<<10; n++ {
		fmt.Fprintf(&padding, "function helper%d(a, b) { return {a, b, n: %[1]d, text: `${a}-${b}`}; }\n", n)
	}
	return scriptMaking(text) + padding.String()
}

// newTimedHosts returns a host that previews edits and one that does not, each with a definition of its own.
func newTimedHosts(t *testing.T) map[string]*timedHost {
	t.Helper()
	hosts := map[string]*timedHost{"with preview": {Env: newRunning(t)}, "without": {Env: newRunning(t, "--script-preview=false")}}
	for _, h := range hosts {
		applyFiles(h.Env, "hooks", "sync.js", largeScript("start"))
		defineOfConfigMaps(h.Env, "", "InPlace", source(h.Env, "hooks"))
	}
	return hosts
}

// waitForAll waits until all Things and their children have a text.
func (h *timedHost) waitForAll(text string, parents int) {
	h.T.Helper()
	h.Eventually(func() error {
		have := 0
		for _, thing := range h.List(h.Things(), "") {
			if said(thing) == text {
				have++
			}
		}
		for _, child := range h.List(env.ConfigMaps, "") {
			if value, _, _ := unstructured.NestedString(child.Object, "data", "value"); value == text {
				have++
			}
		}
		if want := 4 * parents; have != want {
			return fmt.Errorf("%d objects have %q, want %d", have, text, want)
		}
		return nil
	})
}

// TestTimeToServePreviewed measures edits of a script of 16 KiB from before they are sent until the first parent tells the new answer, with
// three children of each parent that change, in turns with a host that previews nothing. It is not parallel: it is a measurement.
func TestTimeToServePreviewed(t *testing.T) {
	const edits = 7
	hosts := newTimedHosts(t)
	for _, parents := range []int{20, 100} {
		for _, h := range hosts {
			for n := range parents {
				h.ApplyThing(fmt.Sprintf("t%d", n), "", "")
			}
			h.Eventually(func() error {
				if n := len(uids(h.Env)); n != 3*parents {
					return fmt.Errorf("%d children, want %d", n, 3*parents)
				}
				return nil
			})
			h.WaitForQuiet()
			h.answers, h.took, h.processor = watchThings(h.Env), nil, h.Metric("process_cpu_seconds_total", nil)
		}
		for n := range edits {
			for _, h := range hosts {
				text := fmt.Sprintf("%d of %d", n, parents)
				began := time.Now()
				applyFiles(h.Env, "hooks", "sync.js", largeScript(text))
				waitForAnswer(h.Env, h.answers, text)
				h.took = append(h.took, time.Since(began))
				h.waitForAll(text, parents)
			}
		}
		for name, h := range hosts {
			slices.Sort(h.took)
			each := (h.Metric("process_cpu_seconds_total", nil) - h.processor) / edits
			t.Logf("%d parents, %s: from sending an edit to seeing its first answer in a status: p50 %s, least %s, most %s; "+
				"%.0f ms of processor time for an edit and all its effects", parents, name, h.took[edits/2], h.took[0], h.took[edits-1], 1000*each)
		}
		more := hosts["with preview"].took[edits/2] - hosts["without"].took[edits/2]
		if most := 2 * time.Second; more > most {
			t.Errorf("%d parents: a preview takes %s, want less than %s", parents, more, most)
		}
	}
	h := hosts["with preview"]
	label := map[string]string{"kind": "CompositeController", "definition": h.Namespace, "result": "passed"}
	if n := h.Metric("libretto_definition_script_previews_total", label); n < 2*edits {
		t.Errorf("%v previews, want one for each of %d edits", n, 2*edits)
	}
}
