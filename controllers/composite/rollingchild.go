package composite

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// rollingChild is a desired child of a kind that is updated a few at a time.
type rollingChild struct {
	id       childID
	key      apply.Key
	strategy *v1alpha1.ChildUpdateStrategy
	// maxUnavailable is the number of children that may be unavailable when the update of
	// this one starts.
	maxUnavailable int
	// inPartition is true if the strategy's partition holds this child back.
	inPartition bool

	revision       *revision                  // the revision of the child; nil if none lists it
	observed       *unstructured.Unstructured // nil if it is missing
	updateVersion  *unstructured.Unstructured // as the update revision wants it
	currentVersion *unstructured.Unstructured // as its old revision wants it, or nil
	// isUpdated and isCurrent report whether the observed child is as updateVersion, or
	// currentVersion, says.
	isUpdated, isCurrent bool
	// withheld is true if the child is missing and is not created in this reconcile.
	withheld bool

	// updating is true in the middle of an update.
	updating bool
	// unavailableReason is empty if the child is available.
	unavailableReason string
}

// rollingChildren returns the children of the latest answer that are rolled out, in the order
// in which their strategies update them.
func (v *Variant) rollingChildren(observed variant.Observed, h *history, wanted []*unstructured.Unstructured) []*rollingChild {
	existing := map[apply.Key]*unstructured.Unstructured{}
	for _, object := range observed.Children {
		existing[apply.KeyOf(object)] = object
	}
	var children []*rollingChild
	for _, object := range wanted {
		id, key := idOf(object, observed.Parent.GetNamespace()), apply.KeyOf(object)
		if strategy := v.rolling[id.GroupKind]; strategy != nil {
			children = append(children, &rollingChild{
				id: id, key: key, strategy: strategy, revision: h.revisionByChild[id], observed: existing[key], updateVersion: object,
			})
		}
	}
	reverseOrder(children)
	setLimits(children)
	return children
}

// reverseOrder reverses the children of each strategy with order Reverse. Other children keep
// their places.
func reverseOrder(children []*rollingChild) {
	places := map[*v1alpha1.ChildUpdateStrategy][]int{}
	for i, c := range children {
		if c.strategy.Order == v1alpha1.RolloutReverse {
			places[c.strategy] = append(places[c.strategy], i)
		}
	}
	for _, at := range places {
		for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
			children[at[i]], children[at[j]] = children[at[j]], children[at[i]]
		}
	}
}

// setLimits sets the limits that depend on the number of children with the same strategy.
func setLimits(children []*rollingChild) {
	total := map[*v1alpha1.ChildUpdateStrategy]int{}
	for _, c := range children {
		total[c.strategy]++
	}
	before := map[*v1alpha1.ChildUpdateStrategy]int{}
	for _, c := range children {
		c.maxUnavailable = maxUnavailable(c.strategy, total[c.strategy])
		c.inPartition = total[c.strategy]-before[c.strategy] <= partition(c.strategy)
		before[c.strategy]++
	}
}

// versions are the children as old revisions want them, by revision.
type versions map[*revision]map[apply.Key]*unstructured.Unstructured

// upToDateFunc reports whether applying desired leaves observed unchanged.
type upToDateFunc func(observed, desired *unstructured.Unstructured) (bool, error)

// setVersions sets the current versions of children and returns all versions that old
// revisions want, without those that the parent's selector no longer matches.
func (v *Variant) setVersions(
	p *unstructured.Unstructured, children []*rollingChild, wanted map[*revision][]*unstructured.Unstructured,
) versions {
	finish := v.finishFor(p)
	versions := versions{}
	for r, objects := range wanted {
		versions[r] = map[apply.Key]*unstructured.Unstructured{}
		for _, object := range objects {
			if _, problem := finish(object); problem == "" {
				versions[r][apply.KeyOf(object)] = object
			}
		}
	}
	for _, c := range children {
		c.currentVersion = versions[c.revision][c.key]
	}
	return versions
}

// compareVersions sets isUpdated and isCurrent. If all children are of the update revision it compares nothing, as none waits for
// another: an existing child counts as updated, since the same reconcile writes it if it is not.
func compareVersions(children []*rollingChild, update *revision, upToDate upToDateFunc) error {
	if !slices.ContainsFunc(children, func(c *rollingChild) bool { return c.revision != update }) {
		for _, c := range children {
			c.isUpdated = c.observed != nil
		}
		return nil
	}
	if upToDate == nil {
		upToDate = isUpToDate
	}
	for _, c := range children {
		var errs [2]error
		c.isUpdated, errs[0] = c.isLike(c.updateVersion, upToDate)
		c.isCurrent, errs[1] = c.isLike(c.currentVersion, upToDate)
		if err := errors.Join(errs[:]...); err != nil {
			return fmt.Errorf("%s: %w", c.key, err)
		}
	}
	return nil
}

// isLike reports whether the child exists and is as desired. A nil desired is never matched.
func (c *rollingChild) isLike(desired *unstructured.Unstructured, upToDate upToDateFunc) (bool, error) {
	if c.observed == nil || desired == nil {
		return false, nil
	}
	return upToDate(c.observed, desired)
}

// isUpToDate reports whether dynamic apply of desired leaves observed unchanged.
func isUpToDate(observed, desired *unstructured.Unstructured) (bool, error) {
	merged, err := merge.Merge(nil, observed, desired)
	return merged.Object == observed, err
}
