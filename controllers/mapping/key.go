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

// mapKey is the identity of an input, <group>/<Kind>/<namespace>/<name>, in which parts may
// be empty. It contains neither the version nor the UID, so that it outlasts both.
type mapKey string

func keyOf(input *unstructured.Unstructured) mapKey {
	kind := input.GroupVersionKind()
	return mapKey(strings.Join([]string{kind.Group, kind.Kind, input.GetNamespace(), input.GetName()}, "/"))
}

// label returns the value of the label for the key: half of its SHA-256 in hexadecimal,
// 32 characters of at most 63.
func (k mapKey) label() string {
	sum := sha256.Sum256([]byte(k))
	return hex.EncodeToString(sum[:sha256.Size/2])
}

// namespace returns the namespace of the input. It is also "" if only the label is left of
// the key.
func (k mapKey) namespace() string {
	parts := strings.Split(string(k), "/")
	if len(parts) != 4 {
		return ""
	}
	return parts[2]
}

// labelOf returns the label of the map key on an output. If it is missing, labelOf derives it
// from the annotation or from the last applied state, or returns "".
func labelOf(output *unstructured.Unstructured) string {
	if value, _, _ := unstructured.NestedString(output.Object, "metadata", "labels", v1alpha1.MapKey); value != "" {
		return value
	}
	if text, _, _ := unstructured.NestedString(output.Object, "metadata", "annotations", v1alpha1.MapKey); text != "" {
		return mapKey(text).label()
	}
	return merge.LastLabel(output, v1alpha1.MapKey)
}

// keyFrom returns the map key on an output: the annotation if it fits the label, and
// otherwise the label itself.
func keyFrom(output *unstructured.Unstructured) mapKey {
	label := labelOf(output)
	text, _, _ := unstructured.NestedString(output.Object, "metadata", "annotations", v1alpha1.MapKey)
	if key := mapKey(text); key.label() == label {
		return key
	}
	return mapKey(label)
}

// hasMarks reports whether the definition made an output of some input.
func (v *Variant) hasMarks(output *unstructured.Unstructured) bool {
	return labelOf(output) != "" && v.mark.IsOn(output)
}

// withMarks returns a copy of a desired output with the marks of the definition and of the
// input.
func (v *Variant) withMarks(output *unstructured.Unstructured, key mapKey, label string) *unstructured.Unstructured {
	return variant.WithMarks(output, map[string]any{v1alpha1.MapKey: label}, map[string]any{
		v1alpha1.MapKey: string(key), v.mark.Annotation: v.mark.Name,
	})
}
