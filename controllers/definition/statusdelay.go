package definition

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

const (
	// newSpecDelay is the time after a new spec is first seen in which no status is written: a
	// client that has created a definition may replace it at once, with the resourceVersion that
	// the creation returned.
	newSpecDelay = 300 * time.Millisecond
	// startupDelay is the time in which a starting definition gets no status, so that a fast
	// start costs one write.
	startupDelay = time.Second
)

// specVersion identifies one spec of one definition.
type specVersion struct {
	uid        types.UID
	generation int64
}

// statusDelay returns how long to wait before the status is written, or zero.
func (s *runtimeState) statusDelay(object *unstructured.Unstructured, final bool, now time.Time) time.Duration {
	if seen := (specVersion{object.GetUID(), object.GetGeneration()}); s.specVersion != seen {
		if s.specVersion.uid != seen.uid {
			s.status = nil // It belongs to an earlier definition of the same name.
		}
		s.specVersion, s.specSeenAt = seen, now
	}
	wait := startupDelay
	if final {
		wait = newSpecDelay
	}
	return max(0, s.specSeenAt.Add(wait).Sub(now))
}

// countsDelay returns how long to wait before a status is written that differs from the last one only in its counts, or zero. Each write
// leads to the next look at the definition, so that counts that change all the time would be written all the time.
func (s *runtimeState) countsDelay(next v1alpha1.DefinitionStatus, now time.Time) time.Duration {
	if s.status == nil || sameCounts(*s.status, next) || !equality.Semantic.DeepEqual(withoutCounts(*s.status), withoutCounts(next)) {
		return 0
	}
	if wait := s.countedAt.Add(statusDebounce).Sub(now); wait > 0 {
		return wait
	}
	s.countedAt = now
	return 0
}

func sameCounts(a, b v1alpha1.DefinitionStatus) bool {
	return ptr.Equal(a.Parents, b.Parents) && ptr.Equal(a.WaitingParents, b.WaitingParents) && ptr.Equal(a.WaitingInputs, b.WaitingInputs)
}

// withoutCounts returns a copy of a status without its counts, and without the times of its conditions, of which stored ones have whole
// seconds.
func withoutCounts(status v1alpha1.DefinitionStatus) *v1alpha1.DefinitionStatus {
	rest := status.DeepCopy()
	rest.Parents, rest.WaitingParents, rest.WaitingInputs = nil, nil, nil
	for i := range rest.Conditions {
		rest.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return rest
}

// isFinal reports whether the status is more than a stage of the start.
func (v statusView) isFinal(refusal *Refusal) bool {
	ready := v.conditions[len(v.conditions)-1]
	return refusal != nil || ready.Status == metav1.ConditionTrue || len(v.problems.Problems) > 0
}
