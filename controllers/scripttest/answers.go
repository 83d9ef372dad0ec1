package scripttest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// answers bounds the memory of the answers of each case.
type answers struct {
	bytes    atomic.Int64
	tooLarge atomic.Bool
	// starved reports whether a call of any case was not made because no worker was free.
	starved atomic.Bool
}

// reset begins a case.
func (a *answers) reset() {
	a.bytes.Store(0)
	a.tooLarge.Store(false)
}

// limit returns the programs, whose calls give way to others.
func (a *answers) limit(programs map[string]engines.Program) map[string]engines.Program {
	limited := map[string]engines.Program{}
	for hook, program := range programs {
		limited[hook] = background{program, a}
	}
	return limited
}

// background is a program that is called in the background.
type background struct {
	engines.Program
	answers *answers
}

// Run runs the program, unless the answers of the case are too large already.
func (b background) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	a := b.answers
	left := maxAnswerBytes - a.bytes.Load()
	if left <= 0 {
		a.tooLarge.Store(true)
		return engines.Response{}, &engines.Error{Kind: engines.Exhausted, Message: "the answers of the case are too large"}
	}
	call.Background = true
	response, err := b.Program.Run(ctx, call)
	if errors.Is(err, engines.ErrNoWorker) {
		a.starved.Store(true)
	}
	a.bytes.Add(int64(jsonvalue.Size(response.Body, int(left)+1)))
	return response, err
}
