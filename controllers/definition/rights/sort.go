package rights

import (
	"cmp"
	"slices"
)

// verbOrder is the order of verbs in roles and messages.
var verbOrder = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// sorted returns each need once, with the level that is needed most.
func (c *collector) sorted() []Need {
	slices.SortStableFunc(c.needs, func(a, b Need) int { return cmp.Or(compare(a, b), cmp.Compare(a.Level, b.Level)) })
	return slices.CompactFunc(c.needs, func(a, b Need) bool { return compare(a, b) == 0 })
}

// compare compares all but the level.
func compare(a, b Need) int {
	return cmp.Or(
		cmp.Compare(a.Place, b.Place), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Name, b.Name),
		cmp.Compare(slices.Index(verbOrder, a.Verb), slices.Index(verbOrder, b.Verb)), cmp.Compare(a.Verb, b.Verb),
	)
}
