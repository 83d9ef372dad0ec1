package mapping

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// mapKey is the identity of an input, <group>/<Kind>/<namespace>/<name>, with no
// more than slashes around what an input has not. It has neither the version nor
// the UID, so that it outlasts both.
type mapKey string

func keyOf(input *unstructured.Unstructured) mapKey {
	kind := input.GroupVersionKind()
	return mapKey(strings.Join([]string{kind.Group, kind.Kind, input.GetNamespace(), input.GetName()}, "/"))
}

// label is the key as it fits into a label: half of its SHA-256 in hexadecimal,
// which is 32 characters of the 63 that a label may have.
func (k mapKey) label() string {
	sum := sha256.Sum256([]byte(k))
	return hex.EncodeToString(sum[:sha256.Size/2])
}

// namespace is that of the input. It is "" too where all that is left of the key
// is its label.
func (k mapKey) namespace() string {
	parts := strings.Split(string(k), "/")
	if len(parts) != 4 {
		return ""
	}
	return parts[2]
}

// labelOf is the label of the map key on an output. For one that has lost it, it is that of
// the annotation, or the one that it was last applied with, or else "".
func labelOf(output *unstructured.Unstructured) string {
	if value, _, _ := unstructured.NestedString(output.Object, "metadata", "labels", v1alpha1.MapKey); value != "" {
		return value
	}
	if text, _, _ := unstructured.NestedString(output.Object, "metadata", "annotations", v1alpha1.MapKey); text != "" {
		return mapKey(text).label()
	}
	return merge.LastLabel(output, v1alpha1.MapKey)
}

// keyOn is the map key on an output: the annotation, if it is that of the label,
// and otherwise the label itself.
func keyOn(output *unstructured.Unstructured) mapKey {
	label := labelOf(output)
	text, _, _ := unstructured.NestedString(output.Object, "metadata", "annotations", v1alpha1.MapKey)
	if key := mapKey(text); key.label() == label {
		return key
	}
	return mapKey(label)
}

// marks says whether the definition made an output.
func (v *Variant) ownedBy(output *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(output.Object, "metadata", "annotations", v1alpha1.MapAnnotation)
	return labelOf(output) != "" && name == v.definition.GetName()
}

// mark gives a copy of a desired output with the marks of the definition and of
// the input that it is made of.
func (v *Variant) mark(output *unstructured.Unstructured, key mapKey, label string) *unstructured.Unstructured {
	return variant.WithMarks(output, map[string]any{v1alpha1.MapKey: label}, map[string]any{
		v1alpha1.MapKey: string(key), v1alpha1.MapAnnotation: v.definition.GetName(),
	})
}
