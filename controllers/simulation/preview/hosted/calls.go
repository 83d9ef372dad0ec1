package hosted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/scripts"
)

// Why calls are not made.
const (
	errTime    rollout.SkippedCallError = "the preview takes too long"
	errWebhook rollout.SkippedCallError = "a webhook answers, which previews call only with sideEffects: None"
	errRefused rollout.SkippedCallError = "the server asked to be called later"
)

// calls are those of one pass over some parents.
type calls struct {
	// ctx is that of the preview, and until when no more calls are made.
	ctx   context.Context
	until time.Time
	// turn is filled by the call that is being made, which alone uses the fields below.
	turn chan struct{}
	// late is set once a call has taken too long or too much. Others would, too.
	late bool
	// bytes is the memory that the answers take, about.
	bytes int
}

func newCalls(ctx context.Context, until time.Time) *calls {
	return &calls{ctx: ctx, until: until, turn: make(chan struct{}, 1)}
}

// programs returns the program of each hook of a plan: the script, the webhook if it has no side effects, or one that tells that the server
// is not called.
func (c *calls) programs(plan *plan.Plan, texts map[string]engines.Program) map[string]engines.Program {
	all := map[string]engines.Program{}
	for _, named := range plan.Hooks {
		name := string(named.Name)
		if script := texts[name]; script != nil && (named.Hook.Serving() == v1alpha1.ScriptBackend || named.Hook.IsPreviewable()) {
			all[name] = background{Program: script, calls: c, patient: named.Name != v1alpha1.CustomizeHook}
		} else {
			all[name] = uncalled{}
		}
	}
	return all
}

// scripts returns the revision of the scripts that are called, and others by which children were made. It returns nil if nothing
// tells which those are.
func (c *calls) scripts(plan *plan.Plan, revision scripts.RevisionID, others hooks.ProgramsFunc) *preview.Scripts {
	if revision == "" || others == nil {
		return nil
	}
	return &preview.Scripts{Revision: string(revision), Others: func(id string) (map[string]engines.Program, error) {
		texts, err := others(scripts.RevisionID(id))
		return c.programs(plan, texts), err
	}}
}

// background is a script, or a webhook, that is called in the background.
type background struct {
	engines.Program
	calls *calls
	// patient is set if a call may take longer than the pass has for it.
	patient bool
}

// maxAttempts is how often a call is made for which no worker is free: those of other authors take their turns in between.
const maxAttempts = 3

// Run runs the program, unless a call before has shown that it takes too long. Calls are made one after another, each with all of its time.
func (b background) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	_, timeout := engines.TimeoutOf(ctx) // A pass sets one.
	b.calls.turn <- struct{}{}
	defer func() { <-b.calls.turn }()
	switch {
	case b.calls.late:
		return engines.Response{}, unmade(rollout.ErrLate)
	case time.Now().After(b.calls.until):
		return engines.Response{}, unmade(errTime)
	case b.calls.bytes > maxBytes:
		why := fmt.Sprintf("the answers for other parents take more than %d MiB", maxBytes>>20)
		return engines.Response{}, unmade(rollout.SkippedCallError(why))
	}
	call.Background = true
	response, err := b.run(ctx, call, timeout)
	b.calls.bytes += jsonvalue.Size(response.Body, maxBytes)
	b.calls.late = b.calls.late || rollout.IsLate(err)
	var e *engines.Error
	if response.Remote && errors.As(err, &e) && e.RetryAfter > 0 {
		return response, unmade(errRefused)
	}
	return response, err
}

// run makes a call with the time that the pass has for one. The pass does not know that it has waited, or is made again.
func (b background) run(ctx context.Context, call engines.Call, timeout time.Duration) (engines.Response, error) {
	if !b.patient {
		return b.Program.Run(ctx, call)
	}
	bounded, release := context.WithDeadline(b.calls.ctx, b.calls.until.Add(timeout)) // Also if the host is busy.
	defer release()
	for n := 1; ; n++ {
		ctx, cancel := engines.WithTimeout(bounded, timeout)
		response, err := b.Program.Run(ctx, call)
		cancel()
		if n == maxAttempts || !errors.Is(err, engines.ErrNoWorker) || !time.Now().Before(b.calls.until) {
			return response, err
		}
	}
}

// uncalled is a hook that a webhook answers.
type uncalled struct{ engines.ProgramBase }

// Run returns an error.
func (uncalled) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, unmade(errWebhook)
}

// unmade returns the error of a call that is not made.
func unmade(why rollout.SkippedCallError) error {
	return &engines.Error{Kind: engines.Failed, Message: why.Error(), Err: why}
}
