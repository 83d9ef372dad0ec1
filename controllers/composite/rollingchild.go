package composite

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// member is a wanted child of a kind that is rolled out.
type rollingChild struct {
	id       childID
	key      apply.Key
	strategy *v1alpha1.ChildUpdateStrategy
	// unavailable bounds how many members may be down when this one is moved.
	maxUnavailable int
	// last says that the strategy's partition covers this one.
	inPartition bool

	revision       *revision
	observed       *unstructured.Unstructured // nil if it is missing
	updateVersion  *unstructured.Unstructured // as the latest revision wants it
	currentVersion *unstructured.Unstructured // as an old holder wants it; nil if it doesn't
	// unmade says that it is missing and is not to be made in this pass.
	withheld bool
	// fresh says that the observed child is as the latest revision wants it, kept
	// that it is as an old holder does.
	isUpdated, isCurrent bool

	// trouble is what is wrong with the observed child, as a predicate, or empty.
	unavailableReason string
	// middle says that it is in the middle of an update.
	updating bool
}

// members returns the children of the latest answer that are rolled out, in the
// order in which their strategies reach them.
func (v *Variant) rollingChildren(observed variant.Observed, h *history, wanted []*unstructured.Unstructured) []*rollingChild {
	seen := map[apply.Key]*unstructured.Unstructured{}
	for _, child := range observed.Children {
		seen[apply.KeyOf(child)] = child
	}
	var members []*rollingChild
	for _, object := range wanted {
		id, key := idOf(object, observed.Parent.GetNamespace()), apply.KeyOf(object)
		if strategy := v.rolling[id.GroupKind]; strategy != nil {
			members = append(members, &rollingChild{
				id: id, key: key, strategy: strategy, revision: h.revisionByChild[id], observed: seen[key], updateVersion: object,
			})
		}
	}
	reverseOrder(members)
	setLimits(members)
	return members
}

// reverse turns round the members of each strategy that asks for it, in the places
// that they have among the others.
func reverseOrder(members []*rollingChild) {
	places := map[*v1alpha1.ChildUpdateStrategy][]int{}
	for i, m := range members {
		if m.strategy.Order == v1alpha1.RolloutReverse {
			places[m.strategy] = append(places[m.strategy], i)
		}
	}
	for _, at := range places {
		for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
			members[at[i]], members[at[j]] = members[at[j]], members[at[i]]
		}
	}
}

// setBounds tells each member what its strategy makes of the number of members
// that share it.
func setLimits(members []*rollingChild) {
	total := map[*v1alpha1.ChildUpdateStrategy]int{}
	for _, m := range members {
		total[m.strategy]++
	}
	left := map[*v1alpha1.ChildUpdateStrategy]int{}
	for _, m := range members {
		m.maxUnavailable = maxUnavailable(m.strategy, total[m.strategy])
		m.inPartition = total[m.strategy]-left[m.strategy] <= partition(m.strategy)
		left[m.strategy]++
	}
}

// versions are the children as old revisions want them, by revision.
type versions map[*revision]map[apply.Key]*unstructured.Unstructured

// setVersions tells the members of old revisions what these want them to be, and
// returns all that these want. What the parent's selector would not match by now is
// as good as not wanted.
func (v *Variant) setVersions(p *unstructured.Unstructured, members []*rollingChild, wanted map[*revision][]*unstructured.Unstructured) versions {
	finish := v.finishFor(p)
	versions := versions{}
	for r, children := range wanted {
		versions[r] = map[apply.Key]*unstructured.Unstructured{}
		for _, child := range children {
			if _, problem := finish(child); problem == "" {
				versions[r][apply.KeyOf(child)] = child
			}
		}
	}
	for _, m := range members {
		m.currentVersion = versions[m.revision][m.key]
	}
	return versions
}
