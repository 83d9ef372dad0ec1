// Package failure has the errors of passes: with which reason they are reported, and how the pass
// is retried.
package failure

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Error is an error with a reason, with which its message begins, and a kind of retry.
type Error struct {
	Reason string
	Retry  controller.Retry
	Err    error
}

// Error returns "Reason: message".
func (f *Error) Error() string {
	return f.Reason + ": " + f.Err.Error()
}

// Unwrap returns the error without the reason.
func (f *Error) Unwrap() error { return f.Err }

// moreErrors is the number of errors of a pass that are not reported one by one.
type moreErrors int

// Error returns how many there are.
func (n moreErrors) Error() string { return fmt.Sprintf("and %d more", int(n)) }

// ApplyFailed returns the failure of a write of the parent's own metadata or status.
func ApplyFailed(what string, err error) error {
	return &Error{Reason: variant.ReasonApplyFailed, Retry: retryOfOne(err, false), Err: fmt.Errorf("%s: %w", what, err)}
}

// IsRefused reports whether the API server will not have a write and, unless something changes, never will.
func IsRefused(err error) bool { return err != nil && apply.Classify(err) == apply.FailureInvalid }

// RetryOf returns how to retry a pass that failed with err. Of several errors the one with the
// shortest delay decides. repeatable reports whether scripts depended only on their requests.
func RetryOf(err error, repeatable bool) controller.Retry {
	retry, known := controller.Unknown, false
	eachError(err, func(err error) {
		one := retryOfOne(err, repeatable)
		if known {
			one = controller.Sooner(retry, one)
		}
		retry, known = one, true
	})
	return retry
}

// eachError calls f for each of the errors that are joined in err.
func eachError(err error, f func(error)) {
	joined, ok := err.(interface{ Unwrap() []error })
	if _, counted := err.(moreErrors); counted || err == nil {
		return
	}
	if !ok {
		f(err)
		return
	}
	for _, err := range joined.Unwrap() {
		eachError(err, f)
	}
}

// retryOfOne is RetryOf for a single error.
func retryOfOne(err error, repeatable bool) controller.Retry {
	var known *Error
	var hook *engines.Error
	switch {
	case errors.As(err, &known):
		return known.Retry
	case variant.IsLasting(err):
		return controller.Deterministic
	case errors.As(err, &hook):
		return retryOfHook(hook, repeatable)
	case errors.Is(err, controller.ErrLater):
		return controller.Waiting
	case isAPIError(err):
		return RetryOfWrite(apply.Classify(err))
	default:
		return controller.Unknown
	}
}

// isAPIError reports whether err is an answer of the API server, or shows that it could not be
// reached.
func isAPIError(err error) bool {
	var status apierrors.APIStatus
	var unreachable *url.Error
	return errors.As(err, &status) || errors.As(err, &unreachable)
}

// retryOfHook returns how to retry a failed hook. An error with a location was thrown by a
// script, which throws again for the same request. Other failures are of the runtime.
func retryOfHook(err *engines.Error, repeatable bool) controller.Retry {
	switch err.Kind {
	case engines.Invalid:
		return controller.Deterministic
	case engines.Busy:
		return controller.Waiting
	case engines.Timeout:
		return controller.TimedOut
	case engines.Exhausted:
		return controller.Exhausted
	case engines.BadResponse:
		if repeatable {
			return controller.Deterministic
		}
		return controller.BadResponse
	default:
		if repeatable && err.Location.File != "" {
			return controller.Deterministic
		}
		return controller.HookFailed
	}
}

// RetryOfWrite returns how to retry a failed write.
func RetryOfWrite(f apply.Failure) controller.Retry {
	switch f {
	case apply.FailureConflict:
		return controller.Conflict
	case apply.FailureAlreadyExists:
		return controller.AlreadyExists
	case apply.FailureFieldConflict:
		return controller.FieldConflict
	case apply.FailureNamespaceMissing:
		return controller.NamespaceMissing
	case apply.FailureInvalid:
		return controller.Invalid
	default:
		return controller.Unavailable
	}
}

// Join returns one error for several. It is ErrLater only if all of them are.
func Join(errs []error) error {
	var lasting []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, controller.ErrLater) {
			lasting = append(lasting, err)
		}
	}
	if len(lasting) > maxErrors {
		lasting = append(lasting[:maxErrors:maxErrors], moreErrors(len(lasting)-maxErrors))
	}
	if len(lasting) > 0 {
		return errors.Join(lasting...)
	}
	return errors.Join(errs...)
}

// maxErrors is how many errors of one pass are reported.
const maxErrors = 5

// MinRetryAfter and maxRetryAfter bound the delay that a failed server or script asked for. Scripts
// run in workers, whose word is not trusted: less would be a hot loop without backoff, and more a
// parent that is given up.
const (
	MinRetryAfter = time.Second
	maxRetryAfter = 15 * time.Minute
)

// RetryAfter returns the shortest delay that a failed hook asked for, within the bounds, or zero.
func RetryAfter(err error) (after time.Duration) {
	eachError(err, func(err error) {
		var e *engines.Error
		if errors.As(err, &e) && e.RetryAfter > 0 {
			after = variant.Earlier(after, min(max(e.RetryAfter, MinRetryAfter), maxRetryAfter))
		}
	})
	return after
}

// IsBusy reports whether a sync ended early because the host is busy, which is no failure of the parent however long it lasts.
func IsBusy(err error) bool {
	return errors.Is(err, controller.ErrLater) && errors.Is(err, engines.ErrNoWorker)
}
