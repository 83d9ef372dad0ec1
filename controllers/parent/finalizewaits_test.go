package parent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestUnfinalized follows one parent whose finalize hook never says finalized: it is
// told after one minute, then after two more, and so on up to an hour.
func TestUnfinalized(t *testing.T) {
	begin := time.Unix(0, 0)
	clock := clocktesting.NewFakePassiveClock(begin)
	u := newFinalizeWaits(clock)
	key := controller.Key{Name: "stuck"}
	var told []time.Duration
	for after := time.Duration(0); clock.Since(begin) < 5*time.Hour; clock.SetTime(clock.Now().Add(after)) {
		var tell, first bool
		after, tell, first = u.note(key, "1")
		if tell {
			told = append(told, clock.Since(begin))
		}
		if want := tell && len(told) == 1; first != want || after <= 0 {
			t.Fatalf("at %s: first is %v, want %v; after is %s", clock.Since(begin), first, want, after)
		}
	}
	want := []time.Duration{1, 3, 7, 15, 31, 63, 123, 183, 243}
	for i := range want {
		want[i] *= time.Minute
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]controller.Key{key}, u.reported()); diff != "" {
		t.Errorf("parents -want +got:\n%s", diff)
	}
	if after, tell, _ := u.note(key, "2"); tell || after != minFinalizePause || len(u.reported()) != 0 {
		t.Errorf("another parent of that name is told at once (%v), or looked at after %s", tell, after)
	}
	if u.note(key, "2"); u.forget(key) || len(u.pending) != 0 {
		t.Error("what was not told is taken for told, or is remembered")
	}
}
