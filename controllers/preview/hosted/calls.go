package hosted

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/engines"
)

// errUnknown is why nothing can be told of a parent.
var errUnknown = errors.New("not previewed")

// calls are those of one preview.
type calls struct {
	until time.Time
	// overdue is set once a call has taken too long or too much. Others would, too, and parents are told one at a time.
	overdue atomic.Bool
}

// programs returns the program of each hook of a plan: the script, or one that tells that servers are not called.
func (c *calls) programs(plan *definition.Plan, texts map[string]engines.Program) map[string]engines.Program {
	all := map[string]engines.Program{}
	for _, named := range plan.Hooks {
		name := string(named.Name)
		if script := texts[name]; script != nil && named.Hook.Serving() == v1alpha1.ScriptBackend {
			all[name] = background{Program: script, calls: c}
		} else {
			all[name] = uncalled{}
		}
	}
	return all
}

// background is a script that is called in the background.
type background struct {
	engines.Program
	calls *calls
}

// Run runs the program, unless a call before has shown that it takes too long.
func (b background) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	switch {
	case b.calls.overdue.Load():
		return engines.Response{}, unknown("the call for another parent took too long, or too much memory")
	case time.Now().After(b.calls.until):
		return engines.Response{}, unknown("the preview took longer than " + maxTime.String())
	}
	call.Background = true
	response, err := b.Program.Run(ctx, call)
	if kind := engines.KindOf(err); err != nil && !isUnknown(err) && (kind == engines.Timeout || kind == engines.Exhausted) {
		b.calls.overdue.Store(true)
	}
	return response, err
}

// uncalled is a hook that a webhook answers.
type uncalled struct{ engines.ProgramBase }

// Run returns an error.
func (uncalled) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, unknown("a webhook answers, and a preview makes no request")
}

func unknown(why string) error {
	return &engines.Error{Kind: engines.Failed, Message: why, Err: errUnknown}
}

// isUnknown reports whether an error says nothing about the scripts.
func isUnknown(err error) bool {
	return errors.Is(err, errUnknown) || errors.Is(err, engines.ErrNoWorker) || errors.Is(err, engines.ErrBackoff)
}
