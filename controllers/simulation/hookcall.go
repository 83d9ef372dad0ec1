package simulation

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// HookCall is a call of a hook and its answer.
type HookCall struct {
	Hook string
	// Subject distinguishes the calls of one pass: a map key or the name of a revision, or empty.
	Subject string
	// Request and Response are read-only.
	Request  map[string]any
	Response any
	// Call is the whole call.
	Call engines.Call
	// Logs are the lines that the program wrote.
	Logs []string
	Err  error
}

// recordCalls returns programs that record their calls.
func recordCalls(programs map[string]engines.Program, calls *recorded[HookCall]) map[string]engines.Program {
	all := make(map[string]engines.Program, len(programs))
	for hook, program := range programs {
		all[hook] = recordedProgram{Program: program, hook: hook, calls: calls}
	}
	return all
}

// recordedProgram is a program that records its calls.
type recordedProgram struct {
	engines.Program
	hook  string
	calls *recorded[HookCall]
}

// Run runs the program.
func (p recordedProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response, err := p.Program.Run(ctx, call)
	p.calls.add(HookCall{
		Hook: p.hook, Subject: call.Subject, Request: call.Request, Response: response.Body, Call: call, Logs: response.Logs, Err: err,
	})
	return response, err
}

// recordedVariant is a variant that records the children that it wants.
type recordedVariant struct {
	variant.Variant
	desired *recorded[*unstructured.Unstructured]
}

// Desired returns what the variant returns.
func (v recordedVariant) Desired(observed variant.Observed, answers []variant.Answer) (variant.Desired, error) {
	desired, err := v.Variant.Desired(observed, answers)
	for _, child := range desired.Children {
		v.desired.add(child)
	}
	return desired, err
}
