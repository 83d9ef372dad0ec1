package rollout_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// bySpec is a script that gives children a value by resyncPeriodSeconds of the definition: "one" without, and pN for N. With 77 there are
// no children, and with 88 it throws for one Thing.
const bySpec = `export function sync({controller, parent}) {
  const name = parent.metadata.name, period = controller.spec.resyncPeriodSeconds;
  if (period === 77) return {children: []};
  if (period === 88 && name === "t000") throw new Error("no");
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {value: period ? "p" + period : "one"}}]};
}
`

// newSpecScene returns a scene whose children have a value by the spec.
func newSpecScene(t *testing.T, parents int, rollout string, flags ...string) *scene {
	t.Helper()
	s := newScene(t, parents, rollout, flags...)
	before := s.rollout().StableRevision
	s.write(bySpec)
	s.Eventually(func() error {
		if state := s.rollout(); state.StableRevision == before || state.Phase != v1alpha1.ScriptsComplete || state.StableSpec == nil {
			return fmt.Errorf("%s", s.describe())
		}
		return nil
	})
	s.WaitForQuiet()
	return s
}

// editSpec edits the definition.
func (s *scene) editSpec(period int) {
	s.T.Helper()
	s.PatchDefinition(s.kind, s.definition, fmt.Sprintf(`{"spec": {"resyncPeriodSeconds": %d}}`, period))
}

const canary = "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: %d}, {parents: 50%%, pauseSeconds: %d}]}"

// TestSpecSteps rolls an edit of the definition out step by step, over a restart in the middle.
func TestSpecSteps(t *testing.T) {
	t.Parallel()
	s := newSpecScene(t, 10, "{steps: [{selector: {matchLabels: {tier: canary}}}, {parents: 50%}]}")
	s.define(fmt.Sprintf(canary, 600, 600))
	stable := s.waitForServing()
	r := s.record()
	s.editSpec(20)
	s.waitForValues(map[string]int{"one": 8, "p20": 2})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "edit ", " of the definition is rolled out: step 1 of 3",
		"other parents keep generation 2 of the spec", "the step has gone well, and its pause began at ")
	state := s.rollout()
	if state.UpdatedEdit == nil || state.StableRevision != stable || state.UpdatedRevision == stable || *state.UpdatedParents != 2 {
		t.Errorf("after the first step: %s", s.describe())
	}
	s.run("status "+s.definition, "step 1 of 3", "2 of 2 parents of the step updated")
	s.explains(thing(0), "step 1 of 3 of the rollout has the parent")
	s.explains(thing(5), "does not have the parent yet")

	s.Restart()
	s.ApplyThing("new", "", "")
	s.WaitFor(env.ConfigMaps, "new", env.HasField("one", "data", "value"))
	s.ApplyThing(thing(0), "tier: canary", "touched: true")
	s.WaitForQuiet()
	s.waitForValues(map[string]int{"one": 9, "p20": 2})

	s.run("promote "+s.definition, "promoted past step 1 of 3")
	s.waitForValues(map[string]int{"one": 5, "p20": 6})
	s.Restart()
	s.WaitForQuiet()
	s.waitForValues(map[string]int{"one": 5, "p20": 6})
	s.define(fmt.Sprintf(canary, 0, 0))
	s.waitForValues(map[string]int{"p20": 11})
	state = s.waitForPhase(v1alpha1.ScriptsComplete)
	s.WaitForCondition(s.definition, "Ready", "True")
	if state.StableRevision != stable || state.UpdatedRevision != "" || state.UpdatedEdit != nil || !strings.Contains(state.StableSpec.Spec, `"resyncPeriodSeconds":20`) {
		t.Errorf("at the end: %s", s.describe())
	}
	s.ApplyThing("last", "", "")
	s.waitForValues(map[string]int{"p20": 12})
	s.write(strings.ReplaceAll(bySpec, `"p" + period`, `"q" + period`)) // The next edit of the scripts.
	s.waitForValues(map[string]int{"q20": 12})
	r.check(t, "one", "p20", "q20")
	for name, values := range r.once() {
		if len(values) > 3 {
			t.Errorf("%s went %v", name, values)
		}
	}
}

