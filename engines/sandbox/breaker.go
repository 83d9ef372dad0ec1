package sandbox

import (
	"fmt"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	// killsToPark is how many workers in a row a program may cost before it is parked.
	killsToPark = 3
	// firstPark is how long it is parked then; each further kill doubles it, up to longestPark.
	firstPark, longestPark = time.Minute, 5 * time.Minute
	// remembered is how long a program that nobody calls any more stays known.
	remembered = time.Hour
)

// breaker parks programs that cost one worker after another. An edit is a new program.
type breaker struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]*record
}

// record is what is known of a program that has cost a worker, and has not answered since.
type record struct {
	kills  int
	last   *engines.Error
	at     time.Time
	until  time.Time
	parked time.Duration
	// trying says that the time is over, and one call is finding out.
	trying bool
}

func newBreaker(now func() time.Time) *breaker {
	return &breaker{now: now, known: map[string]*record{}}
}

// enter gives the error of a call to a program that is parked. Otherwise the call
// may go on, and left is to be told how it ended.
func (b *breaker) enter(program string) *engines.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.known[program]
	if r == nil || r.kills < killsToPark {
		return nil
	}
	if b.now().Before(r.until) || r.trying {
		return r.refusal()
	}
	r.trying = true
	return nil
}

// parked gives the error of all calls to a program at present, or nil.
func (b *breaker) parked(program string) *engines.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.known[program]; r != nil && r.kills >= killsToPark && b.now().Before(r.until) {
		return r.refusal()
	}
	return nil
}

func (r *record) refusal() *engines.Error {
	return &engines.Error{Kind: r.last.Kind, Location: r.last.Location, Message: fmt.Sprintf(
		"not called until %s, because it has cost %d script workers in a row: %s: correct the script, which is then called at once",
		r.until.UTC().Format(time.TimeOnly+" MST"), r.kills, r.last.Message)}
}

// outcome is what a call was to the worker it ran in.
type outcome int

const (
	// untold says nothing about the program: the call did not get to run, or was given up.
	untold outcome = iota
	// answered says that the worker is alive, whatever it answered.
	answered
	// fatal says that the program cost the worker.
	fatal
)

// left notes how a call ended, with the error if it was fatal.
func (b *breaker) left(program string, o outcome, err *engines.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.known[program]
	switch {
	case o == fatal:
		b.killed(program, err)
	case r == nil:
	case o == answered:
		delete(b.known, program)
	default:
		r.trying = false
	}
}

func (b *breaker) killed(program string, err *engines.Error) {
	r := b.known[program]
	if r == nil {
		b.prune()
		r = &record{}
		b.known[program] = r
	}
	r.kills++
	r.last, r.at, r.trying = err, b.now(), false
	if r.kills >= killsToPark {
		r.parked = min(max(firstPark, 2*r.parked), longestPark)
		r.until = r.at.Add(r.parked)
	}
}

// prune forgets programs that nobody has called for long: older revisions, most of them.
func (b *breaker) prune() {
	for program, r := range b.known {
		if b.now().Sub(r.at) > remembered {
			delete(b.known, program)
		}
	}
}
