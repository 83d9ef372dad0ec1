package controllertest

import (
	"context"
	"fmt"

	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// spend counts values that the case keeps, and returns an error once they take more memory than Subject.MaxBytes.
func (r *runner) spend(values ...any) error {
	limit := r.subject.MaxBytes
	if limit <= 0 {
		return nil
	}
	for _, value := range values {
		if left := limit - r.spent.Load(); left >= 0 {
			r.spent.Add(int64(jsonvalue.Size(value, int(left)+1)))
		}
	}
	if r.spent.Load() <= limit {
		return nil
	}
	return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf(
		"it keeps more than %d MiB of memory: the answers of its hooks, what they write, and what it is given", limit>>20)}
}

// spendPass counts what is kept of a pass until its step is compared. The answers of hooks are counted by their programs.
func (r *runner) spendPass(result simulation.Result) error {
	if r.subject.MaxBytes <= 0 {
		return nil
	}
	if result.Parent != nil {
		_ = r.spend(result.Parent.Object)
	}
	for _, w := range result.Writes {
		_ = r.spend(w.Sent)
		if w.After != nil {
			_ = r.spend(w.After.Object)
		}
	}
	for _, call := range result.Calls {
		for _, line := range call.Logs {
			r.spent.Add(int64(len(line)))
		}
	}
	return r.spend()
}

// bounded returns programs whose answers are counted.
func (r *runner) bounded(programs map[string]engines.Program) map[string]engines.Program {
	if r.subject.MaxBytes <= 0 {
		return programs
	}
	all := make(map[string]engines.Program, len(programs))
	for hook, program := range programs {
		all[hook] = boundedProgram{program, r}
	}
	return all
}

type boundedProgram struct {
	engines.Program
	runner *runner
}

// Run runs the program, unless the case keeps too much already.
func (p boundedProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	if err := p.runner.spend(); err != nil {
		return engines.Response{}, err
	}
	response, err := p.Program.Run(ctx, call)
	_ = p.runner.spend(response.Body) // If that is too much, the case ends after the pass.
	return response, err
}
