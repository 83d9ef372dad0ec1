package parenttest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Gadget returns an object of the kind of Gadgets with labels.
func Gadget(namespace string, set map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(Gadgets.Kind)
	o.SetNamespace(namespace)
	o.SetName("gadget")
	o.SetLabels(set)
	return o
}

// Gadgets is a resource of namespaced custom resources.
var Gadgets = discovery.Resource{
	GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"},
	Kind:                 schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}, Namespaced: true,
}
