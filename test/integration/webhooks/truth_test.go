package webhooks

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/test/env"
)

// row is a state of a parent, and what follows from it.
type row struct {
	reason string

	// deleting is how the parent was deleted, and "" if it lives. Somebody else's finalizer holds it.
	deleting metav1.DeletionPropagation
	// other says that the parent does not match the definition's selector.
	other bool
	// hook says that the definition has a finalize hook.
	hook bool
	// held says that the parent has the definition's finalizer to begin with.
	held bool
	// ends says that answers have finalized: true, silent that they have no status.
	ends, silent bool

	composite, decorator outcome
}

// outcome is the result for a parent.
type outcome struct {
	// Asked are the hooks that were called.
	Asked string
	// Managed says that the child is there.
	Managed bool
	// Status is the hook that gave the status, "before" if it was not written, and "" if it was emptied.
	Status string
	// Held says that the parent has the definition's finalizer in the end.
	Held bool
}

const (
	background = metav1.DeletePropagationBackground
	foreground = metav1.DeletePropagationForeground
	orphan     = metav1.DeletePropagationOrphan
)

// truth is Appendix B of the specification, with the rows that follow from it.
func truth() map[string]row {
	both := func(o outcome, r row) row {
		r.composite, r.decorator = o, o
		return r
	}
	synced, heldSynced := outcome{"sync", true, "sync", false}, outcome{"sync", true, "sync", true}
	alone := outcome{Status: "before"}
	watched := outcome{"sync", false, "sync", false}
	finalized := outcome{"finalize", true, "finalize", true}
	standing := outcome{"finalize", false, "finalize", true}
	unheld := outcome{"finalize", false, "finalize", false}
	return map[string]row{
		"live":           both(synced, row{reason: "the usual case"}),
		"live-hook":      both(heldSynced, row{hook: true, reason: "the finalizer is put on first"}),
		"live-hook-held": both(heldSynced, row{hook: true, held: true, reason: "it is there"}),
		"live-hook-ends": both(heldSynced, row{hook: true, ends: true, reason: "what sync says of finalizers counts for nobody"}),
		"live-left":      both(synced, row{held: true, reason: "a finalizer that is left over goes"}),
		"other":          both(alone, row{other: true, reason: "nobody asked for it"}),
		"other-hook":     both(alone, row{other: true, hook: true, reason: "the same"}),
		"other-left":     both(alone, row{other: true, held: true, reason: "the finalizer goes, and that is all"}),
		"opted-out":      both(finalized, row{other: true, hook: true, held: true, reason: "what it has is taken down"}),
		"opted-out-ends": both(outcome{"finalize", true, "finalize", false},
			row{other: true, hook: true, held: true, ends: true, reason: "the last answer counts for one that lives"}),
		"gone":            both(watched, row{deleting: background, reason: "the garbage collector has its children"}),
		"gone-left":       both(watched, row{deleting: background, held: true, reason: "the same, once the finalizer is off"}),
		"gone-other":      both(alone, row{deleting: background, other: true, reason: "nobody asked for it"}),
		"gone-other-left": both(alone, row{deleting: background, other: true, held: true, reason: "the finalizer must not hold it"}),
		"final":           both(finalized, row{deleting: background, hook: true, held: true, reason: "that is what the hook is for"}),
		"final-other": both(finalized,
			row{deleting: background, hook: true, held: true, other: true, reason: "the finalizer counts, not the selector"}),
		"final-foreground": both(standing, row{deleting: foreground, hook: true, held: true, reason: "the garbage collector is at the children"}),
		"final-orphan":     both(standing, row{deleting: orphan, hook: true, held: true, reason: "the children are to stay"}),
		"final-unheld":     both(unheld, row{deleting: background, hook: true, reason: "nothing can be put on now"}),
		"final-unheld-oth": both(alone, row{deleting: background, hook: true, other: true, reason: "nobody asked for it"}),
		"ends": {deleting: background, hook: true, held: true, ends: true, reason: "a composite's last children are not applied",
			composite: unheld, decorator: outcome{"finalize", true, "finalize", false}},
		"ends-other": {deleting: background, hook: true, held: true, other: true, ends: true, reason: "the same",
			composite: unheld, decorator: outcome{"finalize", true, "finalize", false}},
		"silent": {silent: true, reason: "no status empties a composite's, and leaves a decorator's",
			composite: outcome{"sync", true, "", false}, decorator: outcome{"sync", true, "before", false}},
	}
}

// TestTruth makes a parent for each row and each kind of definition, starts libretto, and looks at what it made of them.
func TestTruth(t *testing.T) {
	rows := truth()
	s := newTruthEnv(t)
	for _, kind := range []string{"composite", "decorator"} {
		for name, r := range rows {
			s.parent(kind, name, r)
		}
	}
	s.Start()
	for _, kind := range []string{"composite", "decorator"} {
		s.define(kind, false)
		s.define(kind, true)
	}
	want := func(kind string, r row) outcome {
		if kind == "composite" {
			return r.composite
		}
		return r.decorator
	}
	for _, kind := range []string{"composite", "decorator"} {
		for name, r := range rows {
			s.awaitOutcome(kind, name, r, want(kind, r))
		}
	}
	s.WaitForQuiet()
	for _, kind := range []string{"composite", "decorator"} {
		for name, r := range rows {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Log(r.reason)
				if diff := cmp.Diff(want(kind, r), s.in(t).outcome(kind, name, r)); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// awaitOutcome waits for it, before WaitForQuiet.
func (s *truthEnv) awaitOutcome(kind, name string, r row, want outcome) {
	s.T.Helper()
	s.Eventually(func() error {
		if got := s.outcome(kind, name, r); got != want {
			return fmt.Errorf("%s %s: %+v, want %+v", kind, name, got, want)
		}
		return nil
	})
}

// outcome is how things are now.
func (s *truthEnv) outcome(kind, name string, r row) outcome {
	s.T.Helper()
	full := parentName(kind, name)
	parent := s.Get(s.Things(), full)
	if parent == nil {
		s.T.Fatalf("%s is gone", full)
	}
	status, _ := parent.Object["status"].(map[string]any)
	said, _ := status["said"].(string)
	return outcome{
		Asked:   s.asked(full),
		Managed: s.Get(env.ConfigMaps, full) != nil,
		Status:  said,
		Held:    slices.Contains(parent.GetFinalizers(), s.finalizer(kind, r.hook)),
	}
}
