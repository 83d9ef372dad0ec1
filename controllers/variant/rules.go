package variant

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// ParentRule is a resource whose objects are parents. A definition has at most
// one for a kind.
type ParentRule struct {
	discovery.Resource
	// Selects says which objects are parents.
	Selects func(*unstructured.Unstructured) bool
	// IgnoresStatus says of which parents updates are dropped that change neither
	// generation nor labels nor annotations (section 1.1 of the specification).
	IgnoresStatus func(*unstructured.Unstructured) bool
}

// ChildRule is a resource that children may be of.
type ChildRule struct {
	discovery.Resource
	Method apply.Method
	// Strategy is how what differs is written, and Force whether server-side apply
	// takes fields from other field managers.
	Strategy apply.Strategy
	Force    bool
}

// InputRule is a resource whose objects are inputs of a map.
type InputRule struct {
	discovery.Resource
	// Selects says whether an object is an input of a parent; labelsOf gives the
	// labels of a namespace.
	Selects func(parent, input *unstructured.Unstructured, labelsOf func(namespace string) labels.Set) bool
	// ByNamespace says that Selects looks at the labels of namespaces.
	ByNamespace bool
}
