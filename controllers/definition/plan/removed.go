package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// objectCounts returns the number of objects that an instance manages.
type objectCounts interface {
	ParentsOf(kind schema.GroupKind) int
	NotSelected(rule variant.ParentRule) int
	ChildrenOf(kind schema.GroupKind) (count int, example string)
}

// Removed returns warnings about what previous manages and next does not.
func Removed(previous, next *Plan, left objectCounts) []Warning {
	return slices.Concat(deselectedParents(previous, next, left), removedResources(previous, next, left))
}

// removedResources returns warnings about resources that previous manages and next does not, if
// there are objects of them: they will be neither updated nor deleted.
func removedResources(previous, next *Plan, left objectCounts) []Warning {
	var all []Warning
	for _, rule := range previous.Config.Parents {
		kind := rule.Kind.GroupKind()
		if slices.ContainsFunc(next.Config.Parents, func(r variant.ParentRule) bool { return r.Kind.GroupKind() == kind }) {
			continue
		}
		if n := left.ParentsOf(kind); n > 0 {
			all = append(all, Warning{Reason: ReasonParentResourceRemoved, Message: fmt.Sprintf(
				"generation %d of the spec took %s out of %s while it looked after %d of them: "+
					"what was made for them stays and is not updated any more: "+
					"put the resource back, or delete what is not wanted by hand", next.Generation, rule.GroupResource(), parentField[next.Kind], n)})
		}
	}
	for _, rule := range previous.Config.Children {
		kind := rule.Kind.GroupKind()
		if slices.ContainsFunc(next.Config.Children, func(r variant.ChildRule) bool { return r.Kind.GroupKind() == kind }) {
			continue
		}
		if n, example := left.ChildrenOf(kind); n > 0 {
			all = append(all, Warning{Reason: ReasonChildResourceRemoved, Message: fmt.Sprintf(
				"generation %d of the spec took %s out of %s while it looked after %d of them, such as %s: "+
					"they are not updated any more, nor deleted before their parents are: "+
					"put the resource back and let the hook leave them out of its answer first, or delete them by hand; %s lists them",
				next.Generation, rule.GroupResource(), childField[next.Kind], n, example, listCommand(previous, rule))})
		}
	}
	return all
}

// listCommand returns a command that lists the objects of a rule that objects of the plan's parent resources own. No shell has to quote it.
func listCommand(p *Plan, rule variant.ChildRule) string {
	in, owners := "-A", ""
	if p.Namespace != "" {
		in = "-n " + p.Namespace
	}
	for _, parent := range p.Config.Parents {
		owners += " -e " + parent.Kind.Kind
	}
	return fmt.Sprintf("kubectl get %s %s -o custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,"+
		"OWNER:.metadata.ownerReferences..kind | grep -w%s", rule.GroupResource(), in, owners)
}

// deselectedParents returns warnings about parents that previous selects and next does not, if there are children: what was made for them
// is left as it is.
func deselectedParents(previous, next *Plan, left objectCounts) (all []Warning) {
	if previous.Config.Finalizing.Enabled && next.Config.Finalizing.Enabled { // They are finalized.
		return nil
	}
	if !slices.ContainsFunc(previous.Config.Children, func(r variant.ChildRule) bool {
		n, _ := left.ChildrenOf(r.Kind.GroupKind())
		return n > 0
	}) {
		return nil
	}
	for _, rule := range next.Config.Parents {
		if n := left.NotSelected(rule); n > 0 {
			all = append(all, Warning{Reason: ReasonParentsNotSelected, Message: fmt.Sprintf(
				"generation %d of the spec does not select %d of the %s in %s that were parents before: "+
					"what was made for them stays and is not updated any more: "+
					"correct the selector or their labels, or delete what is not wanted by hand", next.Generation, n,
				rule.GroupResource(), parentField[next.Kind])})
		}
	}
	return all
}

// The fields with the resources of parents and of children, by kind of definition.
var (
	parentField = map[string]string{
		v1alpha1.CompositeControllerKind: "parentResource",
		v1alpha1.DecoratorControllerKind: "resources",
		v1alpha1.MapControllerKind:       "parentResource",
	}
	childField = map[string]string{
		v1alpha1.CompositeControllerKind: "childResources",
		v1alpha1.DecoratorControllerKind: "attachments",
		v1alpha1.MapControllerKind:       "outputResources",
	}
)
