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

// failure is an error of a known kind: what its message begins with, unless nobody is
// told, and how the pass is made again.
type failure struct {
	reason string
	retry  controller.Retry
	err    error
}

// Error gives "Reason: message".
func (f *failure) Error() string {
	return f.reason + ": " + f.err.Error()
}

// Unwrap gives the message without the reason.
func (f *failure) Unwrap() error { return f.err }

// untold is how many errors of a pass are not told one by one.
type moreErrors int

// Error says how many they are.
func (n moreErrors) Error() string { return fmt.Sprintf("and %d more", int(n)) }

// applyFailed returns the failure of a write of the parent's own metadata or status.
func applyFailed(what string, err error) error {
	return &failure{reason: variant.ReasonApplyFailed, retry: retryOfOne(err, false), err: fmt.Errorf("%s: %w", what, err)}
}

// retryOf returns how a pass that failed with err is made again: of several errors, by
// the one that is tried again soonest. repeatable says that scripts have gone by what
// they were given and by nothing else.
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

// leaves calls f for each of the errors that were joined to err.
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

// retryOfOne is retryOf for an error that is not several.
func retryOfOne(err error, repeatable bool) controller.Retry {
	var known *failure
	var hook *engines.Error
	switch {
	case errors.As(err, &known):
		return known.retry
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

// isAnswer reports whether err is the API server's, or says that it could not be asked.
func isAPIError(err error) bool {
	var status apierrors.APIStatus
	var unreachable *url.Error
	return errors.As(err, &status) || errors.As(err, &unreachable)
}

// retryOfHook is the row for a hook that failed. A script that says where it failed has
// thrown, and does so again when it is given the same; other failures are those of
// whatever runs it.
func retryOfHook(err *engines.Error, repeatable bool) controller.Retry {
	switch err.Kind {
	case engines.Invalid:
		return controller.Deterministic
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

// retryOfWrite is the row for a write that failed.
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
