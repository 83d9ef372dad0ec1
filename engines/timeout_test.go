package engines

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWithTimeout checks that the time by the wall ends the context, and not what is without it, which ends with cancel. A timeout replaces
// the one around it.
func TestWithTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		around, endAround := WithTimeout(t.Context(), time.Second)
		defer endAround()
		ctx, cancel := WithTimeout(around, time.Minute)
		unlimited, limit := TimeoutOf(ctx)
		if limit != time.Minute {
			t.Errorf("the limit is %v", limit)
		}
		time.Sleep(time.Second + time.Millisecond)
		if around.Err() == nil || ctx.Err() != nil {
			t.Errorf("after a second: %v around, %v inside", around.Err(), ctx.Err())
		}
		time.Sleep(time.Minute)
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || unlimited.Err() != nil {
			t.Errorf("after its time: %v, and without it %v", ctx.Err(), unlimited.Err())
		}
		cancel()
		if unlimited.Err() == nil {
			t.Error("the caller has given up")
		}
	})
	if _, limit := TimeoutOf(t.Context()); limit != 0 {
		t.Errorf("a context without a limit has %v", limit)
	}
}
