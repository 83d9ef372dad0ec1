package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Kinds are the kinds of definition and their plurals.
var Kinds = map[string]string{
	v1alpha1.CompositeControllerKind: "compositecontrollers",
	v1alpha1.DecoratorControllerKind: "decoratorcontrollers",
	v1alpha1.MapControllerKind:       "mapcontrollers",
}

// KeyOf returns the key of a definition of a kind.
func KeyOf(kind string, object *unstructured.Unstructured) controller.Key {
	return controller.Key{Kind: v1alpha1.GroupVersion.WithKind(kind), Name: object.GetName()}
}
