package definition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestPreviewLimits checks what a spec says of limits, and that other limits have another text.
func TestPreviewLimits(t *testing.T) {
	texts := map[string]string{}
	for name, c := range map[string]struct {
		reason string
		spec   map[string]any
		want   string
	}{
		"none":     {"A sample is previewed.", map[string]any{}, "none"},
		"steps":    {"Other fields are no limits.", map[string]any{"scriptRollout": map[string]any{"paused": true}}, "none"},
		"no limit": {"That is something else than none.", map[string]any{"scriptRollout": map[string]any{"preview": map[string]any{}}}, "<nil> <nil> <nil>"},
		"some": {
			"Numbers and percentages are read.",
			map[string]any{"scriptRollout": map[string]any{"preview": map[string]any{"maxDeletedChildren": "10%", "maxFailingParents": int64(0)}}},
			"10% <nil> 0",
		},
	} {
		var s runtimeState
		s.setRollout(&unstructured.Unstructured{Object: map[string]any{"spec": c.spec}}, time.Time{})
		got := limitsText(s.limits.edits.Load())
		if got != c.want {
			t.Errorf("%s: %s: %q, want %q", name, c.reason, got, c.want)
		}
		texts[got] = name
	}
	if len(texts) != 3 {
		t.Errorf("different limits have the same text: %v", texts)
	}
}

// TestProgressingCondition checks when the condition is there, and what it says.
func TestProgressingCondition(t *testing.T) {
	held := map[string]any{
		"scriptRollout": map[string]any{"heldRevision": "abc"},
		"conditions":    []any{map[string]any{"type": "Progressing", "status": "False", "reason": "Held", "message": "revision abc is held"}},
	}
	for name, c := range map[string]struct {
		reason string
		status map[string]any
		limits *v1alpha1.ScriptPreview
		view   statusView
		want   string
	}{
		"never held": {reason: "It comes with the first edit that is held.", view: statusView{newest: newestView{state: scripts.State{Loaded: "abc"}}}},
		"held":       {reason: "The message is that of the hold.", view: statusView{hold: holdView{why: "revision abc is held"}}, want: "False Held revision abc is held"},
		"no longer": {
			reason: "It stays.", status: held, view: statusView{newest: newestView{state: scripts.State{Loaded: "abc"}}},
			want: "True Serving no edit of the scripts is held: revision abc serves",
		},
		"previewed again": {
			reason: "What was held stays reported until its preview has ended.", status: held,
			view: statusView{newest: newestView{state: scripts.State{Loaded: "a", Previewing: "abc"}}},
		},
		"tests run": {
			reason: "Nothing is known of a newer text yet.", status: held, view: statusView{newest: newestView{state: scripts.State{Loaded: "a", Testing: "def"}}},
		},
		"previewed": {
			reason: "A newer text is reported.", status: held, view: statusView{newest: newestView{state: scripts.State{Loaded: "a", Previewing: "def"}}},
			want: "True Previewing revision def is previewed before it takes over",
		},
		"previewed at once": {
			reason: "Without limits it is a sample, which is fast.", view: statusView{newest: newestView{state: scripts.State{Loaded: "a", Previewing: "def"}}},
		},
		"previewed for all": {
			reason: "All parents take their time.", limits: &v1alpha1.ScriptPreview{},
			view: statusView{newest: newestView{state: scripts.State{Loaded: "a", Previewing: "def"}}},
			want: "True Previewing revision def is previewed before it takes over",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.view.newest.id = c.view.newest.state.Previewing
			s := &runtimeState{object: &unstructured.Unstructured{Object: map[string]any{"status": c.status}}}
			s.limits.edits.Store(c.limits)
			got := ""
			if condition, known := progressingCondition(s, c.view); known {
				got = string(condition.Status) + " " + condition.Reason + " " + condition.Message
				if condition.Status == metav1.ConditionTrue && condition.Type != v1alpha1.ConditionProgressing {
					t.Errorf("condition %q", condition.Type)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
