package hosted

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/preview"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/scripts"
)

// errUnknown is why nothing can be told of a parent.
var errUnknown = errors.New("not previewed")

// calls are those of one preview.
type calls struct {
	until time.Time
	// overdue is set once a call has taken too long or too much. Others would, too, and parents are told one at a time.
	overdue atomic.Bool
	// bytes is the memory that the answers take, about.
	bytes atomic.Int64
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

// scripts returns the revision of the scripts that are called, and others by which children were made. It returns nil if nothing
// tells which those are.
func (c *calls) scripts(plan *definition.Plan, revision scripts.RevisionID, others definition.ProgramsFunc) *preview.Scripts {
	if revision == "" || others == nil {
		return nil
	}
	return &preview.Scripts{Revision: string(revision), Others: func(id string) (map[string]engines.Program, error) {
		texts, err := others(scripts.RevisionID(id))
		return c.programs(plan, texts), err
	}}
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
	if b.calls.bytes.Load() > maxBytes {
		return engines.Response{}, unknown(fmt.Sprintf("the answers for other parents take more than %d MiB", maxBytes>>20))
	}
	call.Background = true
	response, err := b.Program.Run(ctx, call)
	b.calls.bytes.Add(int64(jsonvalue.Size(response.Body, maxBytes)))
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
