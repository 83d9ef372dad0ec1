package scripts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// compileTimeout is how long all hooks of a tree may take together.
const compileTimeout = 10 * time.Second

// compile makes the programs of all hooks, or returns the problems of all that did not compile.
func compile(ctx context.Context, registry *engines.Registry, spec Spec, d *moduleTree) (map[string]engines.Program, []Problem) {
	ctx, cancel := context.WithTimeout(ctx, compileTimeout)
	defer cancel()
	programs := map[string]engines.Program{}
	var problems []Problem
	for _, name := range spec.hookNames() {
		program, err := compileHook(ctx, registry, d, spec, name)
		if err != nil {
			problems = append(problems, Problem{Origin: d.originOf(err, name), Err: err})
			continue
		}
		programs[name] = program
	}
	return programs, problems
}

func compileHook(ctx context.Context, registry *engines.Registry, d *moduleTree, spec Spec, name string) (engines.Program, error) {
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
		Hook: name, Owner: spec.Definition, TrustDomain: d.trustDomain,
		Script: &engines.Script{
			Files:      d.files,
			Path:       entry,
			Function:   h.Function,
			Signature:  h.signature(),
			Parameters: h.Parameters,

			MemoryBytes: h.MemoryBytes,
			Coverage:    spec.Coverage,
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

// compileWithDeadline compiles for as long as ctx lasts. The result of an engine that does
// not stop by then is ignored, so that the next edit is not delayed.
func compileWithDeadline(ctx context.Context, engine engines.Engine, source engines.Source) (engines.Program, error) {
	type outcome struct {
		program engines.Program
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		program, err := compileRecovering(ctx, engine, source)
		done <- outcome{program, err}
	}()
	select {
	case o := <-done:
		return o.program, o.err
	case <-ctx.Done():
		return nil, &engines.Error{
			Kind:     engines.Timeout,
			Location: engines.Location{File: source.Script.Path},
			Message:  fmt.Sprintf("did not load within %s: it is tried again every %s", compileTimeout, retryAfter),
			Err:      ctx.Err(),
		}
	}
}

// compileRecovering turns an engine's panic into an error: a script must not stop the host.
func compileRecovering(ctx context.Context, engine engines.Engine, source engines.Source) (program engines.Program, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			program, err = nil, engines.InvalidError(engines.Location{File: source.Script.Path}, "the engine panicked on it: %v", cause)
		}
	}()
	return engine.Compile(ctx, source)
}

// warnings returns the warnings of programs, each with the origin of its file.
func (d *moduleTree) warnings(programs map[string]engines.Program) []Problem {
	var all []Problem
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
