package finalizers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestFinalizeWaits checks the reports of a parent whose finalize hook never answers finalized:
// after one minute, after two more, and so on up to an hour.
func TestFinalizeWaits(t *testing.T) {
	begin := time.Unix(0, 0)
	clock := clocktesting.NewFakePassiveClock(begin)
	u := NewWaits(clock)
	key := controller.Key{Name: "stuck"}
	var reports []time.Duration
	for after := time.Duration(0); clock.Since(begin) < 5*time.Hour; clock.SetTime(clock.Now().Add(after)) {
		var report, first bool
		after, report, first = u.Note(key, "1")
		if report {
			reports = append(reports, clock.Since(begin))
		}
		if want := report && len(reports) == 1; first != want || after <= 0 {
			t.Fatalf("at %s: first is %v, want %v; after is %s", clock.Since(begin), first, want, after)
		}
	}
	want := []time.Duration{1, 3, 7, 15, 31, 63, 123, 183, 243}
	for i := range want {
		want[i] *= time.Minute
	}
	if diff := cmp.Diff(want, reports); diff != "" {
		t.Errorf("reports -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]controller.Key{key}, u.Reported()); diff != "" {
		t.Errorf("parents -want +got:\n%s", diff)
	}
	if after, report, _ := u.Note(key, "2"); report || after != minFinalizePause || len(u.Reported()) != 0 {
		t.Errorf("another parent of that name is reported at once (%v), or synced after %s", report, after)
	}
	if u.Note(key, "2"); u.End(key) || len(u.pending) != 0 {
		t.Error("an unreported wait is taken for reported, or is kept")
	}
}
