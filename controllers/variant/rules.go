package variant

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// ParentRule is a resource of parents. A definition has at most one for a kind.
type ParentRule struct {
	discovery.Resource
	// Selects reports whether an object is a parent.
	Selects func(*unstructured.Unstructured) bool
	// IgnoresStatus reports whether to drop updates of a parent that change neither generation
	// nor labels nor annotations (section 1.1 of the specification).
	IgnoresStatus func(*unstructured.Unstructured) bool
}

// ChildRule is a resource of children.
type ChildRule struct {
	discovery.Resource
	Method apply.Method
	// Strategy is how differences are written. Force has server-side apply take fields from
	// other field managers.
	Strategy apply.Strategy
	Force    bool
	// Ignored are the paths of fields that are left to others once an object exists.
	Ignored [][]string
	// Orphan keeps children from being deleted.
	Orphan bool
}

// InputRule is a resource of the inputs of a map.
type InputRule struct {
	discovery.Resource
	// Selects reports whether an object is an input of a parent. labelsOf returns the labels of
	// a namespace, not nil, or nil if the namespace is not known.
	Selects func(parent, input *unstructured.Unstructured, labelsOf func(namespace string) labels.Set) bool
	// ByNamespace is set if Selects uses the labels of namespaces.
	ByNamespace bool
}
