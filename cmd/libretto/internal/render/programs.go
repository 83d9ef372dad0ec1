package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/engines"
)

// cannedProgram returns the same answer to every call.
type cannedProgram struct {
	engines.ProgramBase
	answer any
}

// Run returns the answer.
func (p cannedProgram) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{Body: p.answer}, nil
}

// webhookProgram stands in the place of a webhook.
type webhookProgram struct {
	engines.ProgramBase
	hook string
}

// ErrNotCalled is part of the error for a webhook that was not called.
var ErrNotCalled = errors.New("webhooks are not called offline")

// Run fails: nothing is sent.
func (p webhookProgram) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, &engines.Error{Kind: engines.Failed, Err: ErrNotCalled, Message: fmt.Sprintf(
		"this hook is a webhook, and webhooks are not called offline: give an answer for it with --answer %s=FILE, "+
			"or see what it would be sent with -o request", p.hook)}
}
