package rollout

import (
	"errors"

	"github.com/libretto-k8s/libretto/engines"
)

// ErrUnknown is why a parent could not be previewed.
var ErrUnknown = errors.New("not previewed")

// SkippedCallError is why a call is not made. It is ErrUnknown.
type SkippedCallError string

// ErrLate is why a call is not made after others.
const ErrLate SkippedCallError = "the calls for other parents took too long, or too much memory"

func (e SkippedCallError) Error() string { return string(e) }

// Is reports whether the target is ErrUnknown.
func (e SkippedCallError) Is(target error) bool { return target == ErrUnknown }

// IsUnknown reports whether an error says nothing about the scripts.
func IsUnknown(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, engines.ErrNoWorker) || errors.Is(err, engines.ErrBackoff)
}

// IsLate reports whether a call has taken too long or too much, by its own fault.
func IsLate(err error) bool {
	kind := engines.KindOf(err)
	return err != nil && !IsUnknown(err) && (kind == engines.Timeout || kind == engines.Exhausted)
}
