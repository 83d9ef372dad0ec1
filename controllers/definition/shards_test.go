package definition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/reports"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// TestIsDecided has a shard that follows wait until the status says which spec serves.
func TestIsDecided(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason}}
	}
	stable := &v1alpha1.ScriptRolloutStatus{StableSpec: &v1alpha1.StableSpec{Generation: 1}}
	for name, c := range map[string]struct {
		status v1alpha1.DefinitionStatus
		want   bool
	}{
		"new":                   {v1alpha1.DefinitionStatus{}, false},
		"runs":                  {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("True", "Running")}, true},
		"runs badly":            {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("False", "ScriptResting")}, true},
		"edited since":          {v1alpha1.DefinitionStatus{ObservedGeneration: 1, Conditions: ready("True", "Running")}, false},
		"refused":               {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("False", "NotAccepted")}, false},
		"does not load":         {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("False", "ScriptsNotReady")}, false},
		"without credentials":   {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("False", "CredentialsNotReady")}, false},
		"with old credentials":  {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("True", "CredentialsNotReady")}, true},
		"an earlier spec":       {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("False", "EarlierSpecServes"), ScriptRollout: stable}, true},
		"a long earlier spec":   {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("False", "EarlierSpecServes")}, false},
		"released by this host": {v1alpha1.DefinitionStatus{ObservedGeneration: 2, Conditions: ready("Unknown", "NotHosted")}, false},
	} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c.status)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
		object.SetGeneration(2)
		if got := isDecided(object); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestReportsOfShards has the owner of a definition say what all shards say.
func TestReportsOfShards(t *testing.T) {
	running := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: reasonRunning}
	over := rollout.Exceeded{Revision: "new", Before: "old", Message: "9 of 10"}
	well := func() *reports.Report {
		return &reports.Report{Ready: running, Summary: &parent.Summary{Parents: 1, Synced: 1}, Parents: []reports.Parent{{Hash: 1}}}
	}
	own := status.Parents{Summary: &parent.Summary{Parents: 2, Synced: 2}}
	for name, c := range map[string]struct {
		missing  []shard.Range
		change   func(*reports.Report)
		ready    string
		parents  int32
		known    bool
		exceeded string
		hold     string
	}{
		"well":                                 {ready: "Running", parents: 3, known: true},
		"one is missing":                       {missing: []shard.Range{{Index: 2, Count: 3}}, ready: "ShardsNotReady", parents: 3},
		"one is not ready":                     {change: func(r *reports.Report) { r.Ready.Status, r.Ready.Reason = metav1.ConditionFalse, "HotLoop" }, ready: "ShardsNotReady", parents: 3, known: true},
		"one lists still":                      {change: func(r *reports.Report) { r.Summary = nil }, ready: "Running", parents: 2},
		"one has not said how its parents are": {change: func(r *reports.Report) { r.Parents = nil }, ready: "Running", parents: 3},
		"one would delete too much": {
			change: func(r *reports.Report) { r.Hold.Exceeded = over }, ready: "Running", parents: 3, known: true, exceeded: "shard 1 of 3: 9 of 10",
		},
		"one would have": {change: func(r *reports.Report) {
			r.Hold.Exceeded = rollout.Exceeded{Revision: "other", Message: "9 of 10"}
		}, ready: "Running", parents: 3, known: true},
		"one holds": {
			change: func(r *reports.Report) { r.Hold.ID, r.Hold.Message = "id", "held" }, ready: "Running", parents: 3, known: true, hold: "id: shard 1 of 3: held",
		},
	} {
		t.Run(name, func(t *testing.T) {
			report := well()
			if c.change != nil {
				c.change(report)
			}
			s := &shards{here: shard.Range{Index: 0, Count: 3}, others: []otherShard{{shard.Range{Index: 1, Count: 3}, report}}, missing: c.missing}
			if got := s.addToReady(running); got.Reason != c.ready {
				t.Errorf("Ready is %v, want %s", got, c.ready)
			}
			if got := s.addTo(own); got.Summary.Parents != c.parents {
				t.Errorf("%d parents, want %d", got.Summary.Parents, c.parents)
			}
			if all, known := s.parents(); known != c.known || known && len(all) != 1 {
				t.Errorf("parents %v, known %t, want %t", all, known, c.known)
			}
			state := &rollout.State{StableRevision: "old", UpdatedRevision: "new"}
			if got := s.exceeded(state); got.Message != c.exceeded {
				t.Errorf("exceeded: %q, want %q", got.Message, c.exceeded)
			}
			id, message := s.hold()
			if got := strings.TrimPrefix(id+": "+message, ": "); got != c.hold {
				t.Errorf("held: %q, want %q", got, c.hold)
			}
		})
	}
	if own.Summary.Parents != 2 {
		t.Error("the summary of the own parents was changed")
	}
}

// TestRemovedInShards has the owner of a definition say what is left behind in other shards, once.
func TestRemovedInShards(t *testing.T) {
	secrets := plan.Warning{Reason: plan.ReasonChildResourceRemoved, Message: "2 secrets"}
	pods := plan.Warning{Reason: plan.ReasonChildResourceRemoved, Message: "3 pods"}
	s := &shards{others: []otherShard{
		{shard.Range{Index: 1, Count: 3}, &reports.Report{Removed: []plan.Warning{secrets, pods}}},
		{shard.Range{Index: 2, Count: 3}, &reports.Report{}},
	}}
	for name, c := range map[string]struct {
		own  []plan.Warning
		want string
	}{
		"here too":        {[]plan.Warning{secrets}, "2 secrets\nshard 1 of 3: 2 secrets\nshard 1 of 3: 3 pods"},
		"elsewhere alone": {nil, "shard 1 of 3: 2 secrets\nshard 1 of 3: 3 pods"},
		"after a restart": {[]plan.Warning{{Message: "none\nshard 1 of 3: 3 pods"}}, "none\nshard 1 of 3: 3 pods\nshard 1 of 3: 2 secrets"},
	} {
		if diff := cmp.Diff(c.want, plan.Messages(s.removed(c.own))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestLabelsOfSteps(t *testing.T) {
	spec := &v1alpha1.ScriptRollout{Steps: []v1alpha1.ScriptRolloutStep{
		{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}}},
		{Parents: new(intstr.FromString("10%"))},
		{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}}},
	}}
	if diff := cmp.Diff([]string{"canary", "tier"}, labelsOfSteps(spec)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
