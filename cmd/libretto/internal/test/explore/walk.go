package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// reference makes the path of the case on which nothing goes wrong. Its states are the first frontier, its end states those to come to.
func (e *explorer) reference(ctx context.Context) error {
	execution, err := controllertest.Begin(ctx, e.Engines, e.Test, e.Case, e.Subject.Subject)
	if err != nil {
		return err
	}
	defer execution.Close()
	if explore := e.Case.Explore; explore != nil {
		if e.ignored, err = parseIgnored(explore.Ignore, execution.ParentKinds()); err != nil {
			return err
		}
	}
	steps := e.Case.Steps
	if len(steps) == 0 {
		steps = []controllertest.Step{e.Case.Step}
	}
	for i := range steps {
		nodes, err := e.referenceStep(ctx, execution, i, &steps[i])
		if err != nil || e.report.Skipped != "" {
			return err
		}
		for _, n := range nodes {
			e.push(n)
		}
	}
	return nil
}

// referenceStep does a step of the case, and returns its states. From its end it goes on until nothing changes any more and everything is
// ready: while something is not, a controller may wait instead of repairing what went wrong.
func (e *explorer) referenceStep(
	ctx context.Context, execution *controllertest.Execution, index int, step *controllertest.Step,
) ([]*node, error) {
	t := &track{base: step, step: index}
	edits, none := *step, 0
	edits.Passes = &none
	if _, err := execution.Do(ctx, edits, nil); err != nil {
		return nil, err
	}
	t.add(execution, []controllertest.Step{edits})
	passes := controllertest.Step{Ready: step.Ready, NotReady: step.NotReady, Parent: step.Parent, Passes: step.Passes}
	ending, err := execution.Do(ctx, passes, t.observer(execution, func(n int) []controllertest.Step {
		return []controllertest.Step{withPasses(*step, n)}
	}))
	if err != nil {
		return nil, err
	}
	t.add(execution, []controllertest.Step{*step})
	settled, err := execution.Checkpoint().Resume(ctx)
	if err != nil {
		return nil, err
	}
	defer settled.Close()
	if ending.Unsettled == "" {
		if ending, err = settled.Do(ctx, controllertest.Step{}, nil); err != nil {
			return nil, err
		}
	}
	if ending.Unsettled != "" {
		e.report.Skipped = "it does not settle by itself: " + ending.Unsettled
		return nil, nil
	}
	setting, err := e.setting(index, step)
	checkpoint := settled.Checkpoint()
	e.ends = append(e.ends, end{state: endStateOf(checkpoint.Objects(), e.ignored), checkpoint: checkpoint, setting: setting})
	if ending.Err != nil || ending.Waits {
		return nil, err // Nothing is repaired while the passes fail, or a hook waits.
	}
	return t.nodes, err
}

// setting returns a hash of what decides what follows from a state in a step, besides the state: who becomes ready, how webhooks respond,
// the definition, the time that has passed, and what is compared.
func (e *explorer) setting(index int, step *controllertest.Step) (uint64, error) {
	parts := []any{step.Ready, step.NotReady, step.Parent, e.Case.Explore, e.Case.DefinitionPatch, e.Case.Webhooks}
	for i := range min(index+1, len(e.Case.Steps)) {
		s := e.Case.Steps[i]
		parts = append(parts, s.Define, s.StepWebhooks, s.After)
	}
	if len(e.Case.Steps) == 0 {
		parts = append(parts, step.Define, step.StepWebhooks, step.After)
	}
	text, err := json.Marshal(parts)
	return jsonvalue.Hash(string(text)), err
}

func withPasses(step controllertest.Step, passes int) controllertest.Step {
	step.Passes = &passes
	return step
}

// track collects the states of a path.
type track struct {
	base  *controllertest.Step
	step  int
	words []string
	nodes []*node
}

// observer returns a function that adds the state after each pass. path returns the steps that lead to the state after n passes.
func (t *track) observer(execution *controllertest.Execution, path func(n int) []controllertest.Step) func([]memcluster.Write) {
	n := 0
	return func(writes []memcluster.Write) {
		n++
		before := t.nodes[len(t.nodes)-1]
		t.add(execution, path(n))
		before.look(t.nodes[len(t.nodes)-1], writes)
	}
}

func (t *track) add(execution *controllertest.Execution, steps []controllertest.Step) {
	t.nodes = append(t.nodes, &node{checkpoint: execution.Checkpoint(), base: t.base, step: t.step, path: steps, words: t.words})
}

// look notes what happened between a state and the one after the next pass: the pass's writes, and before it what other controllers did.
func (n *node) look(after *node, writes []memcluster.Write) {
	written := map[apply.Key]bool{}
	for _, w := range writes {
		if w.Err == nil {
			n.next = append(n.next, w)
			written[w.Key()] = true
		}
	}
	before := n.checkpoint.Versions()
	for key, version := range after.checkpoint.Versions() {
		if was, known := before[key]; known && was != version && !written[key] {
			n.acted = append(n.acted, key)
		}
	}
	slices.SortFunc(n.acted, compareKeys)
}

// maxSettling is how many times a path is made to settle while its last pass fails.
const maxSettling = 3

// walk makes a path: it goes on from a node with a fault, until nothing changes any more.
func (e *explorer) walk(ctx context.Context, p path) (outcome, error) {
	execution, err := p.from.checkpoint.Resume(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer execution.Close()
	t := &track{base: p.from.base, step: p.from.step, words: append(slices.Clone(p.from.words), p.sentence())}
	before := append(slices.Clone(p.from.path), p.fault.step)
	ending, err := execution.Do(ctx, p.fault.step, nil)
	if err != nil {
		return outcome{}, err
	}
	t.add(execution, before)
	o := outcome{ending: ending}
	for range maxSettling {
		step := controllertest.Step{}
		o.ending, err = execution.Do(ctx, step, t.observer(execution, func(n int) []controllertest.Step {
			return append(slices.Clone(before), withPasses(step, n))
		}))
		if err != nil {
			return outcome{}, err
		}
		o.steps = append(o.steps, step)
		if o.ending.Unsettled != "" || o.ending.Err == nil {
			break
		}
		before = append(slices.Clone(before), step)
	}
	o.checkpoint, o.nodes = execution.Checkpoint(), t.nodes
	o.end = endStateOf(o.checkpoint.Objects(), e.ignored)
	if o.end.hash() != e.ends[p.from.step].state.hash() {
		o.allowed, err = e.isAllowed(ctx, execution)
	}
	return o, err
}

// isAllowed reports whether the case names the end state.
func (e *explorer) isAllowed(ctx context.Context, execution *controllertest.Execution) (bool, error) {
	if e.Case.Explore == nil {
		return false, nil
	}
	for i := range e.Case.Explore.Ends {
		if ok, err := execution.Matches(ctx, &e.Case.Explore.Ends[i]); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// sentence says when a fault happens.
func (p path) sentence() string {
	passes := 0
	for _, step := range p.from.path {
		if step.Passes == nil {
			return "once nothing changes any more, " + p.fault.words
		}
		passes += *step.Passes
	}
	switch passes {
	case 0:
		return "before the first pass, " + p.fault.words
	case 1:
		return "after 1 pass, " + p.fault.words
	default:
		return fmt.Sprintf("after %d passes, %s", passes, p.fault.words)
	}
}
