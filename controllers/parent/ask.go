package parent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// defaultTimeout bounds a call to a hook for which the definition says nothing.
const defaultTimeout = 10 * time.Second

// ask puts the variant's questions to the hooks, side by side, and makes the
// desired state of their answers.
func (r *Reconciler) ask(ctx context.Context, observed Observed) (Desired, error) {
	calls, err := r.config.Variant.Calls(observed)
	if err != nil {
		return Desired{}, err
	}
	programs := r.config.Programs()
	answers := make([]Answer, len(calls))
	var group errgroup.Group
	group.SetLimit(r.env.Calls)
	for i, call := range calls {
		group.Go(func() error {
			response, err := r.call(ctx, programs[call.Hook], call, string(observed.Parent.GetUID()))
			answers[i] = Answer{Call: call, Body: response.Body, Err: hookError(call.Hook, err)}
			return nil
		})
	}
	_ = group.Wait() // Each error is in its answer.
	return r.config.Variant.Desired(observed, answers)
}

func (r *Reconciler) call(ctx context.Context, program engines.Program, call Call, seed string) (engines.Response, error) {
	if program == nil {
		return engines.Response{}, &engines.Error{Kind: engines.Invalid, Message: "the hook is not loaded"}
	}
	timeout := r.config.Timeouts[call.Hook]
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, err := program.Run(ctx, engines.Call{Request: call.Request, Now: r.env.Clock.Now(), Seed: seed})
	for _, line := range response.Logs {
		r.env.Log.V(1).Info(line, "definition", r.config.Definition, "hook", call.Hook)
	}
	return response, err
}

// hookError says which hook failed, in what way.
func hookError(hook string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s hook: %w", engines.KindOf(err).Reason(), hook, err)
}

// retryOf says when a pass that a hook ended is made again: when the far side
// asked for, quietly, or else with backoff.
func retryOf(err error) (controller.Result, error) {
	var e *engines.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return controller.Result{RequeueAfter: e.RetryAfter}, errors.Join(controller.ErrLater, err)
	}
	return controller.Result{}, err
}
