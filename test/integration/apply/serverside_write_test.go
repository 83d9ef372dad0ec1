package apply

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
)

// configMap returns a ConfigMap with some data, in YAML's flow style.
func (s *serverSideEnv) configMap(name, data string) *unstructured.Unstructured {
	s.t.Helper()
	return s.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `}, data: {` + data + `}}`)
}

// edit merges a patch into an object, as somebody.
func (s *serverSideEnv) edit(object *unstructured.Unstructured, manager, patch string) {
	s.t.Helper()
	_, err := s.in(object).Patch(s.t.Context(), object.GetName(), types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: manager})
	s.must(err)
}

// TestServerSideNeverTakesByCreating shows how a creation ends where somebody
// else's object is, or one of the same owner's that isn't seen yet.
func TestServerSideNeverTakesByCreating(t *testing.T) {
	s := newServerSideEnv(t)
	theirs := s.configMap("theirs", "a: theirs")
	made, err := s.in(theirs).Create(t.Context(), theirs, metav1.CreateOptions{FieldManager: "somebody"})
	s.must(err)
	w := s.applies("creates")
	rule := w.rule
	rule.Kind, rule.Resource = theirs.GroupVersionKind(), resourceOf(theirs)
	changes, err := apply.Diff(apply.Input{
		Owner: s.owner, Rules: []apply.Rule{rule},
		Desired: []*unstructured.Unstructured{s.configMap("theirs", "a: ours"), s.configMap("ours", "a: ours")},
	})
	s.must(err)
	outcomes := apply.Execute(t.Context(), s.cluster.Dynamic(), changes, apply.Options{Parallel: 2})
	if got := apply.Classify(outcomes[0].Err); got != apply.FailureAlreadyExists {
		t.Errorf("creating what is somebody else's: %s: %v", got, outcomes[0].Err)
	}
	if now := s.live(theirs); now.GetResourceVersion() != made.GetResourceVersion() {
		t.Errorf("somebody else's object was written: %v", now)
	}
	if outcomes[1].Err != nil {
		t.Fatal(outcomes[1].Err)
	}
	if entryOf(s.live(s.configMap("ours", "")), w.rule.Managers.Own, metav1.ManagedFieldsOperationApply) == nil {
		t.Error("what was created is not held")
	}
	again := apply.Execute(t.Context(), s.cluster.Dynamic(), changes[1:], apply.Options{})
	if got := apply.Classify(again[0].Err); got != apply.FailureAlreadyExists {
		t.Errorf("creating twice: %s: %v", got, again[0].Err)
	}
}

