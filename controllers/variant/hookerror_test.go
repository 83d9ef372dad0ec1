package variant

import (
	"errors"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestHookError(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    *engines.Error
		want   string
		later  bool
	}{
		"Failed": {"A failure has its reason.", &engines.Error{Kind: engines.Failed, Message: "boom"}, "HookFailed: sync hook: boom", false},
		"Later": {
			"A server that asks to be called later has not failed.", &engines.Error{Message: "busy", RetryAfter: time.Second},
			controller.ErrLater.Error() + ": sync hook: busy", true,
		},
		"Backoff": {
			"That calls are held back is reported, because their object has to be corrected.",
			&engines.Error{Kind: engines.Exhausted, Message: "not called until then", RetryAfter: time.Second, Err: engines.ErrBackoff},
			"HookLimitExceeded: sync hook: not called until then", false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := HookError("sync", tc.err)
			if got.Error() != tc.want || errors.Is(got, controller.ErrLater) != tc.later {
				t.Errorf("%s\ngot %v, later %v", tc.reason, got, errors.Is(got, controller.ErrLater))
			}
		})
	}
}