// TestSpecRollback makes an edit of the definition by which a parent of the canary fails. It is taken back, and not tried again after a
// restart.
func TestSpecRollback(t *testing.T) {
	t.Parallel()
	s := newSpecScene(t, 10, "{steps: [{selector: {matchLabels: {tier: canary}}}]}", noPreview)
	r := s.record()
	s.editSpec(88)
	held := s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "edit ", " of the definition was taken back from all parents: ",
		"Thing "+s.Namespace+"/t000 fails: ", "generation 1 of the spec serves; correct the definition", "libretto rollout approve")
	s.WaitForCondition(s.definition, "Ready", "False")
	s.waitForValues(map[string]int{"one": 10})
	s.WaitForEvent(s.definition, "RolledBack", "t000")
	if out := s.refused("status " + s.definition); !strings.Contains(out, "RolledBack") || !strings.Contains(out, "t000 fails: ") {
		t.Errorf("libretto rollout status prints %s", out)
	}
	s.Restart()
	s.ApplyThing("new", "", "")
	s.waitForValues(map[string]int{"one": 11})
	s.WaitForQuiet()
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "t000 fails: ")
	if id := s.rollout().FailedRevision; !strings.Contains(held.Message, id[:16]) {
		t.Errorf("the status names %s:\n%s", id, held.Message)
	}
	s.editSpec(30) // Another edit is tried.
	s.waitForValues(map[string]int{"p30": 11})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.WaitForCondition(s.definition, "Ready", "True")
	r.check(t, "one", "p30", "p88")
}

// explains checks that libretto explain shows nothing to do for a parent: it runs the spec that a host does.
func (s *scene) explains(name, why string) {
	s.T.Helper()
	program, err := cluster.Binary("libretto")
	s.NoError(err)
	out, err := exec.CommandContext(s.T.Context(), program, "explain", "things."+s.Group+"/"+name, "-n", s.Namespace, "--kubeconfig", s.Cluster.Kubeconfig).CombinedOutput()
	if err != nil || !strings.Contains(string(out), why) || strings.Contains(string(out), "data.value") {
		s.T.Errorf("libretto explain of %s: %v: %s", name, err, out)
	}
}

// refused runs a subcommand of libretto rollout that has to fail, and returns what it prints.
func (s *scene) refused(line string) string {
	s.T.Helper()
	program, err := cluster.Binary("libretto")
	s.NoError(err)
	arguments := append([]string{"rollout"}, strings.Fields(line)...)
	out, err := exec.CommandContext(s.T.Context(), program, append(arguments, "--kubeconfig", s.Cluster.Kubeconfig)...).CombinedOutput()
	if err == nil {
		s.T.Errorf("libretto rollout %s succeeds: %s", line, out)
	}
	return string(out)
}

// TestSpecUndone takes an edit of the definition back by hand, and by another edit before it is done.
func TestSpecUndone(t *testing.T) {
	t.Parallel()
	s := newSpecScene(t, 10, "{steps: [{selector: {matchLabels: {tier: canary}}}]}")
	s.define("{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}]}")
	r := s.record()
	s.editSpec(20)
	s.waitForValues(map[string]int{"one": 8, "p20": 2})
	s.run("abort "+s.definition, "is aborted at step 1 of 2")
	s.waitForValues(map[string]int{"one": 10})
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "it was aborted")

	s.editSpec(21) // And scripts before it is done: the newest pair, from the stable one.
	s.waitForValues(map[string]int{"one": 8, "p21": 2})
	s.write(strings.ReplaceAll(bySpec, `"p" + period`, `"q" + period`))
	s.waitForValues(map[string]int{"one": 8, "q21": 2})
	s.editSpec(22)
	s.waitForValues(map[string]int{"one": 8, "q22": 2})
	s.PatchDefinition(s.kind, s.definition, `{"spec": {"resyncPeriodSeconds": null}}`)
	s.write(bySpec)
	s.waitForValues(map[string]int{"one": 10})
	s.waitForPhase(v1alpha1.ScriptsComplete)

	s.editSpec(23)
	s.waitForValues(map[string]int{"one": 8, "p23": 2})
	s.run("promote --full "+s.definition, "promoted past all 2 steps")
	s.waitForValues(map[string]int{"p23": 10})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	r.check(t, "one", "p20", "p21", "q21", "q22", "p22", "p23")
}

// TestGuardTakesSpecBack makes an edit of the definition that deletes all children, unseen: it is stopped, and the spec before it serves.
func TestGuardTakesSpecBack(t *testing.T) {
	t.Parallel()
	s := newSpecScene(t, 10, "{steps: [{parents: 80%}]}", noPreview)
	r := s.record()
	s.editSpec(77)
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "it would delete", "of 10 children", "and no more are deleted",
		"generation 1 of the spec serves")
	s.waitForValues(map[string]int{"one": 10})
	if n := r.deletions(); n > 5 {
		t.Errorf("%d children were deleted", n)
	}
	s.Restart()
	s.WaitForQuiet()
	s.waitForValues(map[string]int{"one": 10})
	s.approve() // Whoever wants it gets it, step by step.
	s.waitForValues(map[string]int{})
	s.waitForPhase(v1alpha1.ScriptsComplete)
}

