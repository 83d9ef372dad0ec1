package scripttest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/libretto-k8s/libretto/engines"
)

// inBackground returns the programs, whose calls give way to others.
func (r *run) inBackground(programs map[string]engines.Program) map[string]engines.Program {
	all := map[string]engines.Program{}
	for hook, program := range programs {
		all[hook] = background{program, &r.starved}
	}
	return all
}

// background is a program that is called in the background.
type background struct {
	engines.Program
	starved *atomic.Bool
}

// Run runs the program, and notes that there was no worker for it.
func (b background) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	call.Background = true
	response, err := b.Program.Run(ctx, call)
	if errors.Is(err, engines.ErrNoWorker) {
		b.starved.Store(true)
	}
	return response, err
}
