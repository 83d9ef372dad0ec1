package definition

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// untouchedFor is how long after it was first seen nothing is written to a definition, or
	// to a new spec of it: whoever creates one may replace it at once, with the version that
	// the creation returned.
	newSpecDelay = 300 * time.Millisecond
	// startWithin is how long a definition may take to start before that is told. Sooner, the
	// start is one write: that it runs.
	startupDelay = time.Second
)

// spec names one spec of one definition.
type specVersion struct {
	uid        types.UID
	generation int64
}

// untold returns for how long nothing is to be written to a definition, which it is, as
// far as this host knows, at once, or zero.
func (s *runtimeState) statusDelay(object *unstructured.Unstructured, settled bool, now time.Time) time.Duration {
	if seen := (specVersion{object.GetUID(), object.GetGeneration()}); s.specVersion != seen {
		s.specVersion, s.specSeenAt = seen, now
	}
	wait := startupDelay
	if settled {
		wait = newSpecDelay
	}
	return max(0, s.specSeenAt.Add(wait).Sub(now))
}

// settled reports whether what there is to tell is no mere stage of a start.
func (v statusView) isFinal(refusal *Refusal) bool {
	ready := v.conditions[len(v.conditions)-1]
	return refusal != nil || ready.Status == metav1.ConditionTrue || len(v.problems.Problems) > 0
}
