// Package render implements libretto render: it runs definitions for the parents in a set of files, and shows what a host would do: the
// real reconciler, the real engines, and a cluster in memory with the schemas of the files.
package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
)

// Options are what to render.
type Options struct {
	Set     *manifest.Set
	Engines *engines.Registry
	// Answers are canned answers of hooks, by name, in place of webhooks and scripts.
	Answers map[string]any
	// Parent selects parents, as name, kind/name or kind/namespace/name. Empty means all.
	Parent string
	// Hook is what the rendering is about, or empty. For finalize the parents are deleted once they have settled, for tombstone their inputs.
	Hook string
	// Steps is how many passes are made over each parent. Zero means until nothing changes any more.
	Steps int
	// Ready selects the objects that other controllers make ready between the passes.
	Ready func(*unstructured.Unstructured) bool
	// Now is the time of the first pass. Each further one is a second later.
	Now time.Time
	// Namespace is that of objects without one.
	Namespace string
	stage.Host
	// WithoutSecrets hides the values of Secrets, and what schemas call passwords, from the definition too.
	WithoutSecrets bool
	// Warn is called with what may make a rendering differ from what a host does.
	Warn func(string)
}

// Render renders all parents. The renderings that were made are returned with an error, too. An error that is an *InputError means
// that something is wrong with the files or the options, and any other that a rendering failed.
func Render(ctx context.Context, options Options) ([]*Rendering, error) {
	if len(options.Set.Definitions) == 0 {
		return nil, inputError("%s", options.Set.NoDefinition())
	}
	options.Warn = once(options.Warn)
	var all []*Rendering
	var others []string
	for _, definition := range options.Set.Definitions {
		r := &renderer{Options: options, definition: definition, clock: clocktesting.NewFakeClock(options.Now)}
		renderings, err := r.render(ctx)
		for _, rendering := range renderings {
			if len(rendering.Steps) > 0 {
				all = append(all, rendering)
			}
		}
		if err != nil {
			return all, fmt.Errorf("%s %s: %w", definition.GetKind(), definition.GetName(), err)
		}
		if len(renderings) == 0 {
			others = append(others, fmt.Sprintf("%s %s has %s", definition.GetKind(), definition.GetName(), strings.Join(r.parentKinds(), " and ")))
		}
	}
	if len(all) == 0 {
		return nil, &InputError{noParents(options, others)}
	}
	for _, rendering := range all {
		if err := rendering.Err(); err != nil {
			return all, fmt.Errorf("%s: %w", rendering.Name(), err)
		}
	}
	return all, nil
}

// once returns a function that warns of each thing once.
func once(warn func(string)) func(string) {
	warned := map[string]bool{}
	return func(text string) {
		if !warned[text] {
			warned[text] = true
			warn(text)
		}
	}
}

// noParents returns the error for a set without parents.
func noParents(options Options, others []string) error {
	what := "no parent"
	if options.Parent != "" {
		what = fmt.Sprintf("no parent %q", options.Parent)
	}
	return fmt.Errorf("there is %s among the files: give one with -f: %s", what, strings.Join(others, ", "))
}

// InputError is a problem with files or options.
type InputError struct{ Err error }

// Error returns the problem.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the problem.
func (e *InputError) Unwrap() error { return e.Err }

// inputError returns an *InputError, or nil.
func inputError(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }

// renderer renders the parents of one definition.
type renderer struct {
	Options
	definition *document.Object
	clock      *clocktesting.FakeClock
	stage      *prepared
	renderings []*Rendering
}

func (r *renderer) render(ctx context.Context) ([]*Rendering, error) {
	if err := r.prepare(ctx); err != nil || r.stage.session == nil {
		return nil, err
	}
	defer r.stage.session.Close()
	for _, parent := range r.stage.parents {
		r.renderings = append(r.renderings, &Rendering{
			Definition: r.definition.Unstructured, Object: parent, Given: r.given(),
			schema: func(kind schema.GroupVersionKind) *openapi.Kind { return r.stage.Schemas.For(ctx, kind) },
		})
	}
	if err := r.arrange(ctx); err != nil {
		return r.renderings, err
	}
	if err := r.run(ctx, r.Steps); err != nil {
		return r.renderings, err
	}
	for _, rendering := range r.renderings {
		if err := r.finish(ctx, rendering); err != nil {
			return r.renderings, err
		}
	}
	return r.renderings, nil
}

// arrange brings about the state in which a hook is called.
func (r *renderer) arrange(ctx context.Context) error {
	var gone []*unstructured.Unstructured
	switch r.Hook {
	case "finalize":
		gone = r.stage.parents
	case "tombstone":
		gone = r.stage.inputs
	default:
		return nil
	}
	if len(gone) == 0 {
		return inputError("--hook %s: there are no inputs among the files", r.Hook)
	}
	if err := r.run(ctx, 0); err != nil {
		return err
	}
	for _, rendering := range r.renderings {
		rendering.Before, rendering.Steps = rendering.Steps, nil
	}
	r.clock.Step(time.Second)
	return r.remove(ctx, gone)
}

// run makes passes over all parents, as many as given or until nothing changes.
func (r *renderer) run(ctx context.Context, steps int) error {
	loop := &stage.Loop{Session: r.stage.session, Clock: r.clock, Pass: r.step, Ready: r.Ready, Warn: r.Warn}
	err := loop.Run(ctx, steps)
	var unsettled *stage.UnsettledError
	if errors.As(err, &unsettled) {
		return r.unsettled(err)
	}
	return err
}

// step makes one pass over each parent.
func (r *renderer) step(ctx context.Context) (stage.PassResult, error) {
	moved := stage.Nothing
	for _, rendering := range r.renderings {
		if rendering.gone {
			continue
		}
		result, err := r.stage.session.Reconcile(ctx, rendering.Object)
		if err != nil {
			return moved, err
		}
		moved = max(moved, rendering.add(result))
	}
	return moved, nil
}

// unsettled adds to an error what was last written for each parent.
func (r *renderer) unsettled(err error) error {
	var changing []string
	for _, rendering := range r.renderings {
		for _, step := range slices.Backward(rendering.Steps) {
			if n := len(step.Writes); n > 0 {
				w := step.Writes[n-1]
				last := fmt.Sprintf("%s %s", w.Verb, w.Key().String())
				changing = append(changing, fmt.Sprintf("%s, whose last write was %s", rendering.Name(), last))
				break
			}
		}
	}
	if len(changing) == 0 {
		return err
	}
	slices.Sort(changing)
	return fmt.Errorf("%w: %s", err, strings.Join(changing, "; "))
}
