package rights

import (
	"slices"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/access"
)

// Wrote returns the need for a right that was used on an object of one of the definition's resources.
func Wrote(plan *plan.Plan, used access.Right) Need {
	c, need := collector{plan: plan}, Need{Right: used, Place: Anywhere, Level: Possible}
	need.Namespace = ""
	for _, resource := range plan.Resources() {
		if resource.GroupResource() == used.GroupResource {
			need.Place, need.Namespaced = c.placeOf(resource), resource.Namespaced
		}
	}
	return need
}

// Selected returns the needs for what a customize hook selects for a parent in a namespace, which is empty for one without.
func Selected(plan *plan.Plan, namespace string, selection parent.Selection) []Need {
	place := Anywhere
	switch {
	case plan.Settings.RelatedResources != nil:
		place = Fixed // Where it is declared, and nowhere else.
	case !selection.Resource.Namespaced, namespace != "" && selection.Namespace == namespace:
		place = WithParents
	}
	c := collector{}
	of := access.Right{GroupResource: selection.Resource.GroupResource()}
	c.add(Possible, place, of, selection.Resource.Namespaced, access.ReadVerbs...)
	return c.needs
}

// Narrow returns needs with those of the possible ones that were seen to be used, and what was seen besides. unused are the possible ones
// that were not.
func Narrow(needs, seen []Need) (narrowed, unused []Need) {
	same := func(a Need) func(Need) bool {
		return func(b Need) bool {
			return a.Verb == b.Verb && a.GroupResource == b.GroupResource && a.Subresource == b.Subresource
		}
	}
	c := collector{}
	for _, need := range needs {
		if need.Level == Possible && !slices.ContainsFunc(seen, same(need)) {
			unused = append(unused, need)
			continue
		}
		c.needs = append(c.needs, need)
	}
	for _, need := range seen {
		known := func(n Need) bool { return same(need)(n) && (n.Place == need.Place || n.Place == Anywhere) }
		if need.Place != Fixed && !slices.ContainsFunc(needs, known) {
			c.needs = append(c.needs, need)
		}
	}
	return c.sorted(), unused
}
