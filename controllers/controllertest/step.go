package controllertest

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/render"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/controllers/render/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// stepRun is what happened in one step.
type stepRun struct {
	*runner
	*Step
	parents []*parentState
	passes  []passRun
	// enqueued are the keys of the parents that the edits enqueued. Nil means that there were no edits.
	enqueued []any
}

// passRun is a pass over one parent.
type passRun struct {
	parent *parentState
	render.Result
}

// step does one step.
func (r *runner) step(ctx context.Context, step *Step) error {
	s := &stepRun{runner: r, Step: step}
	if err := r.useResponses(".respond", step.StepWebhooks); err != nil {
		return err
	}
	if err := s.edit(ctx); err != nil {
		return err
	}
	if step.After != nil {
		r.clock.Step(step.After.Duration)
	}
	if r.refused != nil {
		s.record()
		s.compareError(r.refused, nil)
		return nil
	}
	if err := s.selectParents(); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	s.record()
	s.compareErrors()
	s.checkPasses()
	if err := s.compare(ctx); err != nil {
		return err
	}
	if r.result.Outcome != Passed {
		return nil
	}
	if step.Passes == nil && step.Fails == "" {
		if err := s.checkSettled(ctx); err != nil {
			return err
		}
	}
	s.checkAnswers(ctx)
	return ctx.Err()
}

// selectParents finds the parents that the step is about: those that there were, and those that came.
func (s *stepRun) selectParents() error {
	s.meetParents()
	for _, p := range s.runner.parents {
		if s.Step.Parent == "" && !p.gone || s.Step.Parent != "" && namesObject(s.Step.Parent, p.object) {
			s.parents = append(s.parents, p)
		}
	}
	if s.Step.Parent != "" && len(s.parents) == 0 {
		return s.unusable(".parent", "parent: there is no parent %s: there are %s", s.Step.Parent, s.parentNames())
	}
	return nil
}

func (s *stepRun) parentNames() string {
	if len(s.runner.parents) == 0 {
		return "none: name one in given, create or apply"
	}
	var names []string
	for _, p := range s.runner.parents {
		names = append(names, string(p.name()))
	}
	return strings.Join(names, ", ")
}

// run makes the passes.
func (s *stepRun) run(ctx context.Context) error {
	passes := 0
	if s.Passes != nil {
		if passes = *s.Passes; passes == 0 {
			return nil
		}
	}
	loop := &stage.Loop{Session: s.session, Clock: s.clock, Pass: s.pass, Ready: s.isReady, Warn: func(string) {}}
	err := loop.Run(ctx, passes)
	var unsettled *stage.UnsettledError
	if errors.As(err, &unsettled) && ctx.Err() == nil {
		f := Failure{Message: unsettled.Message}
		if w := s.lastWrite(); w != nil {
			f.Message, f.Diff = f.Message+"; the last write was "+describeWrite(*w), changeLines(w.Before, w.After)
		}
		s.failCheck(CheckSettles, f)
		s.checkAnswers(ctx) // They may tell why.
		return nil
	}
	return err
}

// lastWrite returns the last write, or nil.
func (s *stepRun) lastWrite() *memcluster.Write {
	for _, pass := range slices.Backward(s.passes) {
		if n := len(pass.Writes); n > 0 {
			return &pass.Writes[n-1]
		}
	}
	return nil
}

func describeWrite(w memcluster.Write) string {
	return string(w.Verb) + " " + string(nameOf(w.Kind.Kind, w.Namespace, w.Name))
}

// pass makes one pass over each parent that is not gone.
func (s *stepRun) pass(ctx context.Context) (stage.Movement, error) {
	moved := stage.Nothing
	for _, p := range s.parents {
		if p.gone && s.Step.Parent == "" {
			continue
		}
		result, err := s.session.Reconcile(ctx, p.object)
		if err != nil {
			return moved, err
		}
		p.last, p.gone = &result, result.Parent == nil
		p.answers.Add(result)
		s.passes = append(s.passes, passRun{p, result})
		for _, w := range result.Writes {
			s.written = append(s.written, w.Sent)
		}
		for _, call := range result.Calls {
			s.result.Logs = append(s.result.Logs, call.Logs...)
		}
		moved = max(moved, stage.MovementOf(result))
	}
	return moved, nil
}

// isReady reports whether other controllers make an object ready.
func (s *stepRun) isReady(object *unstructured.Unstructured) bool {
	if slices.ContainsFunc(s.NotReady, func(name ObjectName) bool { return namesObject(name, object) }) {
		return false
	}
	return s.Ready == nil || s.Ready.All || slices.ContainsFunc(s.Ready.Names, func(name ObjectName) bool { return namesObject(name, object) })
}

// namesObject reports whether a name is that of an object.
func namesObject(name ObjectName, object *unstructured.Unstructured) bool {
	kind, namespace, local := name.split()
	return kind == object.GetKind() && local == object.GetName() && (namespace == "" || namespace == object.GetNamespace())
}

// split returns the parts of a name. The namespace may be empty.
func (n ObjectName) split() (kind, namespace, name string) {
	parts := strings.Split(string(n), "/")
	if len(parts) == 3 {
		return parts[0], parts[1], parts[2]
	}
	kind, name, _ = strings.Cut(string(n), "/")
	return kind, "", name
}

// compareErrors compares the error of the last pass over each parent.
func (s *stepRun) compareErrors() {
	var errs, later []error
	var events []render.Event
	for _, p := range s.parents {
		if p.last == nil || len(s.passes) == 0 {
			continue
		}
		events = append(events, p.last.Events...)
		switch {
		case p.last.Err == nil:
		case errors.Is(p.last.Err, controller.ErrLater):
			later = append(later, p.last.Err)
		default:
			errs = append(errs, p.last.Err)
		}
	}
	if s.Fails != "" {
		errs = append(errs, later...) // A pass that asks for another one has not failed, but tells why.
	}
	s.compareError(errors.Join(errs...), events)
}

func (s *stepRun) compareError(err error, events []render.Event) {
	if s.Fails == "" {
		if err != nil && s.testCase.Golden == "" { // A golden file has the errors.
			s.fail(Failure{Location: s.place(""), Message: "the pass fails: " + err.Error(), Script: scriptPlace(err)})
		}
		return
	}
	pattern := regexp.MustCompile(s.Fails)
	said := ""
	if err != nil {
		said = err.Error()
	}
	if err != nil && pattern.MatchString(said) {
		return
	}
	for _, event := range events {
		if event.Type == "Warning" && pattern.MatchString(event.Message) {
			return
		}
	}
	if err == nil {
		s.fail(Failure{Location: s.place(".fails"), Message: "the last pass did not fail, want an error that matches " + s.Fails})
		return
	}
	s.fail(Failure{Location: s.place(".fails"), Message: "the last pass fails with another error than " + s.Fails + ": " + said, Script: scriptPlace(err)})
}

// scriptPlace returns the place in a script that an error has, or none.
func scriptPlace(err error) engines.Location {
	var e *engines.Error
	if errors.As(err, &e) {
		return e.Location
	}
	return engines.Location{}
}
