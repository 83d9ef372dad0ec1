package definition

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/scripts"
)

// definitionWith returns a definition with a status, unless that is nil.
func definitionWith(t *testing.T, uid string, generation int64, status *v1alpha1.DefinitionStatus) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"kind": v1alpha1.CompositeControllerKind, "metadata": map[string]any{"name": "d"}}}
	object.SetUID(types.UID(uid))
	object.SetGeneration(generation)
	if status != nil {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
		if err != nil {
			t.Fatal(err)
		}
		object.Object["status"] = fields
	}
	return object
}

func ready(status metav1.ConditionStatus, reason string) statusView {
	return statusView{conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: "Accepted"},
		{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: reason},
	}}
}

func TestIsFinal(t *testing.T) {
	broken := ready(metav1.ConditionFalse, "ScriptsNotReady")
	broken.newest.state.Problems = []scripts.Problem{{}}
	cases := map[string]struct {
		reason  string
		view    statusView
		refusal *plan.Refusal
		want    bool
	}{
		"Running":  {"a running definition has started", ready(metav1.ConditionTrue, "Running"), nil, true},
		"Starting": {"a definition whose objects are being listed will run soon", ready(metav1.ConditionFalse, "Starting"), nil, false},
		"Loading":  {"so will one whose scripts are being read", ready(metav1.ConditionFalse, "ScriptsNotReady"), nil, false},
		"Edited":   {"so will a new spec", ready(metav1.ConditionFalse, "EarlierSpecServes"), nil, false},
		"Broken":   {"a script that does not load will not by itself", broken, nil, true},
		"Refused":  {"nor will a spec that is refused", ready(metav1.ConditionFalse, "NotAccepted"), &plan.Refusal{}, true},
	}
	for name, tc := range cases {
		if got := tc.view.isFinal(tc.refusal); got != tc.want {
			t.Errorf("%s: %v: %s", name, got, tc.reason)
		}
	}
}

// TestStatusDelay goes through the life of a definition: no status is written at once, and a
// start costs one write.
func TestStatusDelay(t *testing.T) {
	start := time.Unix(1000, 0)
	first, edited, other := definitionWith(t, "a", 1, nil), definitionWith(t, "a", 2, nil), definitionWith(t, "b", 1, nil)
	s := &runtimeState{}
	for _, step := range []struct {
		what   string
		object *unstructured.Unstructured
		final  bool
		at     time.Duration
		want   time.Duration
	}{
		{"it is created", first, false, 0, startupDelay},
		{"it runs soon", first, true, 100 * time.Millisecond, newSpecDelay - 100*time.Millisecond},
		{"its status is written", first, true, newSpecDelay, 0},
		{"it keeps running", first, false, time.Hour, 0},
		{"it is edited", edited, false, time.Hour, startupDelay},
		{"it does not start", edited, false, time.Hour + startupDelay - 1, 1},
		{"that is reported", edited, false, time.Hour + startupDelay, 0},
		{"another of its name", other, true, 2 * time.Hour, newSpecDelay},
	} {
		if got := s.statusDelay(step.object, step.final, start.Add(step.at)); got != step.want {
			t.Errorf("%s: it waits %s, want %s", step.what, got, step.want)
		}
	}
	if newSpecDelay < 250*time.Millisecond {
		t.Error("metacontroller's tests replace what they created within that time")
	}
}

// TestStatusThatIsPruned sees to it that the status of a definition is the same each time, also where the schema drops it.
func TestStatusThatIsPruned(t *testing.T) {
	bare := definitionWith(t, "a", 1, nil)
	long := metav1.NewTime(time.Unix(1000, 0))
	s := &runtimeState{}
	v := ready(metav1.ConditionTrue, "Running")
	status := s.statusOf(bare, v)
	for i := range status.Conditions {
		status.Conditions[i].LastTransitionTime = long
	}
	s.status = &status
	if diff := cmp.Diff(status, s.statusOf(bare, v)); diff != "" {
		t.Errorf("a second reconcile wants another status: -first +second\n%s", diff)
	}
	if s.statusOf(bare, ready(metav1.ConditionFalse, "Starting")).Conditions[1].LastTransitionTime == long {
		t.Error("a condition that has changed keeps its time")
	}
	stored := s.statusOf(definitionWith(t, "a", 1, &v1alpha1.DefinitionStatus{Conditions: []metav1.Condition{{Type: "Theirs"}}}), v)
	if stored.Conditions[0].Type != "Theirs" {
		t.Error("a stored status is ignored")
	}
}

