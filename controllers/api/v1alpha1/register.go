package v1alpha1

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group, which is metacontroller's own.
const GroupName = "metacontroller.k8s.io"

// Kinds of this group and version.
const (
	CompositeControllerKind = "CompositeController"
	DecoratorControllerKind = "DecoratorController"
	MapControllerKind       = "MapController"
	ControllerRevisionKind  = "ControllerRevision"
)

// GroupVersion is the group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// NamespacedGroupVersion is the group and version of definitions with a namespace. Their kinds and their types are those of this package;
// the CustomResourceDefinitions differ: see SetNamespaces.
var NamespacedGroupVersion = schema.GroupVersion{Group: "libretto.dev", Version: "v1alpha1"}

// DefinitionKinds are the kinds of definition that each of the two groups has.
var DefinitionKinds = []string{CompositeControllerKind, DecoratorControllerKind, MapControllerKind}

// DefinitionTypes returns the kinds of definition, with those of definitions with a namespace last. For a host that hosts those of some
// namespaces there are no others.
func DefinitionTypes(namespaces ...string) (types []schema.GroupVersionKind) {
	groups := []schema.GroupVersion{GroupVersion, NamespacedGroupVersion}
	if len(namespaces) > 0 {
		groups = groups[1:]
	}
	for _, group := range groups {
		for _, kind := range DefinitionKinds {
			types = append(types, group.WithKind(kind))
		}
	}
	return types
}

// IsDefinition reports whether objects of a kind are definitions, in whatever version.
func IsDefinition(kind schema.GroupKind) bool {
	return slices.Contains(DefinitionKinds, kind.Kind) && (kind.Group == GroupName || IsNamespaced(kind.Group))
}

// IsNamespaced reports whether a group is that of definitions with a namespace.
func IsNamespaced(group string) bool { return group == NamespacedGroupVersion.Group }

// ArgumentOf returns a definition as an argument of commands and kubectl: KIND/NAME, and -n NAMESPACE if it has one.
func ArgumentOf(definition *unstructured.Unstructured) string {
	argument := strings.TrimSuffix(DefinitionResource(definition.GroupVersionKind()).Resource, "s") + "/" + definition.GetName()
	if namespace := definition.GetNamespace(); namespace != "" {
		argument += " -n " + namespace
	}
	return argument
}

// DefinitionResource returns the resource of a kind of definition. The plurals of the two groups differ, so that kubectl confuses none.
func DefinitionResource(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural := strings.ToLower(kind.Kind) + "s"
	if IsNamespaced(kind.Group) {
		plural = "namespaced" + plural
	}
	return kind.GroupVersion().WithResource(plural)
}

// AddToScheme makes the types of this package known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&CompositeController{}, &CompositeControllerList{},
		&DecoratorController{}, &DecoratorControllerList{},
		&MapController{}, &MapControllerList{},
		&ControllerRevision{}, &ControllerRevisionList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Resource returns the group-qualified form of a plural, for errors.
func Resource(plural string) schema.GroupResource {
	return GroupVersion.WithResource(plural).GroupResource()
}
