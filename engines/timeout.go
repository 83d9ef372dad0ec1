package engines

import (
	"context"
	"time"
)

// timeoutKey is the key of a *timeout in a context.
type timeoutKey struct{}

type timeout struct {
	outer context.Context
	limit time.Duration
}

// WithTimeout returns a context for one call or load that may take so long. It ends after that time by the wall, which is right for servers
// and for engines in this process. An engine that runs programs in processes of their own looks at TimeoutOf instead: a wait for such a
// process, or for a processor, is not the program's. A timeout within another one replaces it.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	unlimited, _ := TimeoutOf(ctx)
	outer, cancel := context.WithCancel(unlimited)
	inner, release := context.WithTimeout(context.WithValue(outer, timeoutKey{}, &timeout{outer, limit}), limit)
	return inner, func() {
		cancel()
		release()
	}
}

// TimeoutOf returns the limit that WithTimeout has set, or what is left of a budget if that is less, and the context without it, which ends
// when the caller gives up. The limit of any other context is zero.
func TimeoutOf(ctx context.Context) (unlimited context.Context, limit time.Duration) {
	t, ok := ctx.Value(timeoutKey{}).(*timeout)
	if !ok {
		return ctx, 0
	}
	if b := budgetOf(ctx); b != nil {
		return t.outer, min(t.limit, b.rest())
	}
	return t.outer, t.limit
}
