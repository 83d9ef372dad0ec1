package controllertest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// RunCase runs a case of a test. Cases share nothing, and may be run at the same time. It never panics: a case that cannot be run, and
// one that does not end before ctx does, is Errored. A case has logs even if it passed.
func RunCase(ctx context.Context, registry *engines.Registry, test *ControllerTest, c *Case, subject *Subject) (result Result) {
	start := time.Now()
	r := &runner{registry: registry, test: test, testCase: c, subject: subject}
	defer func() {
		if p := recover(); p != nil {
			r.result.Outcome = Errored
			r.fail(Failure{Location: c.Location, Message: fmt.Sprintf("a fault of Libretto: %v\n%s", p, debug.Stack())})
		}
		if r.session != nil {
			r.session.Close()
		}
		result = r.conclude()
		result.Duration = time.Since(start)
	}()
	r.result = Result{File: test.File, Name: c.Name, Location: c.Location, Outcome: Passed}
	if c.Skip != "" {
		r.result.Outcome, r.result.Reason = Skipped, c.Skip
		return
	}
	err := r.run(ctx)
	if tooLarge := r.spend(); tooLarge != nil { // Whatever the case says of its error.
		r.result.Failures, err = nil, tooLarge
	}
	if err != nil {
		r.cannot(err)
	}
	return
}

// runner runs one case.
type runner struct {
	registry *engines.Registry
	test     *ControllerTest
	testCase *Case
	subject  *Subject
	result   Result

	clock *clocktesting.FakeClock
	// base is the definition of the present step.
	base *stage.Base
	// redefined is set if that is not the subject's.
	redefined bool
	stage     *stage.Stage
	session   *simulation.Session
	hooks     caseHooks
	// written are the secrets in what the host wrote.
	written map[string]bool
	// outcomes are what happened in the steps, for the golden file.
	outcomes []fields
	// refusals are those that the steps have asked for.
	refusals []pendingRefusal
	// refused is why the definition is not accepted, or nil.
	refused *simulation.RefusedError
	// parents are all parents that there were, in the order in which they came.
	parents []*parentState
	// spent is about how many bytes the case keeps, if they are bounded.
	spent atomic.Int64
	// at is where the present step is. It is zero for a case with one.
	at place
	// request is what the case has of a hook's request.
	request map[string]any
	// inherits is set in steps of another case.
	inherits bool
}

// caseHooks are what answers the hooks of a case.
type caseHooks struct {
	programs map[string]engines.Program
	// scripts are the programs of scripts alone.
	scripts map[string]engines.Program
	// timeouts are those of all hooks.
	timeouts  map[string]time.Duration
	responses cannedResponses
}

// parentState is a parent, and what its last pass showed.
type parentState struct {
	object  *unstructured.Unstructured
	uid     types.UID
	gone    bool
	last    *simulation.Result
	answers stage.Answers
}

// name returns the parent's name as in messages.
func (p *parentState) name() ObjectName {
	return nameOf(p.object.GetKind(), p.object.GetNamespace(), p.object.GetName())
}

// errUnusable is the error of a case that cannot be run. It has the place that is to blame.
type errUnusable struct {
	at  engines.Location
	err error
}

func (e *errUnusable) Error() string { return e.err.Error() }

func (e *errUnusable) Unwrap() error { return e.err }

// unusable returns the error for a field of the case that cannot be used.
func (r *runner) unusable(field, format string, args ...any) error {
	return &errUnusable{at: r.place(field), err: fmt.Errorf(format, args...)}
}

// place returns where a field of the present step is.
func (r *runner) place(field string) engines.Location {
	within := r.testCase.place
	if r.at.within != nil {
		within = r.at.within
	}
	if within == nil {
		return r.testCase.Location
	}
	return within(r.at.field + field)
}

// cannot notes why a case could not be run.
func (r *runner) cannot(err error) {
	r.result.Outcome = Errored
	f := Failure{Location: r.testCase.Location, Message: err.Error(), Script: scriptPlace(err)}
	var at *errUnusable
	if errors.As(err, &at) {
		f.Location = at.at
	}
	r.fail(f)
}

// fail notes a failure.
func (r *runner) fail(f Failure) {
	if r.result.Outcome == Passed {
		r.result.Outcome = Failed
	}
	if len(r.result.Failures) < maxFailures {
		r.result.Failures = append(r.result.Failures, f)
	}
}

// maxFailures is how many failures of a case are kept.
const maxFailures = 50

// conclude returns the result, with secrets hidden.
func (r *runner) conclude() Result {
	known := r.testCase.KnownFailure
	switch {
	case known == "":
	case r.result.Outcome == Failed:
		r.result.Outcome, r.result.Reason = Skipped, "known failure: "+known
	case r.result.Outcome == Passed:
		r.fail(Failure{Location: r.testCase.Location, Message: "it passes now: take knownFailure out (" + known + ")"})
	}
	r.hideSecrets()
	return r.result
}

