package discovery

import (
	"iter"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// Hint returns which of the known resources may be meant by one that is not among them: the plural of a kind, one of a name that is nearly
// the same, or the same in another apiVersion. It returns "" if none is near.
func Hint(apiVersion, resource string, known iter.Seq[Resource]) string {
	var here, elsewhere []string
	for found := range known {
		isMeant := strings.EqualFold(found.Resource, resource) || strings.EqualFold(found.Kind.Kind, resource)
		switch own := found.GroupVersion().String(); {
		case own == apiVersion && isMeant:
			return "write the lower-case plural, " + found.Resource
		case own == apiVersion:
			here = append(here, found.Resource)
		case isMeant:
			elsewhere = append(elsewhere, found.Resource+" in "+own)
		}
	}
	if meant := spelling.Meant(resource, here); meant != "" {
		return meant
	}
	slices.Sort(elsewhere)
	if elsewhere = slices.Compact(elsewhere); len(elsewhere) > 0 {
		return "there is " + strings.Join(elsewhere[:min(len(elsewhere), maxElsewhere)], ", ")
	}
	return ""
}

// maxElsewhere is how many resources of other groups a hint names.
const maxElsewhere = 5

// all returns the resources that are known. The caller holds mu while it goes through them.
func (d *Discovery) all() iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		for _, resource := range d.served {
			if !yield(resource) {
				return
			}
		}
		for _, table := range d.custom {
			for _, resource := range table {
				if !yield(resource) {
					return
				}
			}
		}
	}
}
