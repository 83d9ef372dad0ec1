package engines

import (
	"context"
	"errors"
)

// Ended returns the error of a call whose context is over: of kind Timeout if that
// was its deadline, or if context.DeadlineExceeded is the cause, and of kind Failed if the caller gave up.
func Ended(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &Error{Kind: Timeout, Message: "did not answer before its deadline", Err: context.DeadlineExceeded}
	}
	return &Error{Kind: Failed, Message: "the call was canceled", Err: ctx.Err()}
}
