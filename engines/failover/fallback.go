package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// TimedProgram is a program and the time that it has for one call.
type TimedProgram struct {
	engines.Program
	Timeout time.Duration
}

func (t TimedProgram) run(ctx context.Context, call engines.Call) (engines.Response, error) {
	ctx, cancel := engines.WithTimeout(ctx, t.Timeout)
	defer cancel()
	return t.Run(ctx, call)
}

// fallback asks the second program if the first can't answer.
type fallback struct {
	engines.ProgramBase
	counts        counters
	first, second TimedProgram
}

// WithFallback returns a program that asks first and, if that does not load, takes
// too long or exceeds a limit, second. A nil program in first means that it has not loaded.
// Any other failure of first is its answer: a script that throws must be
// noticed.
func (p *Combiner) WithFallback(hook Hook, first, second TimedProgram) engines.Program {
	counts := p.countersFor(hook)
	counts.beginFallback()
	return &fallback{counts: counts, first: first, second: second}
}

// notLoaded is the reason, in metrics, of a script that has never loaded.
const notLoaded = "NotLoaded"

// Run asks one or both, each for its own time.
func (f *fallback) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	if f.first.Program == nil {
		f.counts.incFallback(notLoaded)
		return f.second.run(ctx, call)
	}
	ctx, _ = engines.TimeoutOf(ctx) // Each has a limit of its own.
	response, failure := f.first.run(ctx, call)
	if failure == nil || ctx.Err() != nil || !fallsBack(engines.KindOf(failure)) {
		return response, failure
	}
	f.counts.incFallback(engines.KindOf(failure).Reason())
	stepped, err := f.second.run(ctx, call)
	stepped.Logs = slices.Concat(response.Logs, []string{"the webhook answers in place of the script: " + failure.Error()}, stepped.Logs)
	return stepped, joinErrors(failure, err)
}

// fallsBack reports whether a fallback answers after a failure of that kind.
func fallsBack(kind engines.Kind) bool {
	return kind == engines.Timeout || kind == engines.Exhausted || kind == engines.Invalid || kind == engines.Busy
}

// joinErrors adds the first program's error to the second one's. It returns nil if second is nil.
func joinErrors(first, second error) error {
	var e *engines.Error
	if !errors.As(second, &e) {
		return second
	}
	combined := *e
	combined.Message = fmt.Sprintf("%s; it was asked in place of the script: %v", e.Message, first)
	return &combined
}
