package controllertest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// stepRun is what happened in one step.
type stepRun struct {
	*runner
	*Step
	parents []*parentState
	passes  []passRun
	// observe is called after each pass over all parents, with its writes. Nil means nobody.
	observe func([]memcluster.Write)
	// enqueued are the keys of the parents that the edits enqueued. Nil means that there were no edits.
	enqueued []any
}

// passRun is a pass over one parent.
type passRun struct {
	parent *parentState
	simulation.Result
}

// step does one step.
func (r *runner) step(ctx context.Context, step *Step) error {
	s := &stepRun{runner: r, Step: step}
	unsettled, err := s.act(ctx)
	if err != nil {
		return err
	}
	if r.refused != nil {
		s.record()
		s.compareError(r.refused, nil)
		return nil
	}
	if unsettled != nil {
		s.failUnsettled(ctx, unsettled)
	}
	s.record()
	s.compareErrors()
	s.checkPasses()
	if err := s.compare(ctx); err != nil {
		return err
	}
	if r.result.Outcome != Passed {
		s.tellError()
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

// act makes the edits and passes of the step. The first result is why the passes do not come to an end, or nil.
func (s *stepRun) act(ctx context.Context) (*stage.UnsettledError, error) {
	if err := s.useResponses(".respond", s.StepWebhooks); err != nil {
		return nil, err
	}
	if err := s.delay(); err != nil {
		return nil, err
	}
	if err := s.edit(ctx); err != nil {
		return nil, err
	}
	if s.After != nil {
		s.clock.Step(s.After.Duration)
	}
	if s.refused != nil {
		return nil, nil
	}
	if err := s.selectParents(); err != nil {
		return nil, err
	}
	err := s.run(ctx)
	var unsettled *stage.UnsettledError
	if errors.As(err, &unsettled) && ctx.Err() == nil {
		err = nil
		if unsettled.Waiting && (len(s.Delay) > 0 || s.Fails != "") {
			unsettled = nil // It waits for what the step holds back, or the step says why.
		}
	}
	s.session.Cluster().Resume()
	if err == nil && len(s.Delay) > 0 {
		err = s.session.ResumeWatches(ctx)
	}
	return unsettled, err
}

// selectParents finds the parents that the step is about: those that there were, and those that came.
func (s *stepRun) selectParents() error {
	s.meetParents()
	for _, p := range s.runner.parents {
		if s.Step.Parent == "" && !p.gone || s.Step.Parent != "" && namesObject(s.Step.Parent, p.object) {
			s.parents = append(s.parents, p)
		}
	}
	if s.Step.Parent != "" && len(s.parents) == 0 && s.Passes != nil {
		return s.addParent() // A pass over what is not there, or not selected, is reported as made.
	}
	if s.Step.Parent != "" && len(s.parents) == 0 {
		return s.unusable(".parent", "parent: there is no parent %s: there are %s", s.Step.Parent, s.parentNames())
	}
	return nil
}

// addParent adds the parent of the step, of a kind of parents.
func (s *stepRun) addParent() error {
	kind, namespace, name := s.Step.Parent.split()
	for _, rule := range s.base.Plan.Config.Parents {
		if rule.Kind.Kind != kind {
			continue
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(rule.Kind)
		object.SetName(name)
		if rule.Namespaced && namespace == "" {
			namespace = s.namespace()
		}
		object.SetNamespace(namespace)
		p := &parentState{object: object}
		s.runner.parents, s.parents = append(s.runner.parents, p), []*parentState{p}
		return nil
	}
	return s.unusable(".parent", "parent: %s is no kind of parent of the definition", kind)
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
	return loop.Run(ctx, passes)
}

// failUnsettled notes why the passes do not come to an end.
func (s *stepRun) failUnsettled(ctx context.Context, unsettled *stage.UnsettledError) {
	f := Failure{Message: unsettled.Message}
	if unsettled.Waiting {
		_, later, _ := s.passErrors()
		err := errors.Join(later...)
		f.Message, f.Script = f.Message+": "+err.Error(), scriptPlace(err)
	} else if w := s.lastWrite(); w != nil {
		f.Message, f.Diff = f.Message+"; the last write was "+describeWrite(*w), changeLines(w.Before, w.After)
	}
	s.failCheck(CheckSettles, f)
	s.checkAnswers(ctx) // They may tell why.
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
func (s *stepRun) pass(ctx context.Context) (stage.PassResult, error) {
	moved, before := stage.Nothing, len(s.passes)
	for _, p := range s.parents {
		if p.gone && s.Step.Parent == "" {
			continue
		}
		result, err := s.session.Reconcile(ctx, p.object)
		if err != nil {
			return moved, err
		}
		interrupted := s.session.Interrupted()
		if interrupted {
			result.Err = nil // Nobody is left to tell.
		}
		if err := s.checkWaits(p, result); err != nil {
			return moved, err
		}
		p.last, p.gone = &result, result.Parent == nil
		p.answers.Add(result)
		s.passes = append(s.passes, passRun{p, result})
		s.keepSecrets(result)
		s.keepLogs(result)
		if err := s.spendPass(result); err != nil {
			return moved, err
		}
		moved = max(moved, stage.PassResultOf(result))
		if interrupted {
			if err := s.session.Restart(ctx); err != nil {
				return moved, err
			}
			moved = max(moved, stage.Waiting)
			break
		}
	}
	if s.observe != nil {
		s.observe(s.writesSince(before))
	}
	return moved, nil
}

// writesSince returns the writes of the passes from a number on.
func (s *stepRun) writesSince(pass int) []memcluster.Write {
	var all []memcluster.Write
	for _, p := range s.passes[pass:] {
		all = append(all, p.Writes...)
	}
	return all
}

// maxLogs is how many lines that hooks logged are kept.
const maxLogs = 10_000

func (r *runner) keepLogs(result simulation.Result) {
	for _, call := range result.Calls {
		r.result.Logs = append(r.result.Logs, call.Logs[:min(len(call.Logs), maxLogs-len(r.result.Logs))]...)
	}
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
	events, err := s.passError()
	s.compareError(err, events)
}

// passError returns the events of the last passes over the parents, and their errors as one.
func (s *stepRun) passError() ([]simulation.Event, error) {
	errs, later, events := s.passErrors()
	if s.Fails != "" {
		errs = append(errs, later...) // A pass that asks for another one has not failed, but tells why.
	}
	return events, errors.Join(errs...)
}

// passErrors returns the errors of the last passes over the parents, those of passes that ask for another one, and the events.
func (s *stepRun) passErrors() (errs, later []error, events []simulation.Event) {
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
	return errs, later, events
}

func (s *stepRun) compareError(err error, events []simulation.Event) {
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
		message := "the last pass did not fail, want an error that matches " + s.Fails
		if number := s.passThatFails(pattern); number > 0 {
			message += fmt.Sprintf(": pass %d has one, and a later pass went well: passes: %d ends the step there", number, number)
		}
		s.fail(Failure{Location: s.place(".fails"), Message: message})
		return
	}
	s.fail(Failure{
		Location: s.place(".fails"), Message: "the last pass fails with another error than " + s.Fails + ": " + said, Script: scriptPlace(err),
	})
}

// tellError reports the error of the last pass of a case that has failed, in which the error alone is no failure: it may be why.
func (s *stepRun) tellError() {
	_, err := s.passError()
	if err != nil && s.Fails == "" && s.testCase.Golden != "" {
		s.fail(Failure{Location: s.place(""), Message: "the pass fails: " + err.Error(), Script: scriptPlace(err)})
	}
}

// passThatFails returns the number of the first pass over a parent with an error that a pattern matches, or 0.
func (s *stepRun) passThatFails(pattern *regexp.Regexp) int {
	numbers := map[*parentState]int{}
	for _, pass := range s.passes {
		numbers[pass.parent]++
		if pass.Err != nil && pattern.MatchString(pass.Err.Error()) {
			return numbers[pass.parent]
		}
	}
	return 0
}

// scriptPlace returns the place in a script that an error has, or none.
func scriptPlace(err error) engines.Location {
	var e *engines.Error
	if errors.As(err, &e) {
		return e.Location
	}
	return engines.Location{}
}
