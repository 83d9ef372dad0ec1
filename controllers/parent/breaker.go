package parent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
)

const (
	// undoneOften is how many times in undoneWithin a field that was written has
	// to be found changed back before it is left alone.
	undoneOften  = 10
	undoneWithin = time.Minute
	// restAtFirst is how long a child is left alone then; it doubles each time, up to restAtMost.
	restAtFirst = time.Minute
	restAtMost  = time.Hour
)

// breaker notices that somebody undoes what is written to a child, again and
// again, and has the child left alone for a while. A field that the hook itself
// keeps changing is no such thing: then what was written is found as it was.
type breaker struct {
	clock    clock.PassiveClock
	mu       sync.Mutex
	children map[apply.Key]*struggle
}

// struggle is the history of one child.
type struggle struct {
	written map[string]apply.FieldDiff // how fields were last written, by path
	undone  map[string][]time.Time
	rest    time.Duration
	until   time.Time // left alone until then
	last    time.Time
}

// loop is a field that is written and undone.
type loop struct {
	apply.FieldDiff
	rest time.Duration
}

func newBreaker(clock clock.PassiveClock) *breaker {
	return &breaker{clock: clock, children: map[apply.Key]*struggle{}}
}

// resting gives how long a child is still left alone, or zero.
func (b *breaker) resting(key apply.Key) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.children[key]; s != nil {
		return max(0, s.until.Sub(b.clock.Now()))
	}
	return 0
}

// wrote notes that fields of a child were written, and gives the first that has
// been undone too often.
func (b *breaker) wrote(key apply.Key, fields []apply.FieldDiff) *loop {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	b.dropOld(now)
	s := b.children[key]
	if s == nil {
		s = &struggle{written: map[string]apply.FieldDiff{}, undone: map[string][]time.Time{}, rest: restAtFirst}
		b.children[key] = s
	}
	s.last = now
	var tripped *loop
	for _, field := range fields {
		before, known := s.written[field.Path]
		s.written[field.Path] = field
		if !known || !field.Undoes(before) {
			continue
		}
		s.undone[field.Path] = append(recent(s.undone[field.Path], now), now)
		if len(s.undone[field.Path]) >= undoneOften && tripped == nil {
			tripped = &loop{FieldDiff: field, rest: s.rest}
		}
	}
	if tripped != nil {
		s.until, s.rest = now.Add(s.rest), min(2*s.rest, restAtMost)
		clear(s.undone)
	}
	return tripped
}

// near says whether one more time may be one too many.
func (b *breaker) near(key apply.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.children[key]
	if s == nil {
		return false
	}
	for _, times := range s.undone {
		if len(recent(times, b.clock.Now())) >= undoneOften-1 {
			return true
		}
	}
	return false
}

// dropOld forgets children with which there has been no trouble for long.
func (b *breaker) dropOld(now time.Time) {
	for key, s := range b.children {
		if now.Sub(s.last) > 2*restAtMost {
			delete(b.children, key)
		}
	}
}

func recent(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) > undoneWithin {
		times = times[1:]
	}
	return times
}

// worthwhile drops the changes that are known to have no effect, and those of
// children that are left alone, and notes the shortest time until one of them no
// longer is.
func (p *pass) worthwhile(ctx context.Context, changes []apply.Change) []apply.Change {
	return slices.DeleteFunc(changes, func(change apply.Change) bool {
		switch {
		case !rewrites(change):
			return false
		case p.futile.is(change):
			return true
		}
		if err := p.standoffs.lasting(change); err != nil {
			p.unapplied = append(p.unapplied, err)
			return true
		}
		resting := p.breaker.resting(change.Key)
		p.rest = sooner(p.rest, resting)
		if resting == 0 && p.breaker.near(change.Key) {
			// Once it is written, the field is ours, and nothing tells whose it was.
			p.rivals[change.Key] = p.otherWriter(ctx, change)
		}
		return resting > 0
	})
}

func rewrites(change apply.Change) bool {
	return change.Action == apply.ActionUpdate || change.Action == apply.ActionRecreate
}

// watchForLoop tells of a child that is written and undone again and again.
func (p *pass) watchForLoop(change apply.Change) {
	if !rewrites(change) {
		return
	}
	loop := p.breaker.wrote(change.Key, change.Diffs())
	if loop == nil {
		return
	}
	p.env.Metrics.hotLoop(p.config.Definition)
	message := fmt.Sprintf("%s is left alone for %s: its field %s was set to %s %d times within %s, and each time %s set it back, the last time to %s",
		change.Key, loop.rest, loop.Path, loop.To, undoneOften, undoneWithin, p.rivals[change.Key], loop.From)
	p.env.Events.Event(p.parent, corev1.EventTypeWarning, ReasonHotLoop, message)
}

// otherWriter names who else has written the child, by the newest entry of its
// managedFields that is not this host's. They are not cached, so that this takes a request.
func (p *pass) otherWriter(ctx context.Context, change apply.Change) string {
	live, err := p.env.Client.Resource(change.Resource).Namespace(change.Key.Namespace).Get(ctx, change.Key.Name, metav1.GetOptions{})
	if err != nil {
		return "somebody else"
	}
	return newestManager(live, p.config.Managers.Own)
}

// newestManager names who wrote last, but for this host and the definition's own manager.
func newestManager(object *unstructured.Unstructured, own string) string {
	name, newest := "somebody else", time.Time{}
	for _, entry := range object.GetManagedFields() {
		if entry.Manager != ownManager && entry.Manager != own && entry.Time != nil && entry.Time.After(newest) {
			name, newest = entry.Manager, entry.Time.Time
		}
	}
	return name
}
