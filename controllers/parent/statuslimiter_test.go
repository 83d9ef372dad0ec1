package parent

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestPace(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	p := newStatusLimiter(clock)
	restless, calm := controller.Key{Name: "restless"}, controller.Key{Name: "calm"}
	for n := range statusWrites {
		if wait, _ := p.wait(restless, "r1", 1); wait != 0 {
			t.Fatalf("write %d has to wait %s", n+1, wait)
		}
		p.wrote(restless, "r1", 1)
	}
	clock.Step(20 * time.Second)
	if wait, first := p.wait(restless, "r1", 1); wait != 40*time.Second || !first {
		t.Errorf("one write more waits %s (first: %v), want 40s and to be the first", wait, first)
	}
	if _, first := p.wait(restless, "r1", 1); first {
		t.Error("it is told twice")
	}
	if wait, _ := p.wait(calm, "r1", 1); wait != 0 {
		t.Errorf("another parent has to wait %s", wait)
	}
	clock.Step(40 * time.Second)
	if wait, _ := p.wait(restless, "r1", 1); wait != 0 {
		t.Errorf("still has to wait %s", wait)
	}
	p.forget(restless)
	p.forget(calm)
	if len(p.windows) != 0 {
		t.Error("parents that are gone are remembered")
	}
}

func TestPaceCountsAcceptedWrites(t *testing.T) {
	p := newStatusLimiter(clocktesting.NewFakeClock(time.Unix(0, 0)))
	key := controller.Key{Name: "p"}
	for n := range 2 * statusWrites {
		if wait, _ := p.wait(key, "r1", 1); wait != 0 {
			t.Fatalf("after %d writes that were refused the next waits %s", n, wait)
		}
	}
}

func TestPaceAndEdits(t *testing.T) {
	p := newStatusLimiter(clocktesting.NewFakeClock(time.Unix(0, 0)))
	key := controller.Key{Name: "p"}
	writes := func(given uint64) (written int) {
		for ; written < 10*statusWrites; written++ {
			if wait, _ := p.wait(key, "r1", given); wait != 0 {
				break
			}
			p.wrote(key, "r1", given)
		}
		return written
	}
	for edit := range uint64(1 + fickleAfter) {
		if got := writes(edit); got != statusWrites {
			t.Errorf("%d writes after edit %d, want %d", got, edit, statusWrites)
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
	for revision := range 5 * statusWrites {
		name := fmt.Sprint(revision)
		if wait, _ := p.wait(key, name, uint64(revision)); wait != 0 {
			t.Fatalf("the status of revision %s has to wait %s", name, wait)
		}
		p.wrote(key, name, uint64(revision))
	}
}