// TestSpecApproved approves an edit of the definition that its preview holds: no guard stops it in its steps.
func TestSpecApproved(t *testing.T) {
	t.Parallel()
	s := newSpecScene(t, 10, "{steps: [{parents: 80%}]}")
	r := s.record()
	s.editSpec(77)
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "it would delete")
	s.waitForValues(map[string]int{"one": 10})
	if n := r.deletions(); n != 0 {
		t.Errorf("%d children were deleted before the approval", n)
	}
	s.approve()
	s.waitForValues(map[string]int{})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.WaitForCondition(s.definition, "Ready", "True")
}

// TestMethodInSteps edits an update method and the scripts in one go: the canary's children are made again, and no others before the next
// step.
func TestMethodInSteps(t *testing.T) {
	t.Parallel()
	s := newScene(t, 6, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}], preview: {maxRecreatedChildren: 10}}")
	before := s.uids()
	s.edit("two", "")
	s.Apply(replace(s.text("{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}], preview: {maxRecreatedChildren: 10}}"), "InPlace", "Recreate"))
	s.waitForValues(map[string]int{"one": 4, "two": 2})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 1 of 2", "its pause began")
	recreated := 0
	for name, uid := range s.uids() {
		if uid != before[name] {
			recreated++
		}
	}
	if recreated > 2 {
		t.Errorf("%d children were made again:\n%s", recreated, s.describe())
	}
	s.run("promote --full "+s.definition, "")
	s.waitForValues(map[string]int{"two": 6})
}

// uids returns those of the children, by name.
func (s *scene) uids() map[string]types.UID {
	s.T.Helper()
	all := map[string]types.UID{}
	for name, child := range s.List(env.ConfigMaps, "") {
		if valueOf(child) != "" {
			all[name] = child.GetUID()
		}
	}
	return all
}

// TestSpecOfKinds rolls an edit of each kind of definition out, and takes it back.
func TestSpecOfKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, resources, object, answer, hook string }{
		"Decorator": {env.Decorator, "resources: [{apiVersion: GROUP/v1, resource: things}]\nattachments", "object", "attachments", "sync"},
		"Map": {
			env.Map, "parentResource: {apiVersion: GROUP/v1, resource: things}\ninputResources: [{apiVersion: GROUP/v1, resource: gizmos}]\noutputResources",
			"input", "outputs", "map",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := env.NewWithThings(t)
			e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
			s := &scene{Env: e, definition: e.Namespace, kind: c.kind}
			script := fmt.Sprintf(`export function %s(r) {
  const metadata = {name: "of-" + r.%s.metadata.name}, data = {value: "p" + r.controller.spec.resyncPeriodSeconds};
  return {%s: [{apiVersion: "v1", kind: "ConfigMap", metadata, data}]};
}`, c.hook, c.object, c.answer)
			spec := replace(c.resources, "GROUP", e.Group) + ": [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]\n" +
				"resyncPeriodSeconds: 3600\nscriptRollout: {steps: [{parents: 1, pauseSeconds: 600}]}\n" + env.Hooks(script, c.hook)
			for n := range 4 {
				e.ApplyThing(thing(n), "", fmt.Sprintf("selector: {matchLabels: {of: %q}}", thing(n)))
				e.ApplyCustom("Gizmo", thing(n), "of: "+thing(n), "")
			}
			s.start()
			e.Apply(fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %s\nmetadata: {name: %s, labels: {test: %[2]s}}\nspec:\n%s",
				c.kind, s.definition, env.Indent(spec)))
			s.waitForValues(map[string]int{"p3600": 4})
			e.WaitUntilReady(c.kind, s.definition)
			s.editSpec(3601)
			s.waitForValues(map[string]int{"p3600": 3, "p3601": 1})
			e.WaitForConditionOf(c.kind, s.definition, "Progressing", "True", "RollingOut", "step 1 of 2", "its pause began")
			e.Restart()
			e.WaitForQuiet()
			s.waitForValues(map[string]int{"p3600": 3, "p3601": 1})
			of := strings.ToLower(c.kind) + "/" + s.definition
			s.run("abort "+of, "is aborted")
			s.waitForValues(map[string]int{"p3600": 4})
			s.editSpec(3602)
			s.waitForValues(map[string]int{"p3600": 3, "p3602": 1})
			s.run("promote "+of, "is promoted")
			s.waitForValues(map[string]int{"p3602": 4})
			e.WaitForConditionOf(c.kind, s.definition, "Progressing", "True", "Serving")
		})
	}
}

