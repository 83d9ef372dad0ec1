package controllertest

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// Execution is a case under way whose steps are given one at a time, and which can go on in several ways. Nothing is compared.
type Execution struct{ runner *runner }

// Begin returns the execution of a case before its first step. It must be closed.
func Begin(ctx context.Context, registry *engines.Registry, test *ControllerTest, c *Case, subject *Subject) (*Execution, error) {
	r := &runner{registry: registry, test: test, testCase: c, subject: subject}
	if err := r.begin(); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if r.refused != nil {
		return nil, r.refused
	}
	return &Execution{r}, nil
}

// Ending is how the passes of a step ended.
type Ending struct {
	// Unsettled is why they did not come to an end, or empty.
	Unsettled string
	// Err is the error of the last pass, or nil.
	Err error
	// Waits is set if a hook waits in its last answer.
	Waits bool
}

// Do does a step. observe is called after each pass over all parents, with its writes.
func (c *Execution) Do(ctx context.Context, step Step, observe func([]memcluster.Write)) (Ending, error) {
	r := c.runner
	r.result = Result{Outcome: Passed}
	step.Want, step.Fails = nil, ""
	s := &stepRun{runner: r, Step: &step, observe: observe}
	unsettled, err := s.act(ctx)
	ending := Ending{}
	_, ending.Err = s.passError()
	if unsettled != nil {
		ending.Unsettled = unsettled.Message
	}
	ending.Waits = slices.ContainsFunc(r.parents, func(p *parentState) bool { return len(r.session.Waits(p.object)) > 0 })
	return ending, err
}

// Matches reports whether what is in the cluster is as a part says.
func (c *Execution) Matches(ctx context.Context, want *Want) (bool, error) {
	r := c.runner
	r.result = Result{Outcome: Passed}
	s := &stepRun{runner: r, Step: &Step{Want: want}}
	if err := s.selectParents(); err != nil {
		return false, err
	}
	err := s.compare(ctx)
	return r.result.Outcome == Passed, err
}

// ParentKinds returns the kinds of the parents.
func (c *Execution) ParentKinds() []string {
	var kinds []string
	for _, rule := range c.runner.stage.Plan.Config.Parents {
		kinds = append(kinds, rule.Kind.Kind)
	}
	return kinds
}

// HideSecrets hides the values of the Secrets of the cluster and the case in a failure.
func (c *Execution) HideSecrets(f *Failure) {
	c.runner.result = Result{Failures: []Failure{*f}}
	c.runner.hideSecrets()
	*f = c.runner.result.Failures[0]
}

// Close ends the execution.
func (c *Execution) Close() {
	if c.runner.session != nil {
		c.runner.session.Close()
	}
}

// Checkpoint is an execution at a moment. It never changes, and holds nothing but the cluster.
type Checkpoint struct {
	runner *runner
	state  *simulation.State
	now    time.Time
}

// Checkpoint returns the present moment.
func (c *Execution) Checkpoint() *Checkpoint {
	r := c.runner
	return &Checkpoint{runner: r.copy(), state: r.session.State(), now: r.clock.Now()}
}

// copy returns a runner of the same case without a session.
func (r *runner) copy() *runner {
	next := &runner{registry: r.registry, test: r.test, testCase: r.testCase, subject: r.subject, base: r.base, stage: r.stage}
	r.hooks.responses.mu.Lock()
	defer r.hooks.responses.mu.Unlock()
	next.hooks.responses.add(r.hooks.responses.byHook)
	for _, p := range r.parents {
		next.parents = append(next.parents, &parentState{object: p.object, uid: p.uid, gone: p.gone})
	}
	return next
}

// Resume returns an execution that goes on from the moment, with a host that has just started. It must be closed.
func (p *Checkpoint) Resume(ctx context.Context) (*Execution, error) {
	r := p.runner.copy()
	r.clock = clocktesting.NewFakeClock(p.now)
	onStage := *p.runner.stage
	onStage.Clock, r.stage = r.clock, &onStage
	var err error
	if r.hooks.programs, err = r.newPrograms(ctx); err != nil {
		return nil, err
	}
	r.session, err = p.state.Run(ctx, r.clock, r.hooks.programs)
	return &Execution{r}, err
}

// Objects returns copies of all objects.
func (p *Checkpoint) Objects() []*unstructured.Unstructured { return p.state.Objects() }

// Versions returns the resourceVersion of each object.
func (p *Checkpoint) Versions() map[objectkey.Key]string { return p.state.Versions() }

// Parents returns the UIDs of the parents.
func (p *Checkpoint) Parents() map[types.UID]bool {
	uids := map[types.UID]bool{}
	for _, parent := range p.runner.parents {
		uids[parent.uid] = true
	}
	return uids
}

// Resource returns the plural name of a kind, or empty if the cluster does not have it.
func (p *Checkpoint) Resource(kind schema.GroupVersionKind) string { return p.state.Resource(kind) }
