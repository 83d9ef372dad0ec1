package v1alpha1

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// anyItem stands for the items of a list in a path.
const anyItem = "*"

// SetNamespaces returns a definition whose references are to objects of its own namespace: a definition with a namespace names none, as its
// CustomResourceDefinition says. Any other definition is returned as it is. definition is not changed, and shares all but
// its spec with the result.
func SetNamespaces(definition *unstructured.Unstructured) *unstructured.Unstructured {
	if !IsNamespaced(definition.GroupVersionKind().Group) || definition.GetNamespace() == "" {
		return definition
	}
	definition = definition.DeepCopy()
	spec, _ := definition.Object["spec"].(map[string]any)
	if spec == nil {
		return definition
	}
	spec = runtime.DeepCopyJSON(spec)
	if spec["serviceAccountRef"] == nil { // A CustomResourceDefinition has that as its default. Without one no account is the host's.
		spec["serviceAccountRef"] = map[string]any{"name": DefaultServiceAccount}
	}
	for _, path := range namespacePaths {
		setAt(spec, path, definition.GetNamespace())
	}
	fields := maps.Clone(definition.Object)
	fields["spec"] = spec
	return &unstructured.Unstructured{Object: fields}
}

// DefaultServiceAccount is the account of a definition with a namespace that names none, as it is that of Pods.
const DefaultServiceAccount = "default"

// namespacePaths are the paths of the fields of specs that name the namespace of something that is used.
var namespacePaths = slices.DeleteFunc(slices.Concat(
	pathsOf(reflect.TypeFor[CompositeControllerSpec](), nil), pathsOf(reflect.TypeFor[DecoratorControllerSpec](), nil),
	pathsOf(reflect.TypeFor[MapControllerSpec](), nil),
), func(path []string) bool { return path[0] == "relatedResources" }) // What the hook may ask for is in the parent's namespace anyway.

// pathsOf returns the paths of all fields "namespace" below a type of this package.
func pathsOf(t reflect.Type, path []string) (paths [][]string) {
	switch t.Kind() {
	case reflect.Pointer:
		return pathsOf(t.Elem(), path)
	case reflect.Slice:
		return pathsOf(t.Elem(), append(slices.Clip(path), anyItem))
	case reflect.Struct:
	default:
		return nil
	}
	if t.PkgPath() != reflect.TypeFor[DefinitionSettings]().PkgPath() {
		return nil
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch name {
		case "": // Inline.
			paths = append(paths, pathsOf(field.Type, path)...)
		case "namespace":
			paths = append(paths, append(slices.Clip(path), name))
		default:
			paths = append(paths, pathsOf(field.Type, append(slices.Clip(path), name))...)
		}
	}
	return paths
}

// setAt sets the field at a path in each object that is there. Values of other types stay as they are: they are refused when they are
// decoded.
func setAt(value any, path []string, namespace string) {
	fields, _ := value.(map[string]any)
	switch {
	case path[0] == anyItem:
		items, _ := value.([]any)
		for _, item := range items {
			setAt(item, path[1:], namespace)
		}
	case fields == nil:
	case len(path) == 1:
		fields[path[0]] = namespace
	default:
		setAt(fields[path[0]], path[1:], namespace)
	}
}
