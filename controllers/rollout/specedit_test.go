package rollout

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// TestSpecEdit shows what is stored of the specs when an edit of the definition begins, ends, and is taken back.
func TestSpecEdit(t *testing.T) {
	stable, next, other := &v1alpha1.StableSpec{Generation: 1}, &v1alpha1.StableSpec{Generation: 2}, &v1alpha1.StableSpec{Generation: 3}
	edit := Edit{SpecHash: "s2", Revision: "A"} // The scripts are the same.
	id := edit.ID(Edit{SpecHash: "s1"})
	complete := State{StableRevision: "A", StableSpec: stable, Phase: v1alpha1.ScriptsComplete}
	inStep := func(step int32) State {
		return State{
			StableRevision: "A", StableSpec: stable, UpdatedRevision: id, UpdatedEdit: (*v1alpha1.GuardedEdit)(&edit), Phase: v1alpha1.ScriptsProgressing,
			Step: new(step), Steps: new(int32(2)), Bound: new(All),
		}
	}
	steps := &v1alpha1.ScriptRollout{Steps: []v1alpha1.ScriptRolloutStep{number(1, 60)}}
	for name, c := range map[string]struct {
		reason  string
		in      Input
		want    *v1alpha1.StableSpec
		serves  string
		updated string
		failed  string
	}{
		"begins": {
			"Parents keep the spec that serves.", Input{Spec: steps, State: complete, UpdatedSpec: next}, stable, "A", id, "",
		},
		"ends": {
			"The new spec serves, and is named as its scripts are.", Input{Spec: steps, State: inStep(2), UpdatedSpec: next}, next, "A", "", "",
		},
		"is promoted while another edit can't begin": {
			"It waits until it is known what the definition holds.",
			Input{Spec: steps, State: inStep(1), UpdatedSpec: next, Outdated: true, Target: "X", TargetSpec: other, Request: new(inStep(1)).Request(v1alpha1.PromoteFullRequest)},
			stable, "A", id, "",
		},
		"is promoted": {
			"All parents get it.",
			Input{Spec: steps, State: inStep(1), UpdatedSpec: next, Request: new(inStep(1)).Request(v1alpha1.PromoteFullRequest)}, next, "A", "", "",
		},
		"is aborted": {
			"The earlier spec serves.",
			Input{Spec: steps, State: inStep(1), UpdatedSpec: next, Request: new(inStep(1)).Request(v1alpha1.AbortRequest)}, stable, "A", "", id,
		},
		"exceeds its limits": {
			"So it does then.", Input{Spec: steps, State: inStep(1), UpdatedSpec: next, Exceeded: Exceeded{Revision: id, Before: "A"}}, stable, "A", "", id,
		},
		"is lost": {
			"Nobody has its spec any more.", Input{Spec: steps, State: inStep(1), Target: "X", TargetSpec: other}, stable, "A", "", id,
		},
		"has no steps": {
			"All parents get it at once, and no rollout decides any more.", Input{State: complete}, nil, "", "", "",
		},
		"is pinned over": {
			"A pin is one of scripts.", Input{
				Spec: &v1alpha1.ScriptRollout{Steps: steps.Steps, Revision: "P"}, Pinned: "P", State: inStep(1), UpdatedSpec: next,
			}, stable, "P", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := c.in
			if in.Target == "" {
				in.Target, in.TargetEdit, in.TargetSpec = id, (*v1alpha1.GuardedEdit)(&edit), next
			}
			in.Now = time.Unix(1000, 0)
			in.Parents = []Parent{{Name: "p", Revision: in.State.UpdatedRevision, Health: Well}}
			got := Next(in).State
			if !equality.Semantic.DeepEqual(got.StableSpec, c.want) || got.StableRevision != c.serves || got.UpdatedRevision != c.updated || got.FailedRevision != c.failed {
				t.Errorf("%s\n%+v, want the spec %v", c.reason, got, c.want)
			}
			if (got.UpdatedEdit != nil) != (c.updated != "") {
				t.Errorf("the edit: %v", got.UpdatedEdit)
			}
		})
	}
}
