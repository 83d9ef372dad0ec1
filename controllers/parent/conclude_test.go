package parent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
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
		"Wrote":     {"A pass that wrote children may observe something new.", &pass{writes: passWrites{any: true, children: true}}, false},
		"Backoff":   {"A pass with a child in backoff must be repeated after that.", &pass{due: nextPass{backoff: time.Second}}, false},
		"Expiry":    {"A pass that used an answer that expires must be repeated then.", &pass{due: nextPass{answers: now.Add(time.Second)}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(now)
			p := tc.pass
			p.shared = &shared{
				env:      Environment{Clock: clock},
				memories: memories{pendingWrites: writes.NewPending(clock), passCache: answers.NewCache(lru.New(1<<20), ""), detector: loops.NewDetector(clock)},
			}
			p.key, p.parent = key, parenttest.Object("p")
			if _, err := p.conclude(variant.Desired{}, nil); err != nil {
				t.Fatal(err)
			}
			if _, unchanged := p.passCache.LookupResult(key, p.fingerprint, p.parent); unchanged != tc.want {
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
		p := &pass{
			key:    controller.Key{Name: "p"},
			parent: parenttest.Object("p"),
			shared: &shared{
				env:      Environment{Clock: clock},
				memories: memories{pendingWrites: writes.NewPending(clock), passCache: answers.NewCache(lru.New(1<<20), ""), detector: loops.NewDetector(clock)},
			},
			due: nextPass{answers: clock.Now().Add(left)},
		}
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
	p := &pass{key: key, parent: parenttest.Object("p"), shared: &shared{
		env:      Environment{Clock: clock},
		memories: memories{pendingWrites: writes.NewPending(clock), passCache: answers.NewCache(lru.New(1<<20), ""), detector: loops.NewDetector(clock)},
	}}
	defer p.pendingWrites.Close()
	p.pendingWrites.NoteWritten(p.parent.GetUID(), parenttest.Object("c"), true)
	result, err := p.conclude(variant.Desired{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	remembered, unchanged := p.passCache.LookupResult(key, p.fingerprint, p.parent)
	if !unchanged || remembered.RequeueAfter != 0 || result.RequeueAfter != 0 {
		t.Errorf("remembered: %v, requeued after %s and then every %s, want a remembered pass without requeue",
			unchanged, result.RequeueAfter, remembered.RequeueAfter)
	}
}

// TestConcludeOfFailedPass checks that what one input waits for delays no other.
func TestConcludeOfFailedPass(t *testing.T) {
	now := time.Unix(1000, 0)
	asked := func(after time.Duration) error {
		return fmt.Errorf("input a: %w", variant.HookError("map", &engines.Error{Message: "busy", RetryAfter: after}))
	}
	conflict, boom := fmt.Errorf("%w: a conflict", controller.ErrLater), errors.New("boom")
	cases := map[string]struct {
		reason                            string
		resync, answers, related, backoff time.Duration
		problem, err                      error
		want                              time.Duration
	}{
		"Resync":     {"The other inputs are resynced in time.", 30 * time.Second, 0, 0, 0, asked(15 * time.Minute), nil, 30 * time.Second},
		"Expiry":     {"So are answers renewed.", time.Hour, time.Minute, 0, 0, asked(15 * time.Minute), nil, time.Minute},
		"Related":    {"So is that of the customize hook.", 0, 0, time.Minute, 0, asked(15 * time.Minute), nil, time.Minute},
		"Backoff":    {"So is a child written again.", 0, 0, 0, 3 * time.Second, asked(15 * time.Minute), nil, 3 * time.Second},
		"Asked":      {"The hook may ask for less.", time.Hour, time.Minute, 0, 0, asked(9 * time.Second), nil, 9 * time.Second},
		"AskedAlone": {"Nothing else has a time.", 0, 0, 0, 0, asked(9 * time.Second), nil, 9 * time.Second},
		"Often":      {"It is not called all the time.", 0, time.Millisecond, 0, 0, asked(time.Minute), nil, time.Second},
		"Conflict":   {"The backoff of a conflict is shorter than any resync.", time.Hour, time.Minute, time.Minute, 0, nil, conflict, 0},
		"Lasting":    {"So it is after other errors.", time.Hour, time.Minute, 0, 0, asked(9 * time.Second), boom, 9 * time.Second},
		"LastingToo": {"Nor than the customize hook's answer.", time.Hour, 0, time.Minute, 0, nil, boom, time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(now)
			p := &pass{
				key:    controller.Key{Name: "p"},
				parent: parenttest.Object("p"),
				shared: &shared{
					env:      Environment{Clock: clock},
					memories: memories{pendingWrites: writes.NewPending(clock), passCache: answers.NewCache(lru.New(1<<20), ""), detector: loops.NewDetector(clock)},
				},
				due: nextPass{backoff: tc.backoff},
			}
			if tc.answers > 0 {
				p.due.answers = now.Add(tc.answers)
			}
			if tc.related > 0 {
				p.due.related = now.Add(tc.related)
			}
			desired := variant.Desired{ResyncAfterSeconds: tc.resync.Seconds()}
			if tc.problem != nil {
				desired.Problems = []error{tc.problem}
			}
			result, err := p.conclude(desired, failure.Join(append(desired.Problems, tc.err)))
			if err == nil || result.RequeueAfter != tc.want {
				t.Errorf("%s\nthe next pass is after %s (%v), want %s", tc.reason, result.RequeueAfter, err, tc.want)
			}
		})
	}
}

// TestFailedCallDelaysNoResync checks when a parent whose only hook asked for a pause is synced again.
func TestFailedCallDelaysNoResync(t *testing.T) {
	asked := variant.HookError("sync", &engines.Error{Message: "busy", RetryAfter: 15 * time.Minute})
	for name, tc := range map[string]struct {
		period, want time.Duration
		err          error
	}{
		"NoResync":   {0, 15 * time.Minute, asked},
		"Resync":     {time.Minute, jitter("", time.Minute), asked},
		"TooOften":   {time.Millisecond, time.Second, asked},
		"NotAsked":   {time.Minute, 0, errors.New("boom")},
		"RareResync": {time.Hour, 15 * time.Minute, asked},
	} {
		p := &pass{parent: parenttest.Object("p"), shared: &shared{config: Config{ResyncPeriod: tc.period}}}
		p.parent.SetUID("")
		if result, err := p.retry(tc.err, true); err == nil || result.RequeueAfter != tc.want {
			t.Errorf("%s: the next pass is after %s (%v), want %s", name, result.RequeueAfter, err, tc.want)
		}
	}
}

// TestShortResyncs has a parent resynced as soon as its hook asks for, for a minute.
func TestShortResyncs(t *testing.T) {
	cases := map[string]struct {
		reason      string
		after       time.Duration
		least, most int
	}{
		"Tenth":  {"Short ones pass at first, and then come once in a second.", 100 * time.Millisecond, 60, 60 + shortResyncs},
		"Least":  {"Even the shortest.", time.Millisecond, 60, 60 + shortResyncs},
		"Nearly": {"What is nearly a second is not slowed down before the burst is over.", 900 * time.Millisecond, 60, 67},
		"Second": {"A second is not short.", time.Second, 60, 60},
		"Long":   {"Nor is what is longer.", 2500 * time.Millisecond, 24, 24},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			p := &pass{key: controller.Key{Name: "p"}, shared: &shared{memories: memories{resyncs: loops.NewRateLimiter[controller.Key](clock, shortResyncs, resyncInterval)}}}
			syncs, soon := 0, 0
			for clock.Now().Before(time.Unix(60, 0)) {
				wait := p.limitResync(tc.after)
				if wait == tc.after && syncs == soon {
					soon++
				}
				if syncs++; wait < tc.after || wait > max(tc.after, resyncInterval) {
					t.Fatalf("%s\nresync %d comes after %s", tc.reason, syncs, wait)
				}
				clock.SetTime(clock.Now().Add(wait))
			}
			if syncs < tc.least || syncs > tc.most || soon < min(shortResyncs, syncs) {
				t.Errorf("%s\n%d syncs in a minute, the first %d as asked for, want %d to %d", tc.reason, syncs, soon, tc.least, tc.most)
			}
			if wait := (&pass{key: controller.Key{Name: "other"}, shared: p.shared}).limitResync(tc.after); wait != tc.after {
				t.Errorf("another parent is resynced after %s", wait)
			}
		})
	}
}
