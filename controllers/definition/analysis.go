package definition

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/rollout/analysis"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

const (
	// analysisInterval is the time between the begins of two analyses of a step.
	analysisInterval = 5 * time.Second
	// confirmInterval is the time until it is made again that does not hold for the first time.
	confirmInterval = time.Second
	// jobsKept is for how long a Job of an analysis is kept after the longest time that its step may take.
	jobsKept = time.Hour
)

// analysisRun is what the checks of the present step said last. Only the reconcile of the definition uses it.
type analysisRun struct {
	last rollout.Analysis
	// failures is how often in a row they have not held.
	failures int
	// id is what is being made, if answer is not nil.
	id     string
	answer chan rollout.Analysis
	// ofAllShards has the parents of all shards while checks are made, or is nil if there is one shard.
	ofAllShards *parent.Reconciler
}

// end forgets what the checks said, and closes what they have opened.
func (a *analysisRun) end() {
	if a.ofAllShards != nil {
		a.ofAllShards.Close()
	}
	*a = analysisRun{}
}

// result returns what the checks said last. That they do not hold is not known before they have not held twice: a child that somebody has
// deleted may be about to be made again.
func (a *analysisRun) result() rollout.Analysis {
	select {
	case now := <-a.answer: // Never, if that is nil.
		if now.Result != rollout.AnalysisFailed || now.ID != a.last.ID {
			a.failures = 0
		}
		if now.Result == rollout.AnalysisFailed {
			a.failures++
		}
		a.last, a.answer = now, nil
	default:
	}
	result := a.last
	if a.failures == 1 {
		result.Result, result.Message = rollout.AnalysisUnknown, result.Message+"; that is looked at again"
	}
	return result
}

// dueIn returns how long it is until the checks are to be made again.
func (a *analysisRun) dueIn(now time.Time) time.Duration {
	interval := analysisInterval
	if a.failures == 1 {
		interval = confirmInterval
	}
	return a.last.At.Add(interval).Sub(now)
}

// analyze makes the checks that a rollout asks for, in the background, if they are due. It returns how long it is until they are, or zero.
// What was asked for before is forgotten.
func (r *Reconciler) analyze(
	s *runtimeState, i *instance, object *unstructured.Unstructured, want rollout.AnalysisRequest, state rollout.State,
) time.Duration {
	a := &i.analysis
	if want.ID == "" || r.config.Analyst == nil {
		a.end()
		return 0
	}
	if a.answer != nil && a.id == want.ID { // It enqueues the definition.
		return 0
	}
	left := a.dueIn(r.config.Environment.Clock.Now())
	if a.last.ID == want.ID && !a.last.At.Before(want.Since) && left > 0 {
		return left
	}
	step := s.rollout.Steps[want.Step-1]
	longest := ptr.Deref(step.PauseSeconds, 0) + ptr.Deref(s.rollout.ProgressDeadlineSeconds, rollout.DefaultProgressDeadline)
	subject := analysis.Step{
		AnalysisRequest: want, Checks: step.Analysis, Definition: object, JobsKept: jobsKept + time.Duration(longest)*time.Second,
	}
	answer, assignment := make(chan rollout.Analysis, 1), rollout.AssignmentOf(s.rollout, &state)
	a.id, a.answer = want.ID, answer
	of, err := r.analyzed(i)
	go func() {
		defer i.changed()
		if err == nil {
			err = waitForShards(context.Background(), of)
		}
		if err != nil {
			answer <- rollout.Analysis{ID: want.ID, At: r.config.Environment.Clock.Now(), Check: "analysis", Message: err.Error()}
			return
		}
		subject.Parents = analyzedParents(of, assignment, state)
		answer <- r.config.Analyst.Analyze(identity.WithAccount(context.Background(), i.plan.Config.Account), subject)
	}()
	return 0
}

// analyzed returns the reconciler that has all parents of an instance: its own, or one with those of all shards.
func (r *Reconciler) analyzed(i *instance) (*parent.Reconciler, error) {
	if !r.isShared(i.plan.Key()) {
		return i.reconciler, nil
	}
	if i.analysis.ofAllShards == nil {
		all, err := i.reconciler.OfAllShards()
		if err != nil {
			return nil, err
		}
		i.analysis.ofAllShards = all
	}
	return i.analysis.ofAllShards, nil
}

// analyzedParents returns the parents that have the edit, as the caches have them.
func analyzedParents(of *parent.Reconciler, assignment rollout.Assignment, state rollout.State) []analysis.Parent {
	var all []analysis.Parent
	before := rollout.ChildrenByParent(state.ChildrenBefore)
	of.EachParent(func(object *unstructured.Unstructured, _ parent.LastSync) {
		member := rollout.MemberOf(object)
		if !assignment.HasUpdated(member) {
			return
		}
		p := analysis.Parent{Name: apply.KeyOf(object).String(), Object: object, Children: of.LastingChildren(object)}
		if n, is := before[member.Hash]; is {
			p.Before = &n
		} else if began := state.StartedAt; began != nil && !object.GetCreationTimestamp().Time.Before(began.Add(-time.Second)) {
			p.Before = new(int) // It came later. The begin is rounded up.
		}
		all = append(all, p)
	})
	slices.SortFunc(all, func(a, b analysis.Parent) int { return strings.Compare(a.Name, b.Name) })
	return all
}
