package parent

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// marks are the annotations of all kinds of definitions that mark what they make.
var marks = []string{v1alpha1.DecoratorAnnotation, v1alpha1.MapAnnotation}

// makerOf returns the mark on an object, or the zero Mark.
func makerOf(object *unstructured.Unstructured) variant.Mark {
	for _, annotation := range marks {
		if name, _, _ := unstructured.NestedString(object.Object, "metadata", "annotations", annotation); name != "" {
			return variant.Mark{Annotation: annotation, Name: name}
		}
	}
	return variant.Mark{}
}

// appliedAs returns the mark that an object was last applied with, as far as it remembers.
func appliedAs(object *unstructured.Unstructured) variant.Mark {
	for _, annotation := range marks {
		if name := merge.LastAnnotation(object, annotation); name != "" {
			return variant.Mark{Annotation: annotation, Name: name}
		}
	}
	return variant.Mark{}
}

// remembering is the claim's rule for whom a child belongs to, which believes an object
// that has lost its mark when it shows another trace of the definition that made it. So the
// mark is put back, and no definition takes what another one made.
func (r *Reconciler) markedBy(claim variant.Claim) func(child *unstructured.Unstructured) bool {
	switch {
	case claim.Marked == nil:
		return nil
	case claim.Mark == variant.Mark{}:
		return func(child *unstructured.Unstructured) bool {
			return claim.Marked(child) && appliedAs(child) == variant.Mark{} && !r.appliedByMarking(child)
		}
	default:
		return func(child *unstructured.Unstructured) bool {
			return claim.Marked(child) || r.lostMark(claim.Mark, child)
		}
	}
}

// lostMark reports whether an object that has lost a part of its marks was made by the
// definition of that mark: it has the annotation at least, or it has none, but was last
// applied with it, or by this definition's manager alone.
func (r *Reconciler) lostMark(mark variant.Mark, child *unstructured.Unstructured) bool {
	if maker := makerOf(child); maker != (variant.Mark{}) {
		return maker == mark
	}
	if last := appliedAs(child); last != (variant.Mark{}) {
		return last == mark
	}
	own, others := serverside.AppliedBy(child, r.config.Managers.Own)
	return own && !others
}

// appliedByMarking reports whether another definition, of a kind that marks what it makes,
// has applied the object on the server's side.
func (r *Reconciler) appliedByMarking(child *unstructured.Unstructured) bool {
	if own, others := serverside.AppliedBy(child, r.config.Managers.Own); own || !others {
		return false
	}
	for _, entry := range r.appliedFields(child) {
		fields, _ := entry.(map[string]any)
		manager, _ := fields["manager"].(string)
		if strings.Contains(manager, "/decorator/") || strings.Contains(manager, "/map/") {
			return true
		}
	}
	return false
}

// unmarked says why an object that the parent owns is none of the definition's children.
func (p *pass) unmarked(live *unstructured.Unstructured) string {
	switch maker := makerOf(live); {
	case maker != variant.Mark{}:
		return fmt.Sprintf("exists and another definition made it for the same parent, as its annotation %s: %s says: let the hook choose another name",
			maker.Annotation, maker.Name)
	case p.rule.Mark == variant.Mark{}, appliedAs(live) != variant.Mark{}:
		return "exists and another definition made it for the same parent: let the hook choose another name"
	default:
		return fmt.Sprintf("exists and belongs to the parent, but has no annotation %[1]s, so that nothing tells who made it: "+
			"if this definition did, put the annotation back (%[1]s: %[2]s) or delete the object; otherwise let the hook choose another name",
			p.rule.Mark.Annotation, p.rule.Mark.Name)
	}
}

// findStrays notes outputs of the parent that nothing tells of whose they are: a part of the
// marks of a map is on them, but not which.
func (p *pass) findUnownedOutputs(candidates []*unstructured.Unstructured) {
	if p.rule.Mark.Annotation != v1alpha1.MapAnnotation {
		return
	}
	for _, child := range candidates {
		owner := informer.ControllerOf(child)
		if owner == nil || owner.UID != p.parent.GetUID() || makerOf(child) != (variant.Mark{}) || appliedAs(child) != (variant.Mark{}) || p.rule.Marked(child) {
			continue
		}
		label, _, _ := unstructured.NestedString(child.Object, "metadata", "labels", v1alpha1.MapKey)
		key, _, _ := unstructured.NestedString(child.Object, "metadata", "annotations", v1alpha1.MapKey)
		if label != "" || key != "" {
			p.unownedOutputs = append(p.unownedOutputs, apply.KeyOf(child))
		}
	}
}

// tellStrays tells of them on the parent, but for those that are desired: that they can't be
// created is told anyway. They are left as they are.
func (p *pass) reportUnownedOutputs(desired variant.Desired) {
	for _, child := range p.unownedOutputs {
		if slices.ContainsFunc(desired.Children, func(wanted *unstructured.Unstructured) bool { return apply.KeyOf(wanted) == child }) {
			continue
		}
		p.env.Events.Event(p.parent, corev1.EventTypeWarning, variant.ReasonMarkMissing, fmt.Sprintf(
			"%s: %s is an output of the parent, but has no annotation %s any more, so that nothing tells which definition made it: "+
				"it is neither updated nor deleted: put the annotation back with the definition's name, or delete the object",
			variant.ReasonMarkMissing, child, v1alpha1.MapAnnotation))
	}
}
