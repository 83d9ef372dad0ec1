package javascript

import (
	"context"
	"slices"
	"time"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/javascript/heap"
)

// realm is an isolate in which the modules have run. One call after the other has it to itself, and each begins with what the modules left.
type realm struct {
	*isolate
	// call is the function of the hook.
	call goja.Callable
	// loaded and state are the isolate and its runtime as the modules left them. A realm without a state is for one call.
	loaded isolate
	state  *heap.Snapshot
}

// newRealm runs the modules. With an error, too, the realm has what they logged.
func (p *program) newRealm(ctx context.Context, now time.Time, seed string) (*realm, error) {
	r := &realm{isolate: newIsolate(now, seed)}
	r.files = p.script.Files
	_, err := r.guard(ctx, func() (_ any, err error) {
		r.loading = true
		r.call, err = p.function(r.isolate)
		r.loading = false
		return nil, err
	})
	if err != nil {
		return r, err
	}
	// What modules make of the time or of random numbers is of one call. A state that can't be taken is no error: the
	// modules run for each call.
	if !r.readClock && !r.drewRandom && !r.interrupted {
		r.loaded = *r.isolate
		r.loaded.rounded = r.rounded.Clone()
		r.state, _ = heap.Take(r.rt, append(r.held, r.hook))
	}
	return r, nil
}

// realm returns a realm for one call.
func (p *program) realm(ctx context.Context, call engines.Call) (*realm, error) {
	r := p.idle.Swap(nil)
	if r == nil {
		return p.newRealm(ctx, call.Now, call.Seed)
	}
	r.setSources(call.Now, call.Seed)
	return r, nil
}

// release keeps a realm for the next call, without what the last one has left, which may be large. After a failure nobody knows where the
// runtime was stopped.
func (p *program) release(r *realm, err error) {
	if err != nil || r.state == nil || r.interrupted {
		return
	}
	r.state.Restore()
	*r.isolate = r.loaded
	r.console.Lines = slices.Clip(r.console.Lines)
	r.rounded = r.rounded.Clone()
	p.idle.Store(r)
}

// isInPackage reports whether it is a module of a package that is being loaded. Some note the time then, as lodash does, to compare others
// with it. They are given one that is the same for all calls.
func (i *isolate) isInPackage() bool {
	stack := i.rt.CaptureCallStack(0, nil)
	module := slices.IndexFunc(stack, func(f goja.StackFrame) bool { return isModule(f.FuncName()) })
	if module < 0 {
		module = len(stack) - 1 // All ES modules are in the function of the bundle.
	}
	return module >= 0 && !isOwn(stripNamespaces(stack[module].Position().Filename))
}
