package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