func TestNotHostedStatus(t *testing.T) {
	parents := int32(3)
	statusWith := func(status metav1.ConditionStatus, reason string, at int64) *v1alpha1.DefinitionStatus {
		return &v1alpha1.DefinitionStatus{Parents: &parents, ScriptRevision: "abc", Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: "m", LastTransitionTime: metav1.Unix(at, 0)},
		}}
	}
	own := statusWith(metav1.ConditionTrue, "Running", 1000)
	own.Conditions[0].LastTransitionTime = metav1.Unix(1000, 5) // Seconds are stored.
	cases := map[string]struct {
		reason string
		own    *v1alpha1.DefinitionStatus
		stored *v1alpha1.DefinitionStatus
		want   bool
	}{
		"Own":          {"the status of this host is no longer true", own, statusWith(metav1.ConditionTrue, "Running", 1000), true},
		"OtherStarted": {"another host has taken it over", own, statusWith(metav1.ConditionFalse, "Starting", 1001), false},
		"OtherRuns":    {"another host has started it anew", own, statusWith(metav1.ConditionTrue, "Running", 1002), false},
		"NeverWritten": {"this host has written no status", nil, statusWith(metav1.ConditionTrue, "Running", 1000), false},
		"NoStatus":     {"the schema has no status", own, nil, false},
		"Already":      {"it is written already", own, statusWith(metav1.ConditionUnknown, reasonNotHosted, 1001), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &runtimeState{status: tc.own}
			status, write := s.notHostedStatus(definitionWith(t, "a", 1, tc.stored), "team=blue")
			if write != tc.want {
				t.Fatalf("%s: write %v, want %v", tc.reason, write, tc.want)
			}
			if !write {
				return
			}
			c := status.Conditions[0]
			if c.Status != metav1.ConditionUnknown || c.Reason != reasonNotHosted || !strings.Contains(c.Message, "--target-label-selector=team=blue") || status.Parents != nil || status.ScriptRevision != "abc" {
				t.Errorf("%s: it says %+v", tc.reason, status)
			}
		})
	}
}

// TestParentsDelay checks that what is said of parents alone is written once in five seconds, and all else at once.
func TestParentsDelay(t *testing.T) {
	s := &runtimeState{}
	view := ready(metav1.ConditionTrue, "Running")
	begin := time.Unix(100, 0)
	for i, step := range []struct {
		reason           string
		after            time.Duration
		parents, failing int32
		state            string
		want             time.Duration
	}{
		{"nothing was written before", 0, 0, 0, "Running", 0},
		{"the first change is written", 0, 1, 0, "Running", 0},
		{"the next one waits", 200 * time.Millisecond, 2, 0, "Running", 4800 * time.Millisecond},
		{"so does a parent that fails", 300 * time.Millisecond, 2, 1, "Running", 4700 * time.Millisecond},
		{"another condition does not, and takes it along", 2 * time.Second, 2, 1, "NotFinalized", 0},
		{"nothing has changed", 3 * time.Second, 2, 1, "NotFinalized", 0},
		{"the five seconds count from then on", 6 * time.Second, 2, 2, "NotFinalized", time.Second},
		{"they are over", 7 * time.Second, 2, 2, "NotFinalized", 0},
	} {
		view.conditions[1].Reason = step.state
		view.running.parents = status.Parents{Summary: &parent.Summary{Parents: step.parents, Failing: step.failing}}
		if step.failing > 0 {
			view.running.parents.Summary.Failures = []parent.Health{failing("a", "HookFailed", "m")}
		}
		next := s.statusOf(definitionWith(t, "1", 1, s.status), view)
		got := s.parentsDelay(next, begin.Add(step.after))
		if got != step.want {
			t.Errorf("step %d: %s: %s, want %s", i, step.reason, got, step.want)
		}
		if got == 0 {
			s.status = &next
		}
	}
}

// failing returns a report on a parent.
func failing(name, reason, message string) parent.Health {
	return parent.Health{
		Parent: controller.Key{Kind: schema.GroupVersionKind{Kind: "Thing"}, Namespace: "x", Name: name},
		Reason: reason, Message: message, Since: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
	}
}
