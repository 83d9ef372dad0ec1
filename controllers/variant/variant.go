// Package variant is the contract between the reconcile core and what makes the kinds of
// definition differ: the values that a reconcile passes through, the pure functions that each
// kind supplies, and the tools that these share for reading answers and placing objects.
package variant

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
)

// Variant is what makes the kinds of definition differ: pure functions, called
// in this order in one pass. What they are given is shared and read-only.
type Variant interface {
	// Claim says how the children of a parent are told from other objects. An
	// error says what is wrong with the parent.
	Claim(parent *unstructured.Unstructured) (Claim, error)
	// Calls gives the questions to ask the hooks, to be asked side by side. An
	// error says what is wrong with what was observed.
	Calls(observed Observed) ([]Call, error)
	// Desired makes one desired state of the answers, which are in the order of
	// the calls. An answer that does not fit is an *engines.Error of kind
	// BadResponse that names the path of the wrong value. With an error nothing
	// is written at all.
	Desired(observed Observed, answers []Answer) (Desired, error)
}

// Claim is the rule by which a parent owns children.
type Claim struct {
	// Selector matches the labels of the children: objects without an owner that
	// it matches are adopted, owned ones that it does not match are released. If
	// it is nil, nothing is adopted or released.
	Selector labels.Selector
	// Marked tells the definition's own children among those that the parent
	// owns, where others may make children for it too. Nil means all.
	Marked func(child *unstructured.Unstructured) bool
	// Mark is what Marked looks for. It is zero where children have none.
	Mark Mark
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
	// Revisions are the parent's ControllerRevisions, where the definition has
	// any, by name.
	Revisions []*unstructured.Unstructured
	// Inputs are the objects that a map makes outputs of, in the order of its
	// rules, then by namespace and name.
	Inputs []*unstructured.Unstructured
	// Related are the objects that the customize hook asked for, and RelatedKinds
	// the kinds of its rules, each once.
	Related      []*unstructured.Unstructured
	RelatedKinds []schema.GroupVersionKind
	// Finalizing says that the finalize hook is to be asked, in place of the others.
	Finalizing bool
	// BuiltIn says that no CustomResourceDefinition defines the parent's kind. Its status
	// belongs to another controller: only what a hook names is desired of it.
	BuiltIn bool
	// Now is the time of the pass.
	Now time.Time
	// UpToDate says whether writing desired would leave an observed child as it is. Nil
	// means that children are written by dynamic apply.
	UpToDate func(observed, desired *unstructured.Unstructured) (bool, error)
}

// Deleting says that the parent is being deleted.
func (o Observed) Deleting() bool { return o.Parent.GetDeletionTimestamp() != nil }

// Call is one question to one hook.
type Call struct {
	Hook string
	// Subject tells the calls of one pass to the same hook apart: a map key, or
	// the name of a revision. It is empty where there is only one.
	Subject string
	Request map[string]any
	// Stamps, unless there are none, stand for the content of Request, field by
	// field; an empty one stands for nothing. All requests with stamps to one hook
	// about one subject have the same fields. The answer to an earlier call of this
	// hook and subject is used again if all that the program read has its stamp still.
	Stamps map[string]string
}

// Answer is what came of a call: a body or an error.
type Answer struct {
	Call Call
	// Body is the response as it came, of whatever JSON type. It is read-only.
	Body any
	Err  error
}

// Desired is what the hooks want.
type Desired struct {
	// Children in the order in which the hook gave them. Each is of a declared
	// kind and has a name and, where it needs one, a namespace.
	Children []*unstructured.Unstructured
	// Keep names children that stay as they are, desired or not, there or not.
	Keep map[apply.Key]bool
	// Revisions are the ControllerRevisions that are to be there, each complete.
	Revisions []*unstructured.Unstructured
	// Status replaces the parent's status, unless it is nil. That of a built-in parent has
	// the fields to set alone, of which null ones are removed.
	Status map[string]any
	// StatusMerged says that Status is the observed parent's with changes in it, so that
	// what others have changed there since must stay.
	StatusMerged bool
	// Labels and Annotations are set on the parent; a nil value removes one.
	Labels, Annotations map[string]*string
	// ResyncAfterSeconds asks for another pass after that time, if it is more than zero.
	ResyncAfterSeconds float64
	// Finalized says that the finalize hook is done with the parent.
	Finalized bool
	// TimeDependent says that another pass over the same objects may want
	// something else, only because it is later.
	TimeDependent bool
	// Problems are what went wrong with part of the parent. The rest is applied,
	// and then the pass fails with them.
	Problems []error
	// Distrust are the calls whose answers do not fit, so that they are asked again.
	InvalidAnswers []Call
}

// Mark is the annotation by which a definition knows what it made, and the definition's
// name, which is its value. The zero Mark is that of definitions that need none.
type Mark struct{ Annotation, Name string }
