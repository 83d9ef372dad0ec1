package parent

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestStatusLimiter(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	p := newStatusLimiter(clock)
	looping, calm := controller.Key{Name: "looping"}, controller.Key{Name: "calm"}
	for n := range maxStatusWrites {
		if wait, _ := p.delay(looping, "r1", 1); wait != 0 {
			t.Fatalf("write %d has to wait %s", n+1, wait)
		}
		p.countWrite(looping, "r1", 1)
	}
	clock.Step(20 * time.Second)
	if wait, first := p.delay(looping, "r1", 1); wait != 40*time.Second || !first {
		t.Errorf("one write more waits %s (first: %v), want 40s and to be the first", wait, first)
	}
	if _, first := p.delay(looping, "r1", 1); first {
		t.Error("the delay is reported twice")
	}
	if wait, _ := p.delay(calm, "r1", 1); wait != 0 {
		t.Errorf("another parent has to wait %s", wait)
	}
	clock.Step(40 * time.Second)
	if wait, _ := p.delay(looping, "r1", 1); wait != 0 {
		t.Errorf("still has to wait %s", wait)
	}
	p.forget(looping)
	if n := p.windows.len(); n > 1 {
		t.Errorf("there are %d windows, want that of the other parent at most", n)
	}
	clock.Step(2 * statusWindow)
	_, _ = p.delay(looping, "r1", 1)
	if n := p.windows.len(); n != 1 {
		t.Errorf("there are %d windows after minutes, want that of the parent that writes", n)
	}
}

func TestStatusLimiterCountsAcceptedWrites(t *testing.T) {
	p := newStatusLimiter(clocktesting.NewFakeClock(time.Unix(0, 0)))
	key := controller.Key{Name: "p"}
	for n := range 2 * maxStatusWrites {
		if wait, _ := p.delay(key, "r1", 1); wait != 0 {
			t.Fatalf("after %d rejected writes the next waits %s", n, wait)
		}
	}
}

func TestStatusLimiterAndEdits(t *testing.T) {
	p := newStatusLimiter(clocktesting.NewFakeClock(time.Unix(0, 0)))
	key := controller.Key{Name: "p"}
	writes := func(specHash uint64) (written int) {
		for ; written < 10*maxStatusWrites; written++ {
			if wait, _ := p.delay(key, "r1", specHash); wait != 0 {
				break
			}
			p.countWrite(key, "r1", specHash)
		}
		return written
	}
	for edit := range uint64(1 + volatileAfter) {
		if got := writes(edit); got != maxStatusWrites {
			t.Errorf("%d writes after edit %d, want %d", got, edit, maxStatusWrites)
		}
	}
	if got := writes(1000); got != 0 {
		t.Errorf("%d writes of a parent that is edited all the time, want none before the minute is over", got)
	}
}

// TestPaceAndRevisions writes with one revision of the scripts after another.
func TestPaceAndRevisions(t *testing.T) {
	p := newStatusLimiter(clocktesting.NewFakeClock(time.Unix(0, 0)))
	key := controller.Key{Name: "p"}
	for revision := range 5 * maxStatusWrites {
		name := fmt.Sprint(revision)
		if wait, _ := p.delay(key, name, uint64(revision)); wait != 0 {
			t.Fatalf("the status of revision %s has to wait %s", name, wait)
		}
		p.countWrite(key, name, uint64(revision))
	}
}
