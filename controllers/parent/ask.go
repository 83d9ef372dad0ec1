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

// ask puts the variant's questions to the hooks and makes the desired state of
// their answers. If any of them fails there is none.
func (r *Reconciler) ask(ctx context.Context, observed Observed) (Desired, error) {
	programs := r.config.Programs()
	calls := r.config.Variant.Calls(observed)
	responses := make([]engines.Response, len(calls))
	group, ctx := errgroup.WithContext(ctx)
	for i, call := range calls {
		group.Go(func() (err error) {
			responses[i], err = r.call(ctx, programs[call.Hook], call, string(observed.Parent.GetUID()))
			return hookError(call.Hook, err)
		})
	}
	if err := group.Wait(); err != nil {
		return Desired{}, err
	}
	desired, err := r.config.Variant.Desired(observed, responses)
	if err != nil {
		return Desired{}, hookError(calls[0].Hook, err)
	}
	return desired, nil
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
