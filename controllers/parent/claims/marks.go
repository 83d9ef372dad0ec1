package claims

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// markAnnotations are the annotations by which definitions mark their children.
var markAnnotations = []string{v1alpha1.DecoratorAnnotation, v1alpha1.MapAnnotation}

// MarkOf returns the mark on an object, or the zero Mark.
func MarkOf(object *unstructured.Unstructured) variant.Mark {
	for _, annotation := range markAnnotations {
		if name, _, _ := unstructured.NestedString(object.Object, "metadata", "annotations", annotation); name != "" {
			return variant.Mark{Annotation: annotation, Name: name}
		}
	}
	return variant.Mark{}
}

// LastAppliedMark returns the mark in the last applied configuration of an object, or the zero
// Mark.
func LastAppliedMark(object *unstructured.Unstructured) variant.Mark {
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

// Traces are what an object shows, besides its mark, of the definition that made it.
type Traces struct {
	// Manager is the field manager of the definition for server-side apply.
	Manager string
	// AppliedFields returns the entries of an object's managedFields that this program has applied.
	AppliedFields func(object *unstructured.Unstructured) []any
}

// MarkedOrLost returns claim.Marked extended by children that have lost their mark but show
// another trace of the definition that made them. So the mark is restored, and no definition
// claims another one's children.
func (t Traces) MarkedOrLost(claim variant.Claim) func(child *unstructured.Unstructured) bool {
	if claim.Mark == (variant.Mark{}) {
		return func(child *unstructured.Unstructured) bool {
			return claim.Marked(child) && LastAppliedMark(child) == variant.Mark{} && !t.appliedByMarking(child)
		}
	}
	return func(child *unstructured.Unstructured) bool {
		return claim.Marked(child) || t.hasLostMark(claim.Mark, child)
	}
}

// hasLostMark reports whether an object that has lost a part of its marks was made by the
// definition of mark. Either it still has the annotation, or it was last applied with it or by
// this definition's manager alone.
func (t Traces) hasLostMark(mark variant.Mark, child *unstructured.Unstructured) bool {
	if maker := MarkOf(child); maker != (variant.Mark{}) {
		return maker == mark
	}
	if last := LastAppliedMark(child); last != (variant.Mark{}) {
		return last == mark
	}
	own, others := serverside.AppliedBy(child, t.Manager)
	return own && !others
}

// appliedByMarking reports whether a decorator or map other than this definition has applied the
// object on the server side.
func (t Traces) appliedByMarking(child *unstructured.Unstructured) bool {
	if own, others := serverside.AppliedBy(child, t.Manager); own || !others {
		return false
	}
	for _, entry := range t.AppliedFields(child) {
		fields, _ := entry.(map[string]any)
		manager, _ := fields["manager"].(string)
		if strings.Contains(manager, "/decorator/") || strings.Contains(manager, "/map/") {
			return true
		}
	}
	return false
}

// ExplainUnmarked returns why an object that the parent owns is not one of the children that the definition claims.
func ExplainUnmarked(claim variant.Claim, live *unstructured.Unstructured) string {
	switch maker := MarkOf(live); {
	case maker != variant.Mark{}:
		return fmt.Sprintf(
			"exists and another definition made it for the same parent, as its annotation %s: %s says: let the hook choose another name",
			maker.Annotation, maker.Name)
	case claim.Mark == variant.Mark{}, LastAppliedMark(live) != variant.Mark{}:
		return "exists and another definition made it for the same parent: let the hook choose another name"
	default:
		return fmt.Sprintf("exists and belongs to the parent, but has no annotation %[1]s, so that nothing tells who made it: "+
			"if this definition did, put the annotation back (%[1]s: %[2]s) or delete the object; otherwise let the hook choose another name",
			claim.Mark.Annotation, claim.Mark.Name)
	}
}

// OutputsWithoutMap returns the keys of a parent's outputs of an unknown map: they have a part of a map's marks, but not its name. There
// are none unless the claim is a map's.
func OutputsWithoutMap(
	parent *unstructured.Unstructured, claim variant.Claim, candidates []*unstructured.Unstructured,
) (outputs []apply.Key) {
	if claim.Mark.Annotation != v1alpha1.MapAnnotation {
		return nil
	}
	for _, child := range candidates {
		owner := informer.ControllerOf(child)
		marked := MarkOf(child) != variant.Mark{} || LastAppliedMark(child) != variant.Mark{} || claim.Marked(child)
		if owner == nil || owner.UID != parent.GetUID() || marked {
			continue
		}
		label, _, _ := unstructured.NestedString(child.Object, "metadata", "labels", v1alpha1.MapKey)
		key, _, _ := unstructured.NestedString(child.Object, "metadata", "annotations", v1alpha1.MapKey)
		if label != "" || key != "" {
			outputs = append(outputs, apply.KeyOf(child))
		}
	}
	return outputs
}
