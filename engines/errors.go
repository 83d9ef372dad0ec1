package engines

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind classifies what went wrong with a hook, and thereby what helps: see Reason.
type Kind int

const (
	// Failed means that the hook threw, or that the far side answered an error.
	Failed Kind = iota
	// Invalid means that the source does not load. Only an edit helps.
	Invalid
	// BadResponse means that the answer is no response to this hook.
	BadResponse
	// Timeout means that the hook did not answer in time.
	Timeout
	// Exhausted means that the hook went over a limit on memory, stack, cost or output.
	Exhausted
	// Busy means that the host had no worker, or too little processor time, for the call: it says nothing about the hook. Such errors are
	// ErrNoWorker, and have a RetryAfter, but those of calls in the background.
	Busy
)

// Kinds lists all kinds.
var Kinds = []Kind{Failed, Invalid, BadResponse, Timeout, Exhausted, Busy}

// Reason returns the kind's name on events and conditions.
func (k Kind) Reason() string {
	switch k {
	case Invalid:
		return "ScriptInvalid"
	case BadResponse:
		return "HookResponseInvalid"
	case Timeout:
		return "HookTimedOut"
	case Exhausted:
		return "HookLimitExceeded"
	case Busy:
		return "HostBusy"
	default:
		return "HookFailed"
	}
}

// Location is a place in the author's own source. Line and Column count from 1; zero means unknown.
type Location struct {
	File         string
	Line, Column int
}

// String returns file:line:column, as far as it is known, and "" for an unknown file.
func (l Location) String() string {
	switch {
	case l.File == "" || l.Line == 0:
		return l.File
	case l.Column == 0:
		return fmt.Sprintf("%s:%d", l.File, l.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", l.File, l.Line, l.Column)
	}
}

// ErrBackoff is the cause of the error of a call that was not made because earlier ones cost
// too much. It is to be reported, although RetryAfter has the time of the next attempt.
var ErrBackoff = errors.New("backing off")

// ErrNoWorker is what errors of kind Busy are.
var ErrNoWorker = errors.New("no worker was free")

// Error is the only error that engines return.
type Error struct {
	Kind     Kind
	Location Location
	// Message is for the author of the hook, without the location.
	Message string
	// Stack is the script's own stack, innermost first, or what else helps to find
	// the call in the far side's log. It may be empty.
	Stack []string
	// RetryAfter is how long the far side, or the pool of workers, asked to be left alone, or zero.
	RetryAfter time.Duration
	// Err is the cause, if there is one to unwrap.
	Err error
}

// InvalidError returns an error of kind Invalid, which is about the source.
func InvalidError(at Location, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Location: at, Message: fmt.Sprintf(format, args...)}
}

// JoinErrors returns the first of the errors, with the others in its stack, five at most,
// and their number in its message.
func JoinErrors(all []*Error) *Error {
	const limit = 5
	first := all[0]
	for _, e := range all[1:min(len(all), limit)] {
		first.Stack = append(first.Stack, e.Error())
	}
	if more := len(all) - 1; more > 0 {
		first.Message += fmt.Sprintf(" (and %d more)", more)
	}
	return first
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	if at := e.Location.String(); at != "" {
		return at + ": " + e.Message
	}
	return e.Message
}

// Detail returns Error followed by the script's stack, a line each.
func (e *Error) Detail() string {
	return strings.Join(append([]string{e.Error()}, e.Stack...), "\n    ")
}

// Is reports whether target is ErrNoWorker, and the error of kind Busy.
func (e *Error) Is(target error) bool { return target == ErrNoWorker && e.Kind == Busy }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error that came from an engine, and Failed for any other.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Failed
}