// begin reads the time and the definition of the case.
func (r *runner) begin() error {
	now := DefaultNow
	if r.test.Now != nil {
		now = r.test.Now.Time
	}
	r.clock = clocktesting.NewFakeClock(now)
	var err error
	if r.base, err = r.subject.base(now); err != nil {
		return err
	}
	if patch := r.testCase.DefinitionPatch; patch != nil {
		r.redefined = true
		r.base = r.base.Redefine(&unstructured.Unstructured{Object: jsonvalue.MergePatch(r.base.Definition.Object, patch)}, now)
	}
	return nil
}

// run runs the case.
func (r *runner) run(ctx context.Context) error {
	if err := r.begin(); err != nil {
		return err
	}
	if r.testCase.Hook != "" {
		return r.callHook(ctx)
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if err := r.runSteps(ctx); err != nil {
		return err
	}
	r.checkRefusals()
	return r.compareGolden()
}

// runSteps does the steps of the case, or the one step that it is. It ends with the first that fails.
func (r *runner) runSteps(ctx context.Context) error {
	if len(r.testCase.Steps) == 0 {
		return r.step(ctx, &r.testCase.Step)
	}
	for i := range r.testCase.Steps {
		r.at, r.inherits = r.testCase.placeOf(i), i < len(r.testCase.inherited)
		if err := r.step(ctx, &r.testCase.Steps[i]); err != nil {
			return err
		}
		if r.result.Outcome != Passed && r.subject.WriteFile == nil {
			return nil // What follows would fail for the same reason.
		}
	}
	return nil
}

// prepare makes the cluster of the case.
func (r *runner) prepare(ctx context.Context) error {
	objects, err := r.given(ctx)
	if err != nil {
		return err
	}
	r.stage, err = stage.New(stage.Input{Base: r.base, Objects: objects, Namespace: r.namespace(), Clock: r.clock, Warn: func(string) {}})
	if err != nil {
		return r.refuse(err)
	}
	r.base = r.stage.Base
	if err := r.useResponses(".webhooks", r.testCase.Webhooks); err != nil {
		return err
	}
	if r.hooks.programs, err = r.newPrograms(ctx); err != nil {
		return err
	}
	if r.session, err = r.stage.Run(ctx, r.hooks.programs); err != nil {
		return r.refuse(err)
	}
	r.meetParents()
	return nil
}

// refuse notes why a definition is not accepted, and returns any other error.
func (r *runner) refuse(err error) error {
	if !errors.As(err, &r.refused) {
		return err
	}
	return nil
}

// hostNamespace is the namespace of the host.
const hostNamespace = "libretto"

// namespace returns that of objects without one.
func (r *runner) namespace() string {
	if r.test.Namespace != "" {
		return r.test.Namespace
	}
	return "default"
}

// newPrograms returns the program of each hook of the definition.
func (r *runner) newPrograms(ctx context.Context) (map[string]engines.Program, error) {
	scripts := r.subject.Programs
	if r.redefined && !jsonvalue.Equal(scriptsOf(r.base.Definition), scriptsOf(r.subject.Definition)) {
		if r.subject.Compile == nil {
			return nil, r.unusable("",
				"a patch of the definition changes its scripts, which can't be compiled here: make a definition of its own for the case")
		}
		var err error
		if scripts, err = r.subject.Compile(ctx, r.base.Definition); err != nil {
			return nil, err
		}
	}
	r.hooks.scripts, r.hooks.timeouts = scripts, map[string]time.Duration{}
	for _, named := range r.base.Plan.Hooks {
		r.hooks.timeouts[string(named.Name)] = hooks.CallTimeout(named.Hook)
	}
	webhooks, err := r.newWebhooks(r.base.Plan)
	if err != nil {
		return nil, err
	}
	return r.bounded(hooks.Combine(r.base.Plan, scripts, webhooks)), nil
}

// scriptsOf returns what scripts are compiled from.
func scriptsOf(definition *unstructured.Unstructured) map[string]any {
	spec := jsonvalue.ObjectIn(definition.Object, "spec")
	all := map[string]any{"scriptSources": spec["scriptSources"]}
	for name, hook := range jsonvalue.ObjectIn(spec, "hooks") {
		if script := jsonvalue.AsObject(hook)["script"]; script != nil {
			all[name] = script
		}
	}
	return all
}

// meetParents adds the parents that are new in the cluster.
func (r *runner) meetParents() {
	for _, object := range r.session.Cluster().Snapshot() {
		if !r.stage.IsParent(object) {
			continue
		}
		i := slices.IndexFunc(r.parents, func(p *parentState) bool { return p.name() == nameOfObject(object) })
		if i < 0 {
			r.parents = append(r.parents, &parentState{object: object, uid: object.GetUID()})
		} else if r.parents[i].uid != object.GetUID() {
			r.parents[i] = &parentState{object: object, uid: object.GetUID()}
		}
	}
}

func nameOfObject(object *unstructured.Unstructured) ObjectName {
	return nameOf(object.GetKind(), object.GetNamespace(), object.GetName())
}
