package memcluster

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

var errFinalizer = errors.New("no new finalizers can be added if the object is being deleted")

// uidFor returns an object's UID: kind, namespace and name, and a number from the second object of that
// name on. It is a valid label value.
func uidFor(kind string, key types.NamespacedName, made int) types.UID {
	parts := []string{strings.ToLower(kind)}
	if key.Namespace != "" {
		parts = append(parts, key.Namespace)
	}
	parts = append(parts, key.Name)
	if made > 1 {
		parts = append(parts, fmt.Sprint(made))
	}
	uid := strings.Join(parts, ".")
	if len(validation.IsValidLabelValue(uid)) > 0 {
		sum := sha1.Sum([]byte(uid))
		uid = parts[0] + "." + hex.EncodeToString(sum[:8])
	}
	return types.UID(uid)
}

func keyOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// set sets a top-level field, or removes it. The value is shared.
func set(object *unstructured.Unstructured, field string, value any) {
	if value == nil {
		delete(object.Object, field)
		return
	}
	object.Object[field] = value
}

// withOwnMetadata returns an object with metadata of its own, which shares the values there and all other fields.
func withOwnMetadata(object *unstructured.Unstructured) *unstructured.Unstructured {
	metadata, _ := object.Object["metadata"].(map[string]any)
	return &unstructured.Unstructured{Object: jsonvalue.With(object.Object, "metadata", jsonvalue.Clone(metadata))}
}

// serverFields are the fields of metadata that no update changes.
var serverFields = []string{
	"namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
}

// setServerFields gives an object the fields of metadata that no update changes.
func setServerFields(object, before *unstructured.Unstructured) {
	from, _ := before.Object["metadata"].(map[string]any)
	metadata, _ := object.Object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object.Object["metadata"] = metadata
	}
	for _, name := range serverFields {
		if value, ok := from[name]; ok {
			metadata[name] = value
		} else {
			delete(metadata, name)
		}
	}
}

// isEqual reports whether two objects are the same to the API server. Most that are compared are not, which shows soon.
func isEqual(a, b map[string]any) bool {
	return jsonvalue.Equal(a, b) && equality.Semantic.DeepEqual(a, b)
}

// changesSpec reports whether a change increments the generation: a change outside metadata and status.
func changesSpec(before, after *unstructured.Unstructured) bool {
	rest := func(object *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(object.Object)
		delete(fields, "metadata")
		delete(fields, "status")
		return fields
	}
	return !isEqual(rest(before), rest(after))
}

func addsFinalizer(before, after *unstructured.Unstructured) bool {
	if before.GetDeletionTimestamp() == nil {
		return false
	}
	return slices.ContainsFunc(after.GetFinalizers(), func(f string) bool { return !slices.Contains(before.GetFinalizers(), f) })
}

func conflict(t *table, r *request, why string) error {
	return apierrors.NewConflict(t.GroupResource(), r.name, errors.New(why))
}
