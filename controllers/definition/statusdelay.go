package definition

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
)

const (
	// newSpecDelay is the time after a new spec is first seen in which no status is written: a
	// client that has created a definition may replace it at once, with the resourceVersion that
	// the creation returned.
	newSpecDelay = 300 * time.Millisecond
	// startupDelay is the time in which a starting definition gets no status, so that a fast
	// start costs one write. A new spec may have to wait for its scripts.
	startupDelay = hooks.SettleTime + 500*time.Millisecond
)

// specVersion identifies one spec of one definition.
type specVersion struct {
	uid        types.UID
	generation int64
}

// statusDelay returns how long to wait before the status is written, or zero.
func (s *runtimeState) statusDelay(object *unstructured.Unstructured, final bool, now time.Time) time.Duration {
	if seen := (specVersion{object.GetUID(), object.GetGeneration()}); s.writes.spec != seen {
		if s.writes.spec.uid != seen.uid {
			s.status = nil // It belongs to an earlier definition of the same name.
		}
		s.writes.spec, s.writes.specSeenAt = seen, now
	}
	wait := startupDelay
	if final {
		wait = newSpecDelay
	}
	return max(0, s.writes.specSeenAt.Add(wait).Sub(now))
}

// isFinal reports whether the status is more than a stage of the start.
func (v statusView) isFinal(refusal *plan.Refusal) bool {
	ready := v.conditions[len(v.conditions)-1]
	if v.running.parents.Keep && ready.Status == metav1.ConditionTrue && !v.rollout.Changed {
		return false
	}
	return refusal != nil || v.rollout.Changed || ready.Status == metav1.ConditionTrue || len(v.newest.state.Problems) > 0
}

// parentsDelay returns how long to wait before a status is written that differs from the last one only in what it says of parents, or
// zero. Parents that fail and recover all the time would have it written all the time.
func (s *runtimeState) parentsDelay(next v1alpha1.DefinitionStatus, now time.Time) time.Duration {
	if s.status == nil || equality.Semantic.DeepEqual(status.OfParents(*s.status), status.OfParents(next)) {
		return 0
	}
	onlyParents := equality.Semantic.DeepEqual(status.WithoutParents(*s.status), status.WithoutParents(next))
	if wait := s.writes.parentsAt.Add(status.ParentsInterval).Sub(now); wait > 0 && onlyParents {
		return wait
	}
	s.writes.parentsAt = now
	return 0
}
