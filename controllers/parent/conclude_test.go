package parent

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestConcludeRemembersIdlePasses(t *testing.T) {
	now := time.Unix(1000, 0)
	key := controller.Key{Name: "p"}
	cases := map[string]struct {
		reason string
		pass   *pass
		want   bool
	}{
		"Quiet":   {"A pass that wrote nothing need not be made again.", &pass{}, true},
		"Wrote":   {"One that wrote may see something new.", &pass{wrote: true}, false},
		"Resting": {"One that left a child alone has to come back to it.", &pass{shortestBackoff: time.Second}, false},
		"Renewed": {"One that used an answer that expires has to ask again then.", &pass{answersUntil: now.Add(time.Second)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(now)
			p := tc.pass
			p.shared = &shared{env: Environment{Clock: clock}, pendingWrites: newPendingWrites(clock), passCache: newPassCache()}
			p.key, p.parent = key, object("p")
			if _, err := p.conclude(variant.Desired{}, nil); err != nil {
				t.Fatal(err)
			}
			if _, idle := p.passCache.lookupResult(key, p.fingerprint); idle != tc.want {
				t.Errorf("remembered as idle: %v, want %v: %s", idle, tc.want, tc.reason)
			}
		})
	}
}

// What was created and not shown yet is no reason to come back to an idle parent again and again.
func TestConcludeDoesNotRememberWhatIsUnconfirmed(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	key := controller.Key{Name: "p"}
	p := &pass{key: key, parent: object("p"), shared: &shared{env: Environment{Clock: clock}, pendingWrites: newPendingWrites(clock), passCache: newPassCache()}}
	defer p.pendingWrites.close()
	p.pendingWrites.noteWritten(p.parent.GetUID(), object("c"), true)
	result, err := p.conclude(variant.Desired{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	remembered, idle := p.passCache.lookupResult(key, p.fingerprint)
	if !idle || remembered.RequeueAfter != 0 || result.RequeueAfter != 0 {
		t.Errorf("idle: %v, comes back after %s and then every %s, want an idle pass that never does", idle, result.RequeueAfter, remembered.RequeueAfter)
	}
}
