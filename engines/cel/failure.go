package cel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"

	"github.com/libretto-k8s/libretto/engines"
)

// failure returns what an error of cel-go means in a call with a request.
func (x *expression) failure(err error, where string, request map[string]any) *engines.Error {
	var inner *engines.Error
	if errors.As(err, &inner) {
		// The variable that failed may be asked for again, elsewhere.
		again := *inner
		again.Stack = slices.Clone(inner.Stack)
		return withFrame(&again, x.origin(err), where)
	}
	return withFrame(&engines.Error{Kind: engines.Failed, Message: x.advised(err, request), Err: err}, x.origin(err), where)
}

var costMessage = fmt.Sprintf("costs more than the %d that a call may: go through shorter lists", maxCost)

func exhausted(err error) *engines.Error {
	return &engines.Error{Kind: engines.Exhausted, Err: err, Message: costMessage}
}

// origin returns where an error came from: the innermost part of the expression that it
// is marked with. An *engines.Error within it belongs to another expression.
func (x *expression) origin(err error) engines.Location {
	at := x.code.at(0)
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) {
		case *engines.Error:
			return at
		case *types.Err:
			if e.NodeID() != 0 {
				at = x.location(e.NodeID())
			}
		}
	}
	return at
}

// withFrame puts a place into an error's stack. The first one is the error's own.
func withFrame(e *engines.Error, at engines.Location, where string) *engines.Error {
	if e.Location == (engines.Location{}) {
		e.Location = at
	}
	e.Stack = append(e.Stack, fmt.Sprintf("at %s (%s)", where, at))
	return e
}
