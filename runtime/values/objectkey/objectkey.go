// Package objectkey names objects of a cluster. It is a leaf that every package may import.
package objectkey

import "k8s.io/apimachinery/pkg/runtime/schema"

// Key is the identity of an object in the cluster. The namespace of a cluster-scoped object is
// empty.
type Key struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// String returns "Pod default/web-0", or "Namespace prod" for a cluster-scoped object.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind.Kind + " " + k.Name
	}
	return k.Kind.Kind + " " + k.Namespace + "/" + k.Name
}
