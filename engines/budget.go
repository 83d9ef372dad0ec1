package engines

import (
	"context"
	"sync"
	"time"
)

// budgetKey is the key of a *budget in a context.
type budgetKey struct{}

// budget is the time that many calls and loads may take together, with what is done between them.
type budget struct {
	over func()

	mu sync.Mutex
	// left is what was left at since, and own what programs have had for themselves since then. calls are those that a pool of workers has:
	// own counts while there are any, and otherwise the wall, for which timer runs.
	left, own time.Duration
	since     time.Time
	calls     int
	timer     *time.Timer
}

// WithBudget returns a context for many calls and loads, which ends with the cause late once they have taken limit together. What is done
// between them counts by the wall. Of a call to an engine that runs programs in processes of their own only the program's own time counts,
// as with WithTimeout.
func WithBudget(ctx context.Context, limit time.Duration, late error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	b := &budget{over: func() { cancel(late) }, left: limit, since: time.Now()}
	b.timer = time.AfterFunc(limit, b.over)
	return context.WithValue(ctx, budgetKey{}, b), func() {
		b.timer.Stop()
		cancel(nil)
	}
}

func budgetOf(ctx context.Context) *budget {
	b, _ := ctx.Value(budgetKey{}).(*budget)
	return b
}

// PauseBudget has the wall not count for the budget of ctx, if it has one, until the returned function is called: a pool of workers has
// the call, and spends what the program has for itself.
func PauseBudget(ctx context.Context) (resume func()) {
	b := budgetOf(ctx)
	if b == nil {
		return func() {}
	}
	b.change(1)
	return func() { b.change(-1) }
}

// SpendBudget takes what a program has had for itself from the budget of ctx, if it has one. What several have at the same time counts no
// more than the wall.
func SpendBudget(ctx context.Context, own time.Duration) {
	if b := budgetOf(ctx); b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.own += own; b.left <= b.used() {
			b.over()
		}
	}
}

// change notes that a pool has so many calls more.
func (b *budget) change(calls int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, used := b.calls, b.used()
	if b.calls += calls; before > 0 && b.calls > 0 {
		return
	}
	b.left, b.own, b.since = b.left-used, 0, time.Now()
	if b.timer.Stop(); b.calls == 0 {
		b.timer.Reset(b.left)
	}
}

// used returns what has been used since b.since. The caller holds the lock.
func (b *budget) used() time.Duration {
	passed := time.Since(b.since)
	if b.calls > 0 {
		return min(passed, b.own)
	}
	return passed
}

// rest returns what is left, and more than nothing: zero is no limit.
func (b *budget) rest() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.left-b.used(), 1)
}
