package engines

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestBudget has work with ten seconds for all, of which a pool of workers does a part.
func TestBudget(t *testing.T) {
	errUsedUp := errors.New("used up")
	const second = time.Second
	call := func(ctx context.Context, waits, own time.Duration) {
		defer PauseBudget(ctx)()
		time.Sleep(waits)
		SpendBudget(ctx, own)
	}
	cases := map[string]struct {
		reason string
		work   func(context.Context)
		left   time.Duration
	}{
		"between calls":     {"the wall counts", func(context.Context) { time.Sleep(9 * second) }, second},
		"a call that waits": {"its own time counts", func(ctx context.Context) { call(ctx, time.Hour, 4*second) }, 6 * second},
		"both": {"they add up", func(ctx context.Context) {
			for range 3 {
				time.Sleep(second)
				call(ctx, time.Minute, 2*second)
			}
		}, second},
		"all of it": {"it ends with the call that uses it up", func(ctx context.Context) { call(ctx, time.Hour, 10*second) }, 0},
		"too slow":  {"it ends by the wall", func(context.Context) { time.Sleep(10 * second) }, 0},
		"at once": {"what two compute at the same time takes no longer than one", func(ctx context.Context) {
			defer PauseBudget(ctx)()
			time.Sleep(6 * second)
			SpendBudget(ctx, 6*second)
			SpendBudget(ctx, 6*second)
		}, 4 * second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := WithBudget(t.Context(), 10*second, errUsedUp)
				defer cancel()
				c.work(ctx)
				synctest.Wait()
				_, left := TimeoutOf(first(WithTimeout(ctx, time.Hour)))
				if over := context.Cause(ctx) != nil; over != (c.left == 0) || !over && left != c.left {
					t.Errorf("%s: %v is left (%v), want %v", c.reason, left, context.Cause(ctx), c.left)
				}
			})
		})
	}
}

// TestNoBudget checks that calls need none, and that the time of one that is given up is not over later.
func TestNoBudget(t *testing.T) {
	PauseBudget(t.Context())()
	SpendBudget(t.Context(), time.Hour)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithBudget(t.Context(), time.Second, errors.New("used up"))
		cancel()
		time.Sleep(time.Minute)
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			t.Errorf("it ended with %v", cause)
		}
	})
}

func first(ctx context.Context, _ context.CancelFunc) context.Context { return ctx }
