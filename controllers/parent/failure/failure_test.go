package failure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestRetryOf(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	boom := errors.New("boom")
	at := engines.Location{File: "sync.js", Line: 1}
	hook := func(e engines.Error) error { return variant.HookError("sync", &e) }
	invalid := fmt.Errorf("ApplyFailed: status: %w", apierrors.NewForbidden(pods, "a", boom))
	cases := map[string]struct {
		reason     string
		err        error
		repeatable bool
		want       controller.Retry
	}{
		"None":        {"", nil, true, controller.Unknown},
		"Other":       {"the parent is wrong", boom, true, controller.Unknown},
		"Threw":       {"a script throws again for the same request", hook(engines.Error{Location: at}), true, controller.Deterministic},
		"ThrewByTime": {"a script that depends on time may succeed", hook(engines.Error{Location: at}), false, controller.HookFailed},
		"Crashed":     {"an error without a location is not the script's", hook(engines.Error{}), true, controller.HookFailed},
		"OfAnInput": {
			"a map adds the input", fmt.Errorf("input a: %w", hook(engines.Error{Location: at})), true, controller.Deterministic,
		},
		"NotLoaded": {"only an edit helps", hook(engines.Error{Kind: engines.Invalid}), false, controller.Deterministic},
		"BadAnswer": {"a script repeats its answer", hook(engines.Error{Kind: engines.BadResponse}), true, controller.Deterministic},
		"BadWebhook": {
			"a webhook may answer differently", hook(engines.Error{Kind: engines.BadResponse}), false, controller.BadResponse,
		},
		"TimedOut":  {"the machine may be busy", hook(engines.Error{Kind: engines.Timeout}), true, controller.TimedOut},
		"Busy":      {"the host has no time for it", hook(engines.Error{Kind: engines.Busy}), true, controller.Waiting},
		"Exhausted": {"a limit is exceeded again", hook(engines.Error{Kind: engines.Exhausted}), true, controller.Exhausted},
		"Invalid":   {"a policy may change", invalid, true, controller.Invalid},
		"Conflict": {
			"the event is on its way", fmt.Errorf("%w: %w", controller.ErrLater, apierrors.NewConflict(pods, "a", boom)), true,
			controller.Conflict,
		},
		"Later": {
			"the condition is temporary", fmt.Errorf("%w: pods are being listed", controller.ErrLater), true, controller.Waiting,
		},
		"Unavailable": {
			"the server is busy", fmt.Errorf("status: %w", apierrors.NewServiceUnavailable("x")), true, controller.Unavailable,
		},
		"Unreachable": {
			"the server is unreachable", fmt.Errorf("status: %w", &url.Error{Op: "Put", URL: "https://x", Err: boom}), true,
			controller.Unavailable,
		},
		"NoTime": {
			"the server is slow", &url.Error{Op: "Put", URL: "https://x", Err: context.DeadlineExceeded}, true, controller.Unavailable,
		},
		"FieldConflict": {
			"the failure has its own retry", &Error{Retry: controller.FieldConflict, Err: boom}, true, controller.FieldConflict,
		},
		"Several": {
			"the shortest delay counts",
			errors.Join(invalid, errors.Join(boom, &Error{Retry: controller.NamespaceMissing, Err: boom})), true, controller.Invalid,
		},
		"MoreErrors": {
			"a count is no failure", errors.Join(hook(engines.Error{Location: at}), moreErrors(7)), true, controller.Deterministic,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := RetryOf(tc.err, tc.repeatable); got != tc.want {
				t.Errorf("%s: retry %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestFailureMessage(t *testing.T) {
	boom := errors.New("boom")
	failed := &Error{Reason: variant.ReasonApplyFailed, Err: boom}
	if got := failed.Error(); got != "ApplyFailed: boom" || !errors.Is(failed, boom) {
		t.Errorf("got %q", got)
	}
}

func TestRetryAfter(t *testing.T) {
	after := func(seconds int) error {
		return variant.HookError("map", &engines.Error{Message: "busy", RetryAfter: time.Duration(seconds) * time.Second})
	}
	err := errors.Join(errors.New("boom"), fmt.Errorf("input a: %w", after(9)), fmt.Errorf("input b: %w", after(5)))
	if got := RetryAfter(err); got != 5*time.Second {
		t.Errorf("got %s, want the shortest delay", got)
	}
	if got := RetryAfter(errors.New("boom")); got != 0 {
		t.Errorf("got %s, want none", got)
	}
}

// TestRetryAfterBounds checks the delays that webhooks, scripts and workers can ask for.
func TestRetryAfterBounds(t *testing.T) {
	cases := map[string]struct {
		reason string
		asked  time.Duration
		later  bool
		want   time.Duration
	}{
		"Usual":    {"the server knows best", 9 * time.Second, true, 9 * time.Second},
		"Tiny":     {"a worker would have its script called without a pause", 1, true, time.Second},
		"Longest":  {"so long a parent may wait", 15 * time.Minute, true, 15 * time.Minute},
		"Day":      {"nobody would notice that the server is back", 24 * time.Hour, true, 15 * time.Minute},
		"Ages":     {"a worker may send any number", math.MaxInt64, true, 15 * time.Minute},
		"Negative": {"no time is asked for: the usual backoff", math.MinInt64, false, 0},
		"None":     {"the usual backoff", 0, false, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := variant.HookError("sync", &engines.Error{Message: "busy", RetryAfter: tc.asked})
			if got := RetryAfter(err); got != tc.want || errors.Is(err, controller.ErrLater) != tc.later {
				t.Errorf("%s: got %s (%v), want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}
