package parent

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/lru"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestConcludeRemembersUnchangedPasses(t *testing.T) {
	now := time.Unix(1000, 0)
	key := controller.Key{Name: "p"}
	cases := map[string]struct {
		reason string
		pass   *pass
		want   bool
	}{
		"Unchanged": {"A pass that wrote nothing need not be repeated.", &pass{}, true},
		"Wrote":     {"A pass that wrote may observe something new.", &pass{wrote: true}, false},
		"Backoff":   {"A pass with a child in backoff must be repeated after that.", &pass{shortestBackoff: time.Second}, false},
		"Expiry":    {"A pass that used an answer that expires must be repeated then.", &pass{answersUntil: now.Add(time.Second)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(now)
			p := tc.pass
			p.shared = &shared{env: Environment{Clock: clock}, pendingWrites: newPendingWrites(clock), passCache: newPassCache(lru.New(1<<20), "")}
			p.key, p.parent = key, object("p")
			if _, err := p.conclude(variant.Desired{}, nil); err != nil {
				t.Fatal(err)
			}
			if _, unchanged := p.passCache.lookupResult(key, p.fingerprint); unchanged != tc.want {
				t.Errorf("remembered: %v, want %v: %s", unchanged, tc.want, tc.reason)
			}
		})
	}
}

// TestConcludeGathersExpiries checks that answers which expire one shortly after the other cost no pass each.
func TestConcludeGathersExpiries(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	for left, want := range map[time.Duration]time.Duration{
		-time.Second: 100 * time.Millisecond, time.Microsecond: 100 * time.Millisecond, time.Minute: time.Minute,
	} {
		p := &pass{key: controller.Key{Name: "p"}, parent: object("p"), answersUntil: clock.Now().Add(left), shared: &shared{
			env: Environment{Clock: clock}, pendingWrites: newPendingWrites(clock), passCache: newPassCache(lru.New(1<<20), ""),
		}}
		if result, err := p.conclude(variant.Desired{}, nil); err != nil || result.RequeueAfter != want {
			t.Errorf("the next pass is after %s (%v), want %s", result.RequeueAfter, err, want)
		}
	}
}

// TestConcludeWithUnconfirmedCreation checks that a creation that no event has shown yet
// causes no repeated syncs of an unchanged parent.
func TestConcludeWithUnconfirmedCreation(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	key := controller.Key{Name: "p"}
	p := &pass{key: key, parent: object("p"), shared: &shared{
		env: Environment{Clock: clock}, pendingWrites: newPendingWrites(clock), passCache: newPassCache(lru.New(1<<20), ""),
	}}
	defer p.pendingWrites.close()
	p.pendingWrites.noteWritten(p.parent.GetUID(), object("c"), true)
	result, err := p.conclude(variant.Desired{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	remembered, unchanged := p.passCache.lookupResult(key, p.fingerprint)
	if !unchanged || remembered.RequeueAfter != 0 || result.RequeueAfter != 0 {
		t.Errorf("remembered: %v, requeued after %s and then every %s, want a remembered pass without requeue",
			unchanged, result.RequeueAfter, remembered.RequeueAfter)
	}
}