// TestWebhookInSteps edits the URL of a definition that has no scripts.
func TestWebhookInSteps(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Parent unstructured.Unstructured }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || strings.HasSuffix(r.URL.Path, "/broken") {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		_, value, _ := strings.Cut(r.URL.Path[1:], "/")
		fmt.Fprintf(w, `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q}, "data": {"value": %q}}]}`,
			request.Parent.GetName(), value)
	}))
	defer server.Close()
	e := env.NewWithThings(t)
	s := &scene{Env: e, definition: e.Namespace, kind: env.Composite}
	define := func(value string, pause int) {
		rollout := fmt.Sprintf("{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: %d}], progressDeadlineSeconds: 5}", pause)
		hooks := fmt.Sprintf("webhook: {url: %q}}}", server.URL+"/sync/"+value)
		s.Apply(replace(replace(s.text(rollout), "script: {path: sync.js}}}", hooks), "scriptSources", "# scriptSources"))
	}
	for n := range 4 {
		labels := ""
		if n == 0 {
			labels = "tier: canary"
		}
		e.ApplyThing(thing(n), labels, "")
	}
	s.start()
	define("one", 600)
	s.waitForValues(map[string]int{"one": 4})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	define("two", 600)
	s.waitForValues(map[string]int{"one": 3, "two": 1})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 1 of 2; other parents keep generation 1 of the spec", "its pause began")
	s.Restart()
	s.WaitForQuiet()
	s.waitForValues(map[string]int{"one": 3, "two": 1})
	define("two", 0)
	s.waitForValues(map[string]int{"two": 4})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.WaitForCondition(s.definition, "Progressing", "True", "Serving", "generation 3 of the spec serves all parents")
	if hash := s.status().ScriptRevisionHash; hash != "" {
		t.Errorf("the status names the scripts %s", hash)
	}
	define("broken", 0)
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "generation 3 of the spec serves; correct the definition")
	s.waitForValues(map[string]int{"two": 4})
	s.Restart()
	s.WaitForQuiet()
	s.waitForSynced(4)
	s.waitForValues(map[string]int{"two": 4})
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack")
}

// TestKillSpec kills the host at each state of rollouts of an edit of the definition. LIBRETTO_HOSTILE=long does so ten times each.
func TestKillSpec(t *testing.T) {
	t.Parallel()
	times := 1
	if os.Getenv("LIBRETTO_HOSTILE") == "long" {
		times = 10
	}
	const parents = 20
	s := newSpecScene(t, parents, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 1}, {parents: 50%}]}")
	before := "one"
	for round := range times {
		for n, at := range []string{"Progressing 1", "Progressing 1 pause", "Progressing 2", "Progressing 3", "Complete"} {
			period := 100 + 10*round + n
			value := fmt.Sprintf("p%d", period)
			s.killSpecAt(at, before, value, period, parents)
			if before = value; t.Failed() {
				return
			}
		}
	}
}

// killSpecAt edits the definition, kills the host when a state is stored, and waits for the end.
func (s *scene) killSpecAt(at, before, value string, period, parents int) {
	s.T.Helper()
	r := s.record()
	s.editSpec(period)
	for timeout := time.After(env.Timeout); ; {
		select {
		case seen := <-r.seen:
			if seen != at || at == "Complete" && len(r.all()) < 2 {
				continue
			}
		case <-timeout:
			s.T.Fatalf("it has not come to %q: %v\n%s", at, r.all(), s.describe())
		}
		break
	}
	s.Kill()
	s.start()
	s.waitForValues(map[string]int{value: parents})
	s.Eventually(func() error {
		if state := s.rollout(); state.Phase != v1alpha1.ScriptsComplete || state.UpdatedRevision != "" {
			return fmt.Errorf("%s", s.describe())
		}
		return nil
	})
	r.check(s.T, before, value)
	for name, values := range r.once() {
		if len(values) > 2 {
			s.T.Errorf("killed at %s: %s went %v", at, name, values)
		}
	}
}

