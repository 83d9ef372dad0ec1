package composite

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
)

// member is a wanted child of a kind that is rolled out.
type member struct {
	id       childID
	key      apply.Key
	strategy *v1alpha1.ChildUpdateStrategy
	// unavailable bounds how many members may be down when this one is moved.
	unavailable int
	// last says that the strategy's partition covers this one.
	last bool

	holder   *revision
	observed *unstructured.Unstructured // nil if it is missing
	latest   *unstructured.Unstructured // as the latest revision wants it
	old      *unstructured.Unstructured // as an old holder wants it; nil if it doesn't
	// fresh says that the observed child is as the latest revision wants it, kept
	// that it is as an old holder does.
	fresh, kept bool

	// trouble is what is wrong with the observed child, as a predicate, or empty.
	trouble string
	// middle says that it is in the middle of an update.
	middle bool
}

// members gives the children of the latest answer that are rolled out, in the
// order of the hook.
func (v *Variant) members(observed parent.Observed, h *history, wanted []*unstructured.Unstructured) []*member {
	seen := map[apply.Key]*unstructured.Unstructured{}
	for _, child := range observed.Children {
		seen[apply.KeyOf(child)] = child
	}
	var members []*member
	for _, child := range wanted {
		id, key := idOf(child, observed.Parent.GetNamespace()), apply.KeyOf(child)
		if strategy := v.rolling[id.GroupKind]; strategy != nil {
			members = append(members, &member{
				id: id, key: key, strategy: strategy, holder: h.holder[id], observed: seen[key], latest: child,
			})
		}
	}
	setBounds(members)
	return members
}

// setBounds tells each member what its strategy makes of the number of members
// that share it.
func setBounds(members []*member) {
	total := map[*v1alpha1.ChildUpdateStrategy]int{}
	for _, m := range members {
		total[m.strategy]++
	}
	left := map[*v1alpha1.ChildUpdateStrategy]int{}
	for _, m := range members {
		m.unavailable = unavailable(m.strategy, total[m.strategy])
		m.last = total[m.strategy]-left[m.strategy] <= partition(m.strategy)
		left[m.strategy]++
	}
}

// setVersions tells the members of old revisions what these want them to be. What
// the parent's selector would not match by now is as good as not wanted.
func (v *Variant) setVersions(p *unstructured.Unstructured, members []*member, wanted map[*revision][]*unstructured.Unstructured) {
	finish := v.selected(p)
	versions := map[*revision]map[apply.Key]*unstructured.Unstructured{}
	for r, children := range wanted {
		versions[r] = map[apply.Key]*unstructured.Unstructured{}
		for _, child := range children {
			if _, problem := finish(child); problem == "" {
				versions[r][apply.KeyOf(child)] = child
			}
		}
	}
	for _, m := range members {
		m.old = versions[m.holder][m.key]
	}
}
