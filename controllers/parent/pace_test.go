package parent

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestPace(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	p := newPace(clock)
	restless, calm := controller.Key{Name: "restless"}, controller.Key{Name: "calm"}
	for n := range statusWrites {
		if wait, _ := p.wait(restless, "1"); wait != 0 {
			t.Fatalf("write %d has to wait %s", n+1, wait)
		}
	}
	clock.SetTime(clock.Now().Add(20 * time.Second))
	if wait, first := p.wait(restless, "1"); wait != 40*time.Second || !first {
		t.Errorf("one write more waits %s (first: %v), want 40s and to be the first", wait, first)
	}
	if _, first := p.wait(restless, "1"); first {
		t.Error("it is told twice")
	}
	if wait, _ := p.wait(calm, "1"); wait != 0 {
		t.Errorf("another parent has to wait %s", wait)
	}
	clock.SetTime(clock.Now().Add(40 * time.Second))
	if wait, _ := p.wait(restless, "1"); wait != 0 {
		t.Errorf("still has to wait %s", wait)
	}
	for range 2 * statusWrites {
		p.wait(restless, "1")
	}
	if wait, _ := p.wait(restless, "2"); wait != 0 {
		t.Errorf("an edited script has to wait %s for what the one before did", wait)
	}
	p.forget(restless)
	p.forget(calm)
	if len(p.windows) != 0 {
		t.Error("parents that are gone are remembered")
	}
}
