package parent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// TestParentsOfFormerSpec checks that what happens to parents of a former spec, whose instance may go on for a while, is nothing to its
// successor, which has taken over the states.
func TestParentsOfFormerSpec(t *testing.T) {
	reconciler := func() *Reconciler {
		return &Reconciler{&shared{inherited: inherited{states: health.NewStates(clocktesting.NewFakeClock(time.Unix(1000, 0)))}}}
	}
	previous, next := reconciler(), reconciler()
	source := &sources.Parent{ParentRule: variant.ParentRule{
		Resource: parenttest.ThingResource(true, true), Selects: func(*unstructured.Unstructured) bool { return true },
	}}
	previous.noteParent(source, informer.Event{New: parenttest.ThingWith(t, "")})
	if got := previous.Summary(""); got.Pending != 1 {
		t.Errorf("before the edit: %+v, want one that is pending", got)
	}
	next.TakeOver(previous)
	next.states.BeginSweep(nil)
	previous.noteParent(source, informer.Event{New: parenttest.ThingWith(t, "")})
	if got := next.Summary(""); got.Pending != 0 {
		t.Errorf("after it: %+v, want none", got)
	}
}

// TestSyncOfParentThatIsGone has a pass end as its parent is gone, which the cache does not show yet: no rollout takes that for a failure.
func TestSyncOfParentThatIsGone(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	r := &Reconciler{&shared{inherited: inherited{lastSyncs: health.NewLastSyncs(clock), waits: health.NewWaits()}}}
	r.config.Changed = func() {}
	r.KeepLastSyncs(true)
	p := &pass{shared: r.shared, parent: parenttest.ThingWith(t, "")}
	for _, c := range []struct {
		err  error
		want health.SyncResult
	}{{fmt.Errorf("status: %w", errGone), ""}, {errors.New("no"), health.ResultFailed}} {
		p.noteSync(0, c.err)
		if got := r.lastSyncs.Of(p.parent.GetUID()).Result; got != c.want {
			t.Errorf("%v: the last sync is %q, want %q", c.err, got, c.want)
		}
	}
}