// TestStableSpecUnavailable deletes a resource of the spec that serves while no host runs, in the middle of an edit that does without it:
// no child is touched before someone chooses that the edit serves all parents.
func TestStableSpecUnavailable(t *testing.T) {
	t.Parallel()
	e := env.NewWithThings(t)
	e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
	s := &scene{Env: e, definition: e.Namespace, kind: env.Composite}
	const rollout = "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}]}"
	s.write(bySpec)
	text := replace(s.text(rollout), "childResources: [", "childResources: [{apiVersion: "+s.Group+"/v1, resource: gizmos}, ")
	s.Apply(text)
	for n := range 3 {
		s.ApplyThing(thing(n), map[bool]string{true: "tier: canary"}[n == 0], "")
	}
	s.start()
	s.waitForValues(map[string]int{"one": 3})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	edited := replace(s.text(rollout), "generateSelector: true", "generateSelector: true\n  resyncPeriodSeconds: 50")
	s.Apply(edited)
	s.waitForValues(map[string]int{"one": 2, "p50": 1})
	s.Kill()
	s.Kubectl("delete", "crd", "gizmos."+s.Group)
	r := s.record()
	s.start()
	s.WaitForCondition(s.definition, "Accepted", "False", "ResourceNotFound", "generation 1 of the spec, which serves until the present one is rolled out, "+
		"can't be had: ", "gizmos", "delete spec.scriptRollout")
	s.ApplyThing(thing(0), "tier: canary", "touched: true")
	s.WaitForQuiet()
	s.waitForValues(map[string]int{"one": 2, "p50": 1})
	s.Apply(replace(edited, "scriptRollout: "+rollout, ""))
	s.waitForValues(map[string]int{"p50": 3})
	s.WaitForCondition(s.definition, "Accepted", "True")
	r.check(t, "one", "p50")
}

// TestSpecHeldThoughScriptsWereApproved edits the definition after its scripts were approved for what they did before. The edit has an ID
// of its own, is held for it, also after a restart, and what served goes on.
func TestSpecHeldThoughScriptsWereApproved(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, "{}")
	s.write(strings.ReplaceAll(bySpec, "{name}", `{name: name + "-new"}`)) // It deletes what there was.
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "it would delete 10 of 10 children")
	s.approve()
	s.waitForServing()
	s.WaitForCondition(s.definition, "Progressing", "True", "Serving")
	s.Eventually(func() error {
		if n := len(s.uids()); n != 10 {
			return fmt.Errorf("%d children", n)
		}
		return nil
	})
	s.WaitForQuiet()
	serving := s.status()
	r := s.record()
	held := []string{"generation 2 of the spec, with revision " + serving.ScriptRevision + " of the scripts, is held: it would delete 10 of 10 children",
		"generation 1 goes on serving"}
	isHeld := func(what string) (id string) {
		s.WaitForCondition(s.definition, "Progressing", "False", append(held, "Held")...)
		s.ApplyThing(what, "", "")
		s.WaitFor(env.ConfigMaps, what+"-new", env.HasField("one", "data", "value"))
		if n := r.deletions(); n != 0 {
			t.Errorf("%s: %d children were deleted", what, n)
		}
		id = s.rollout().HeldRevision
		s.WaitForCondition(s.definition, "Progressing", "False", "rollout approve", id[:16])
		if out := s.refused("status " + s.definition + " --revision " + id); !strings.Contains(out, "Held") {
			t.Errorf("%s: libretto rollout status --revision ID of the edit: %s", what, out)
		}
		return id
	}
	s.editSpec(77)
	id := isHeld("before")
	if id == serving.ScriptRevisionHash {
		t.Errorf("the edit is called as its scripts are")
	}
	held[0] = strings.ReplaceAll(held[0], "10 of 10", "11 of 11")
	s.Restart()
	if again := isHeld("after"); again != id {
		t.Errorf("after a restart the edit is called %s, and was %s", again, id)
	}
	s.approve()
	s.waitForValues(map[string]int{})
	s.WaitForCondition(s.definition, "Ready", "True")
	s.run("status --watch "+s.definition+" --revision "+id, "Complete")
	s.WaitForEvent(s.definition, "Approved", id[:16])
	if state := s.rollout(); state.StableSpec != nil || state.ApprovedRevision != id {
		t.Errorf("at the end: %s", s.describe())
	}
}

// TestRefusedSpecGoesOnAfterRestart makes a spec one that the host refuses: what served goes on, also after
// a restart.
func TestRefusedSpecGoesOnAfterRestart(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2, "{}")
	s.PatchDefinition(s.kind, s.definition, `{"spec": {"parentResource": {"resource": "nothings"}}}`)
	s.WaitForCondition(s.definition, "Accepted", "False", "nothings")
	s.Restart()
	s.ApplyThing("new", "", "")
	s.waitForValues(map[string]int{"one": 3})
	s.WaitForCondition(s.definition, "Accepted", "False", "nothings")
	s.PatchDefinition(s.kind, s.definition, `{"spec": {"parentResource": {"resource": "things"}}}`)
	s.WaitForCondition(s.definition, "Ready", "True")
	if state := s.rollout(); state.StableSpec != nil {
		t.Errorf("at the end: %s", s.describe())
	}
}
