package parent

import (
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// failure is an error with a reason, with which its message begins, and a kind of retry.
type failure struct {
	reason string
	retry  controller.Retry
	err    error
}

// Error returns "Reason: message".
func (f *failure) Error() string {
	return f.reason + ": " + f.err.Error()
}

// Unwrap returns the error without the reason.
func (f *failure) Unwrap() error { return f.err }

// moreErrors is the number of errors of a pass that are not reported one by one.
type moreErrors int

// Error returns how many there are.
func (n moreErrors) Error() string { return fmt.Sprintf("and %d more", int(n)) }

// applyFailed returns the failure of a write of the parent's own metadata or status.
func applyFailed(what string, err error) error {
	return &failure{reason: variant.ReasonApplyFailed, retry: retryOfOne(err, false), err: fmt.Errorf("%s: %w", what, err)}
}

// isRefused reports whether the API server will not have a write and, unless something changes, never will.
func isRefused(err error) bool { return err != nil && apply.Classify(err) == apply.FailureInvalid }

// withoutFinalizerAnyway returns the error of a refused write of the parent with the news that the finalizer goes all the same.
func withoutFinalizerAnyway(err error) error {
	const text = "%w: the object is finalized, and is let go all the same: mend the answer of the finalize hook if that should be stored"
	var f *failure
	if !errors.As(err, &f) {
		return fmt.Errorf(text, err)
	}
	return &failure{reason: f.reason, retry: f.retry, err: fmt.Errorf(text, f.err)}
}

// retryOf returns how to retry a pass that failed with err. Of several errors the one with the
// shortest delay decides. repeatable reports whether scripts depended only on their requests.
func retryOf(err error, repeatable bool) controller.Retry {
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

// retryOfOne is retryOf for a single error.
func retryOfOne(err error, repeatable bool) controller.Retry {
	var known *failure
	var hook *engines.Error
	switch {
	case errors.As(err, &known):
		return known.retry
	case variant.IsLasting(err):
		return controller.Deterministic
	case errors.As(err, &hook):
		return retryOfHook(hook, repeatable)
	case errors.Is(err, controller.ErrLater):
		return controller.Waiting
	case isAPIError(err):
		return retryOfWrite(apply.Classify(err))
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

// retryOfWrite returns how to retry a failed write.
func retryOfWrite(f apply.Failure) controller.Retry {
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
