package variant

import (
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// HookError returns err with its reason and the name of the hook in front. It wraps
// controller.ErrLater if the hook's server asked to be called later, or another call has to
// end first.
func HookError(hook string, err error) error {
	var e *engines.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && e.RetryAfter > 0 && !errors.Is(err, engines.ErrBackoff):
		return fmt.Errorf("%w: %s hook: %w", controller.ErrLater, hook, err)
	}
	return fmt.Errorf("%s: %s hook: %w", engines.KindOf(err).Reason(), hook, err)
}

// lastingError is an error that only a change of what was observed can end.
type lastingError struct{ error }

// Unwrap returns the error itself.
func (e lastingError) Unwrap() error { return e.error }

// Lasting returns err as an error that lasts until something that was observed changes, so that
// a retry after a short time is of no use.
func Lasting(err error) error { return lastingError{err} }

// IsLasting reports whether err, or what it wraps, comes from Lasting.
func IsLasting(err error) bool { return errors.As(err, &lastingError{}) }
