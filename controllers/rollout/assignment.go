package rollout

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// All is the bound that every hash is below.
const All = int64(math.MaxUint32) + 1

// Member is what decides whether a parent is a member of a step.
type Member struct {
	Hash   uint32
	Labels map[string]string
}

// MemberOf returns what decides about a parent.
func MemberOf(parent metav1.Object) Member {
	return Member{Hash: HashOf(parent.GetUID()), Labels: parent.GetLabels()}
}

// HashOf returns the hash of a parent's UID. Statuses have such hashes, and bounds of them: another hash would move parents in the middle
// of a rollout.
func HashOf(uid types.UID) uint32 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(uid))
	return uint32(hash.Sum64() >> 32)
}

// Assignment tells which of two revisions a parent gets.
type Assignment struct {
	// Stable and Updated are IDs of revisions. Updated is empty unless an edit is rolled out.
	Stable, Updated string
	// A parent gets Updated if its hash is below bound, or if one of selectors matches: those of the present step and of all before it.
	bound     int64
	selectors []labels.Selector
}

// AssignmentOf returns the assignment of a state that is stored.
func AssignmentOf(spec *v1alpha1.ScriptRollout, stored *State) Assignment {
	a := Assignment{Stable: stored.StableRevision, Updated: stored.UpdatedRevision}
	if a.Updated == "" {
		return a
	}
	var steps []v1alpha1.ScriptRolloutStep
	if spec != nil {
		steps = spec.Steps
	}
	step := int(ptr.Deref(stored.Step, 1))
	if step > len(steps) { // It is the step after those of the spec, or steps have been removed from the spec meanwhile.
		a.bound = All
		return a
	}
	a.bound, a.selectors = ptr.Deref(stored.Bound, 0), selectorsOf(steps[:step])
	return a
}

// HasUpdated reports whether a parent gets the updated revision.
func (a Assignment) HasUpdated(m Member) bool {
	if a.Updated == "" {
		return false
	}
	if int64(m.Hash) < a.bound {
		return true
	}
	for _, selector := range a.selectors {
		if selector.Matches(labels.Set(m.Labels)) {
			return true
		}
	}
	return false
}

// RevisionOf returns the revision that a parent gets.
func (a Assignment) RevisionOf(m Member) string {
	if a.HasUpdated(m) {
		return a.Updated
	}
	return a.Stable
}

// Validate returns what is wrong with a spec that the schema lets pass.
func Validate(spec *v1alpha1.ScriptRollout) error {
	if spec == nil {
		return nil
	}
	for i, step := range spec.Steps {
		if _, err := metav1.LabelSelectorAsSelector(step.Selector); err != nil {
			return fmt.Errorf("spec.scriptRollout.steps[%d].selector: %w", i, err)
		}
	}
	return nil
}

// selectorsOf returns the selectors of steps. One that is invalid selects nothing: the spec is refused.
func selectorsOf(steps []v1alpha1.ScriptRolloutStep) []labels.Selector {
	var selectors []labels.Selector
	for _, step := range steps {
		if step.Selector == nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(step.Selector); err == nil {
			selectors = append(selectors, selector)
		}
	}
	return selectors
}

// countOf returns how many of all parents a share is, rounded up: a step with a small share of few parents has one at least.
func countOf(share intstr.IntOrString, all int) int {
	if share.Type == intstr.Int {
		return int(share.IntVal)
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(share.StrVal, "%"))
	if err != nil { // The schema refuses it.
		return 0
	}
	return (all*percent + 99) / 100
}

// Equal reports whether both give every parent the same.
func (a Assignment) Equal(o Assignment) bool {
	return a.Stable == o.Stable && a.Updated == o.Updated && a.bound == o.bound &&
		slices.EqualFunc(a.selectors, o.selectors, func(x, y labels.Selector) bool { return x.String() == y.String() })
}
