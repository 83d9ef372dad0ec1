package apply

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// Key is the identity of an object in the cluster.
type Key = objectkey.Key

// KeyOf returns the identity of object.
func KeyOf(object *unstructured.Unstructured) Key {
	meta := jsonvalue.ObjectIn(object.Object, "metadata")
	key := Key{Kind: kindOf(object.Object)}
	key.Namespace, _ = meta["namespace"].(string)
	key.Name, _ = meta["name"].(string)
	return key
}

// kindOf reads apiVersion and kind. It is called for every object of every pass.
func kindOf(object map[string]any) schema.GroupVersionKind {
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// compareNames orders keys of one kind.
func compareNames(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// kindName returns "apps/v1 Deployment", as an author writes apiVersion and kind.
func kindName(kind schema.GroupVersionKind) string {
	return kind.GroupVersion().String() + " " + kind.Kind
}