// TestServerSidePreconditions shows that only the very object is written that was observed.
func TestServerSidePreconditions(t *testing.T) {
	s := newServerSideEnv(t)
	w := s.applies("preconditions")
	cases := map[string]struct {
		reason string
		then   func(object *unstructured.Unstructured)
	}{
		"changed": {"it has changed since", func(o *unstructured.Unstructured) { s.edit(o, "somebody", `{"data": {"b": "1"}}`) }},
		"gone": {"it is gone", func(o *unstructured.Unstructured) {
			s.must(s.in(o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
		}},
		"recreated": {"it is another one", func(o *unstructured.Unstructured) {
			s.must(s.in(o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
			_, err := s.in(o).Create(t.Context(), s.configMap(o.GetName(), ""), metav1.CreateOptions{})
			s.must(err)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w.write(s.configMap(name, "a: '1'"))
			next := s.configMap(name, "a: '2'")
			changes := w.diff(next)
			tc.then(next)
			before := s.live(next)
			outcome := apply.Execute(t.Context(), s.cluster.Dynamic(), changes, apply.Options{})[0]
			if got := apply.Classify(outcome.Err); got != apply.FailureConflict {
				t.Errorf("%s: %q: %v", tc.reason, got, outcome.Err)
			}
			if now := s.live(next); (now == nil) != (before == nil) || now != nil && now.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("%s, and is written: %v", tc.reason, now)
			}
		})
	}
}

// TestServerSideChanges shows what reaches an object, and what stays of others'.
func TestServerSideChanges(t *testing.T) {
	s := newServerSideEnv(t)
	w := s.applies("changes")
	w.settle(s.configMap("a", "ours: '1', gone: '1'"))
	s.edit(s.configMap("a", ""), "somebody", `{"data": {"theirs": "1"}}`)
	w.settle(s.configMap("a", "ours: '2'"))
	live := s.live(s.configMap("a", ""))
	if got := value(live, "data"); got != "map[ours:2 theirs:1]" {
		t.Errorf("data is %s", got)
	}
	if len(live.GetOwnerReferences()) != 1 || live.GetAnnotations()[merge.LastApplied] != "" {
		t.Errorf("metadata is %v", live.Object["metadata"])
	}
	// What somebody sets to something else is set again, and what is removed comes back.
	s.edit(live, "somebody", `{"data": {"ours": "theirs"}}`)
	w.settle(s.configMap("a", "ours: '2'"))
	s.edit(live, "somebody", `{"data": {"ours": null}, "metadata": {"ownerReferences": null}}`)
	w.settle(s.configMap("a", "ours: '2'"))
	live = s.live(live)
	if got := value(live, "data"); got != "map[ours:2 theirs:1]" || len(live.GetOwnerReferences()) != 1 {
		t.Errorf("data is %s, owners are %v", got, live.GetOwnerReferences())
	}
	// Without a schema, an object of which all fields are taken looks like one that is held as a whole.
	loose := s.parse(`{apiVersion: serverside.example.com/v1, kind: Loose, metadata: {name: lost}, spec: {a: 1, b: 1}}`)
	w.settle(loose)
	s.edit(loose, "somebody", `{"spec": {"a": 2, "b": 2, "c": 2}}`)
	w.settle(loose)
	if got := value(s.live(loose), "spec"); got != "map[a:1 b:1 c:2]" {
		t.Errorf("spec is %s", got)
	}
	// A value with a default is distinguished from one that is no longer asked for.
	policy := s.read("settle.yaml")["networkpolicy"]
	w.settle(policy)
	ports, _, _ := unstructured.NestedSlice(policy.Object, "spec", "ingress")
	ports[0].(map[string]any)["ports"].([]any)[0].(map[string]any)["endPort"] = int64(90)
	s.must(unstructured.SetNestedSlice(policy.Object, ports, "spec", "ingress"))
	w.settle(policy)
	delete(ports[0].(map[string]any)["ports"].([]any)[0].(map[string]any), "endPort")
	s.must(unstructured.SetNestedSlice(policy.Object, ports, "spec", "ingress"))
	w.settle(policy)
	if got := value(s.live(policy), "spec", "ingress"); strings.Contains(got, "endPort") {
		t.Errorf("what is no longer asked for in an atomic list stays: %s", got)
	}
}

// TestServerSideRecreate shows when an object is deleted to be made anew: for another
// value of a field, and not to write down who holds it.
func TestServerSideRecreate(t *testing.T) {
	s := newServerSideEnv(t)
	for name, desired := range s.read("settle.yaml") {
		t.Run(name, func(t *testing.T) {
			s := s.sub(t)
			w, merging := s.applies("recreates"), s.merges("recreates")
			w.rule.Method, merging.rule.Method = apply.Recreate, apply.Recreate
			merging.settle(desired)
			uid := s.live(desired).GetUID()
			w.settle(desired) // Takes over.
			merging.settle(desired)
			w.settle(desired)
			if s.live(desired).GetUID() != uid {
				t.Fatal("it was recreated though only the strategy has changed")
			}
			changed := desired.DeepCopy()
			changed.SetLabels(map[string]string{"changed": "yes"})
			if changes := w.diff(changed); len(changes) != 1 || changes[0].Action != apply.ActionRecreate {
				t.Errorf("changes are %v", changes)
			}
			s.edit(desired, "somebody", `{"metadata": {"labels": {"theirs": "yes"}}}`)
			if changes := w.diff(desired); len(changes) > 0 {
				t.Errorf("somebody else's field is no reason for %s %v", changes[0].Action, changes[0].Diffs())
			}
		})
	}
}

// TestServerSideRefusals shows how errors are classed.
func TestServerSideRefusals(t *testing.T) {
	s := newServerSideEnv(t)
	w := s.applies("refusals")
	for name, document := range map[string]string{
		"unknown field": `{apiVersion: v1, kind: ConfigMap, metadata: {name: unknown}, dat: {}}`,
		"wrong type":    `{apiVersion: v1, kind: ConfigMap, metadata: {name: wrong}, data: {a: 1}}`,
		"duplicate key": `{apiVersion: v1, kind: Service, metadata: {name: duplicate}, spec: {ports: [{port: 1}, {port: 1}]}}`,
		"invalid":       `{apiVersion: v1, kind: Service, metadata: {name: invalid}, spec: {ports: [{port: -1}]}}`,
	} {
		outcome := w.sync(s.parse(document))[0]
		if got := apply.Classify(outcome.Err); got != apply.FailureInvalid {
			t.Errorf("%s: %q: %v", name, got, outcome.Err)
		}
	}
}

// TestServerSideConflicts shows which message names whose field, and that nothing is taken.
func TestServerSideConflicts(t *testing.T) {
	s := newServerSideEnv(t)
	w := s.applies("conflicts")
	w.rule.Force = false
	w.settle(s.configMap("a", "a: ours, b: ours"))
	s.edit(s.configMap("a", ""), "somebody", `{"data": {"a": "theirs", "b": "theirs"}}`)
	s.edit(s.configMap("a", ""), "another", `{"data": {"b": "another's"}}`)
	outcome := w.sync(s.configMap("a", "a: ours, b: ours"))[0]
	conflicts := apply.FieldManagerConflicts(outcome.Err)
	want := []apply.FieldManagerConflict{{Manager: "another", Field: "data.b"}, {Manager: "somebody", Field: "data.a"}}
	if apply.Classify(outcome.Err) != apply.FailureFieldConflict || len(conflicts) != 2 || conflicts[0] != want[0] || conflicts[1] != want[1] {
		t.Errorf("%v: conflicts are %v, want %v", outcome.Err, conflicts, want)
	}
	if got := value(s.live(s.configMap("a", "")), "data"); got != "map[a:theirs b:another's]" {
		t.Errorf("data is %s", got)
	}
	// Who asks for the same is in no conflict.
	w.settle(s.configMap("a", "a: theirs, b: another's"))
}
