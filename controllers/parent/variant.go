package parent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/engines"
)

// Variant is what makes the kinds of definition differ: pure functions, called
// in this order in one pass. What they are given is shared and read-only.
type Variant interface {
	// Claim says how the children of a parent are told from other objects. An
	// error says what is wrong with the parent.
	Claim(parent *unstructured.Unstructured) (Claim, error)
	// Calls gives the questions to ask the hooks, to be asked side by side.
	Calls(observed Observed) []Call
	// Desired makes one desired state of the responses, which are in the order
	// of the calls. An answer that does not fit is an *engines.Error of kind
	// BadResponse that names the path of the wrong value.
	Desired(observed Observed, responses []engines.Response) (Desired, error)
}

// Claim is the rule by which a parent owns children.
type Claim struct {
	// Selector matches the labels of the children: objects without an owner that
	// it matches are adopted, owned ones that it does not match are released. If
	// it is nil, nothing is adopted or released.
	Selector labels.Selector
}

// Observed is all that a pass knows of the cluster.
type Observed struct {
	Parent *unstructured.Unstructured
	// Children are those the parent owns, and those it is about to adopt, in the
	// order of the definition's rules, then by namespace and name.
	Children []*unstructured.Unstructured
	// Adopt and Release are the children whose owner reference is to change.
	// Those to adopt are among Children, those to release are not.
	Adopt, Release []*unstructured.Unstructured
}

// Deleting says that the parent is being deleted.
func (o Observed) Deleting() bool { return o.Parent.GetDeletionTimestamp() != nil }

// Call is one question to one hook.
type Call struct {
	Hook    string
	Request map[string]any
}

// Desired is what the hooks want.
type Desired struct {
	// Children in the order in which the hook gave them. Each is of a declared
	// kind and has a name and, where it needs one, a namespace.
	Children []*unstructured.Unstructured
	// Status replaces the parent's status, unless it is nil.
	Status map[string]any
	// ResyncAfterSeconds asks for another pass after that time, if it is more than zero.
	ResyncAfterSeconds float64
}
