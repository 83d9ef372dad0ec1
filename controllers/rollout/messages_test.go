package rollout

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// idOf returns the ID of a revision that consists of one digit.
func idOf(digit string) scripts.RevisionID { return scripts.RevisionID(strings.Repeat(digit, 64)) }

// hello is a definition with a status.
func hello(status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CompositeController", "metadata": map[string]any{"name": "hello"}, "status": status,
	}}
}

// TestPinMessage checks what is said of a pin: what serves, what the sources hold, and when that may take over.
func TestPinMessage(t *testing.T) {
	pinned, other := idOf("a"), idOf("b")
	const unpin = "libretto rollback compositecontroller/hello --unpin"
	for name, tc := range map[string]struct {
		state   scripts.State
		serving scripts.RevisionID
		want    []string
	}{
		"read":        {scripts.State{}, other, []string{"is read from the archive", "revision bbbbbbbbbbbbbbbb goes on serving"}},
		"nothing yet": {scripts.State{}, "", []string{"is read from the archive", "nothing serves"}},
		"broken":      {scripts.State{Problems: []scripts.Problem{{}}, Desired: other}, pinned, []string{"does not load", "once it is corrected", unpin}},
		"the same":    {scripts.State{Desired: pinned}, pinned, []string{"the scripts hold it too", "to let edits take over again", unpin}},
		"unread":      {scripts.State{}, pinned, []string{"are being read", unpin}},
		"held":        {scripts.State{Desired: other, Held: "it deletes"}, pinned, []string{"bbbbbbbbbbbbbbbb, which is held: it deletes", "corrected or approved", unpin}},
		"previewing":  {scripts.State{Desired: other, Previewing: other}, pinned, []string{"which is being loaded, tested or previewed", unpin}},
		"ready":       {scripts.State{Desired: other}, pinned, []string{"the scripts hold revision bbbbbbbbbbbbbbbb\nto let it take over", unpin}},
	} {
		t.Run(name, func(t *testing.T) {
			message := PinMessage(hello(nil), tc.state, pinned, tc.serving)
			for _, part := range tc.want {
				if !strings.Contains(message, part) {
					t.Errorf("%q does not say %q", message, part)
				}
			}
		})
	}
}

// TestInScriptsReady checks that the condition of loaded scripts says what the rollout makes of them, and that of others nothing.
func TestInScriptsReady(t *testing.T) {
	problem := Progress{Managed: true, Problem: "it is gone"}
	for reason, want := range map[string]string{"Loaded": "the scripts have loaded; it is gone", "TestsFailed": "before"} {
		if c := problem.InScriptsReady(hello(nil), metav1.Condition{Reason: reason, Message: "before"}); c.Message != want {
			t.Errorf("%s: %q, want %q", reason, c.Message, want)
		}
	}
	if c := (Progress{}).InScriptsReady(hello(nil), metav1.Condition{Reason: "Loaded", Message: "before"}); c.Message != "before" {
		t.Errorf("without a rollout: %q", c.Message)
	}
}

// TestWithServing checks that the state of scripts names what serves by the rollout, not what was loaded last.
func TestWithServing(t *testing.T) {
	loaded := scripts.State{Loaded: idOf("b"), RestoredFrom: "r"}
	serving := Progress{Managed: true, Serving: idOf("a")}
	if got := serving.WithServing(loaded, true); got.Loaded != idOf("a") || got.RestoredFrom != "" {
		t.Errorf("serves %s, restored from %q", got.Loaded, got.RestoredFrom)
	}
	for _, same := range []scripts.State{serving.WithServing(loaded, false), Progress{Serving: idOf("a")}.WithServing(loaded, true)} {
		if same.Loaded != loaded.Loaded || same.RestoredFrom != "r" {
			t.Errorf("serves %s", same.Loaded)
		}
	}
}

// TestApprovedMessage checks what is known of an approval.
func TestApprovedMessage(t *testing.T) {
	if got := ApprovedMessage(idOf("a"), nil); !strings.Contains(got, "there no more") {
		t.Error(got)
	}
	got := ApprovedMessage(idOf("a"), &v1alpha1.ScriptApproval{Object: "ConfigMap a/b", Manager: "kubectl", Reason: "seen", WrittenAt: &metav1.Time{}})
	for _, part := range []string{"ConfigMap a/b", "field manager kubectl", "or before: seen", "audit log"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not say %q", got, part)
		}
	}
}

// TestStoredState checks what a definition that had no steps before begins with, and which revisions of a status are in use.
func TestStoredState(t *testing.T) {
	one, two := string(idOf("a")), string(idOf("b"))
	if got := StoredState(hello(map[string]any{"scriptRevisionHash": one})); got.StableRevision != one {
		t.Errorf("stable is %q", got.StableRevision)
	}
	if got := StoredState(hello(map[string]any{"scriptRevisionHash": one, "scriptRollout": map[string]any{"stableRevision": two}})); got.StableRevision != two {
		t.Errorf("stable is %q", got.StableRevision)
	}
	status := v1alpha1.DefinitionStatus{ScriptRevisionHash: "1", PreviousScriptRevisionHash: "2"}
	status.ScriptRollout = &v1alpha1.ScriptRolloutStatus{StableRevision: "3", UpdatedRevision: "4", UpdatedEdit: &v1alpha1.GuardedEdit{Revision: "5"}}
	status.DeletionGuard = &v1alpha1.DeletionGuardStatus{Settled: v1alpha1.GuardedEdit{Revision: "6"}, Edit: v1alpha1.GuardedEdit{Revision: "7"}}
	if got := NamedRevisions(status); !slices.Equal(got, []string{"1", "2", "3", "4", "5", "6", "7"}) {
		t.Errorf("in use are %v", got)
	}
	if got := NamedRevisions(v1alpha1.DefinitionStatus{}); strings.Join(got, "") != "" {
		t.Errorf("in use are %v", got)
	}
}
