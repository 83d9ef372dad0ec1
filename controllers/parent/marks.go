package parent

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// markAnnotations are the annotations by which definitions mark their children.
var markAnnotations = []string{v1alpha1.DecoratorAnnotation, v1alpha1.MapAnnotation}

// markOf returns the mark on an object, or the zero Mark.
func markOf(object *unstructured.Unstructured) variant.Mark {
	for _, annotation := range markAnnotations {
		if name, _, _ := unstructured.NestedString(object.Object, "metadata", "annotations", annotation); name != "" {
			return variant.Mark{Annotation: annotation, Name: name}
		}
	}
	return variant.Mark{}
}

// lastAppliedMark returns the mark in the last applied configuration of an object, or the zero
// Mark.
func lastAppliedMark(object *unstructured.Unstructured) variant.Mark {
	if !namesGroup(merge.Annotation(object.Object)) {
		return variant.Mark{} // One search in place of one for each kind of mark.
	}
	for _, annotation := range markAnnotations {
		if name := merge.LastAnnotation(object, annotation); name != "" {
			return variant.Mark{Annotation: annotation, Name: name}
		}
	}
	return variant.Mark{}
}

// namesGroup reports whether text has a name of the group of the definitions, with a slash behind. It looks for the slash, which
// is rare: strings.Contains would look at each byte of a long text.
func namesGroup(text string) bool {
	for {
		slash := strings.IndexByte(text, '/')
		if slash < 0 {
			return false
		}
		if strings.HasSuffix(text[:slash], v1alpha1.GroupVersion.Group) {
			return true
		}
		text = text[slash+1:]
	}
}

// withLostMarks returns claim.Marked extended by children that have lost their mark but show
// another trace of the definition that made them. So the mark is restored, and no definition
// claims another one's children.
func (r *shared) withLostMarks(claim variant.Claim) func(child *unstructured.Unstructured) bool {
	switch {
	case claim.Marked == nil:
		return nil
	case claim.Mark == variant.Mark{}:
		return func(child *unstructured.Unstructured) bool {
			return claim.Marked(child) && lastAppliedMark(child) == variant.Mark{} && !r.appliedByMarking(child)
		}
	default:
		return func(child *unstructured.Unstructured) bool {
			return claim.Marked(child) || r.hasLostMark(claim.Mark, child)
		}
	}
}

// hasLostMark reports whether an object that has lost a part of its marks was made by the
// definition of mark. Either it still has the annotation, or it was last applied with it or by
// this definition's manager alone.
func (r *shared) hasLostMark(mark variant.Mark, child *unstructured.Unstructured) bool {
	if maker := markOf(child); maker != (variant.Mark{}) {
		return maker == mark
	}
	if last := lastAppliedMark(child); last != (variant.Mark{}) {
		return last == mark
	}
	own, others := serverside.AppliedBy(child, r.config.Managers.Own)
	return own && !others
}

// appliedByMarking reports whether a decorator or map other than this definition has applied the
// object on the server side.
func (r *shared) appliedByMarking(child *unstructured.Unstructured) bool {
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

// explainUnmarked returns why an object that the parent owns is not one of the definition's
// children.
func (p *pass) explainUnmarked(live *unstructured.Unstructured) string {
	switch maker := markOf(live); {
	case maker != variant.Mark{}:
		return fmt.Sprintf(
			"exists and another definition made it for the same parent, as its annotation %s: %s says: let the hook choose another name",
			maker.Annotation, maker.Name)
	case p.claim.Mark == variant.Mark{}, lastAppliedMark(live) != variant.Mark{}:
		return "exists and another definition made it for the same parent: let the hook choose another name"
	default:
		return fmt.Sprintf("exists and belongs to the parent, but has no annotation %[1]s, so that nothing tells who made it: "+
			"if this definition did, put the annotation back (%[1]s: %[2]s) or delete the object; otherwise let the hook choose another name",
			p.claim.Mark.Annotation, p.claim.Mark.Name)
	}
}

// findUnownedOutputs records outputs of the parent whose map is unknown: they have a part of a
// map's marks, but not its name.
func (p *pass) findUnownedOutputs(candidates []*unstructured.Unstructured) {
	if p.claim.Mark.Annotation != v1alpha1.MapAnnotation {
		return
	}
	for _, child := range candidates {
		owner := informer.ControllerOf(child)
		marked := markOf(child) != variant.Mark{} || lastAppliedMark(child) != variant.Mark{} || p.claim.Marked(child)
		if owner == nil || owner.UID != p.parent.GetUID() || marked {
			continue
		}
		label, _, _ := unstructured.NestedString(child.Object, "metadata", "labels", v1alpha1.MapKey)
		key, _, _ := unstructured.NestedString(child.Object, "metadata", "annotations", v1alpha1.MapKey)
		if label != "" || key != "" {
			p.unownedOutputs = append(p.unownedOutputs, apply.KeyOf(child))
		}
	}
}

// reportUnownedOutputs emits one event about the unowned outputs. A desired one is left out, as its failed creation is reported anyway.
// The outputs are not changed.
func (p *pass) reportUnownedOutputs(desired variant.Desired) {
	unowned := slices.DeleteFunc(slices.Clone(p.unownedOutputs), func(child apply.Key) bool {
		return slices.ContainsFunc(desired.Children, func(wanted *unstructured.Unstructured) bool { return apply.KeyOf(wanted) == child })
	})
	if len(unowned) == 0 {
		return
	}
	others := ""
	if len(unowned) > 1 {
		others = fmt.Sprintf(" (as are %d more)", len(unowned)-1)
	}
	p.warn(p.key, p.parent, notices.Problem{Reason: variant.ReasonMarkMissing, Message: fmt.Sprintf(
		"%s: %s is an output of the parent%s, but has no annotation %s any more, so that nothing tells which definition made it: "+
			"it is neither updated nor deleted: put the annotation back with the definition's name, or delete the object",
		variant.ReasonMarkMissing, unowned[0], others, v1alpha1.MapAnnotation)})
}
