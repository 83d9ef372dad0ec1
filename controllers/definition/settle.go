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
	untouchedFor = 300 * time.Millisecond
	// startWithin is how long a definition may take to start before that is told. Sooner, the
	// start is one write: that it runs.
	startWithin = time.Second
)

// spec names one spec of one definition.
type spec struct {
	uid        types.UID
	generation int64
}

// untold returns for how long nothing is to be written to a definition, which it is, as
// far as this host knows, at once, or zero.
func (h *runtimeState) untold(object *unstructured.Unstructured, settled bool, now time.Time) time.Duration {
	if seen := (spec{object.GetUID(), object.GetGeneration()}); h.seen != seen {
		if h.seen.uid != seen.uid {
			h.status = nil // That of an earlier definition of the name.
		}
		h.seen, h.since = seen, now
	}
	wait := startWithin
	if settled {
		wait = untouchedFor
	}
	return max(0, h.since.Add(wait).Sub(now))
}

// settled reports whether what there is to tell is no mere stage of a start.
func (v statusView) settled(refusal *Refusal) bool {
	ready := v.conditions[len(v.conditions)-1]
	return refusal != nil || ready.Status == metav1.ConditionTrue || len(v.problems.Problems) > 0
}
