package scripts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	// compileTimeout is how long the load of a hook may take, of its own time: see engines.WithTimeout.
	compileTimeout = 10 * time.Second
	// loadingAfter is when the load of a hook that has time enough has ended, with what it takes to end it.
	loadingAfter = compileTimeout + time.Second
	// abandonAfter is when an engine that does not stop is left behind.
	abandonAfter = 10 * time.Minute
)

// compile makes the programs of all hooks, or returns the problems of all that did not compile.
func compile(ctx context.Context, registry *engines.Registry, spec Spec, d *moduleTree) (map[string]engines.Program, []Problem) {
	programs := map[string]engines.Program{}
	var problems []Problem
	names := spec.hookNames()
	for i, name := range names {
		program, err := compileHook(ctx, registry, d, spec, name, i < len(names)-1)
		if err != nil {
			problems = append(problems, Problem{Origin: d.originOf(err, name), Err: err})
			continue
		}
		programs[name] = program
	}
	return programs, problems
}

// compileHook makes the program of a hook, after which that of another one is made if more is set.
func compileHook(
	ctx context.Context, registry *engines.Registry, d *moduleTree, spec Spec, name string, more bool,
) (engines.Program, error) {
	h := spec.Hooks[name]
	entry := h.entry(name, registry)
	if _, ok := d.files[entry]; !ok {
		return nil, engines.InvalidError(engines.Location{}, "no file %q in the script sources: they have %s", entry, list(maps.Keys(d.files)))
	}
	engine, err := engineFor(registry, h.Engine, entry)
	if err != nil {
		return nil, err
	}
	return compileWithDeadline(ctx, engine, engines.Source{
		Hook: name, Owner: spec.Definition, TrustDomain: d.trustDomain, More: more,
		Script: &engines.Script{
			Files:      d.files,
			Path:       entry,
			Function:   h.Function,
			Signature:  h.signature(),
			Parameters: h.Parameters,

			MemoryBytes: h.MemoryBytes,
			Coverage:    spec.Coverage,
			Outline:     spec.Outline,
		},
	})
}

func (h Hook) signature() engines.Signature {
	if h.Signature == "" {
		return engines.Request
	}
	return h.Signature
}

func engineFor(registry *engines.Registry, name, path string) (engines.Engine, error) {
	if name == "" {
		byPath, err := registry.NameForPath(path)
		if err != nil {
			return nil, err
		}
		name = byPath
	}
	return registry.ByName(name)
}

// compileWithDeadline compiles, again for as long as the host is busy. The result of an engine that does not stop when ctx ends is ignored,
// so that the next edit is not delayed.
func compileWithDeadline(ctx context.Context, engine engines.Engine, source engines.Source) (engines.Program, error) {
	type outcome struct {
		program engines.Program
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		for {
			program, err := compileRecovering(ctx, engine, source)
			if !errors.Is(err, engines.ErrNoWorker) || ctx.Err() != nil {
				done <- outcome{program, err}
				return
			}
		}
	}()
	select {
	case o := <-done:
		return o.program, lateError(source, o.err)
	case <-ctx.Done():
		return nil, engines.Ended(ctx)
	case <-time.After(abandonAfter):
		return nil, lateError(source, &engines.Error{Kind: engines.Timeout})
	}
}

// lateError returns err, which says how long a load may take if it has taken longer.
func lateError(source engines.Source, err error) error {
	var e *engines.Error
	if !errors.As(err, &e) || e.Kind != engines.Timeout || errors.Is(e, engines.ErrBackoff) {
		return err
	}
	late := *e
	late.Location.File = cmp.Or(late.Location.File, source.Script.Path)
	late.Message = fmt.Sprintf("did not load within %s: it is tried again every %s", compileTimeout, retryAfter)
	return &late
}

// compileRecovering turns an engine's panic into an error: a script must not stop the host.
func compileRecovering(ctx context.Context, engine engines.Engine, source engines.Source) (program engines.Program, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			program, err = nil, engines.InvalidError(engines.Location{File: source.Script.Path}, "the engine panicked on it: %v", cause)
		}
	}()
	ctx, cancel := engines.WithTimeout(ctx, compileTimeout)
	defer cancel()
	return engine.Compile(ctx, source)
}

// warnings returns the warnings of programs, each with the origin of its file, and those about files that are left out.
func (d *moduleTree) warnings(programs map[string]engines.Program) []Problem {
	all := slices.Clone(d.leftOut)
	for name, program := range programs {
		for _, warning := range program.Warnings() {
			all = append(all, Problem{Origin: d.originOf(warning, name), Err: warning})
		}
	}
	return all
}

// originOf returns the origin of the file that an error points to or, failing that, the hook.
func (d *moduleTree) originOf(err error, hook string) Origin {
	var e *engines.Error
	if errors.As(err, &e) {
		if origin, ok := d.origins[e.Location.File]; ok {
			return origin
		}
	}
	return Origin{Hook: hook}
}

// isTransient reports whether the same files may load another time, without an edit.
func isTransient(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool {
		if test := (*testError)(nil); errors.As(p.Err, &test) {
			return test.transient
		}
		kind := engines.KindOf(p.Err)
		return kind == engines.Timeout || kind == engines.Failed
	})
}
