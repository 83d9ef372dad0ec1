package apply

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key is the identity of an object in the cluster.
type Key struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// KeyOf returns the identity of object.
func KeyOf(object *unstructured.Unstructured) Key {
	return Key{
		Kind:      object.GroupVersionKind(),
		Namespace: object.GetNamespace(),
		Name:      object.GetName(),
	}
}

// String gives "Pod default/web-0", or "Namespace prod" for what has no namespace.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind.Kind + " " + k.Name
	}
	return k.Kind.Kind + " " + k.Namespace + "/" + k.Name
}

// compareNames orders keys of one kind.
func compareNames(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// kindName gives "apps/v1 Deployment", as an author writes apiVersion and kind.
func kindName(kind schema.GroupVersionKind) string {
	return kind.GroupVersion().String() + " " + kind.Kind
}
