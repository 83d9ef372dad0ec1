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
	"github.com/libretto-k8s/libretto/engines"
)

// Variant makes the difference between the kinds of definition. Its functions are pure and
// called in this order in one pass. Their arguments are shared and read-only.
type Variant interface {
	// Claim returns the rule by which the parent owns children. An error describes a problem of
	// the parent.
	Claim(parent *unstructured.Unstructured) (Claim, error)
	// Calls returns the calls of hooks, which are made concurrently. An error describes a
	// problem of the observed objects.
	Calls(observed Observed) ([]Call, error)
	// Desired returns the desired state. The answers are in the order of the calls. An invalid
	// answer is an *engines.Error of kind BadResponse with the path of the wrong value. After an
	// error nothing is written.
	Desired(observed Observed, answers []Answer) (Desired, error)
}

// Claim is the rule by which a parent owns children.
type Claim struct {
	// Selector matches the labels of children: matching orphans are adopted, owned objects that
	// do not match are released. If it is nil, nothing is adopted or released.
	Selector labels.Selector
	// Marked reports whether an owned object is a child of this definition, if several
	// definitions may make children for one parent. Nil means all are.
	Marked func(child *unstructured.Unstructured) bool
	// Mark is the annotation of a definition on its children, and its value, the name of the
	// definition. The zero Mark is for definitions that need none.
	Mark Mark
}

// Observed is the observed state of the cluster.
type Observed struct {
	Parent *unstructured.Unstructured
	// Children are the owned children and those to adopt, in the order of the definition's
	// rules, then by namespace and name.
	Children []*unstructured.Unstructured
	// Adopt and Release are the children whose owner reference is to change. Children includes
	// those to adopt, but not those to release.
	Adopt, Release []*unstructured.Unstructured
	// Revisions are the parent's ControllerRevisions, by name.
	Revisions []*unstructured.Unstructured
	// Inputs are the inputs of a map, in the order of its rules, then by namespace and name.
	Inputs []*unstructured.Unstructured
	// Related are the objects that the customize hook selected, and RelatedKinds the kinds of
	// its rules, each once.
	Related      []*unstructured.Unstructured
	RelatedKinds []schema.GroupVersionKind
	// Finalizing is set if the finalize hook is called instead of the others.
	Finalizing bool
	// BuiltIn is set if no CustomResourceDefinition defines the parent's kind. Its status
	// belongs to another controller: only the fields that a hook names are desired.
	BuiltIn bool
	// ScriptRevision is the ID of the revision of the scripts that answers the calls, or empty if it has none, as in offline commands.
	ScriptRevision string
	// Now is the time of the pass.
	Now time.Time
	// UpToDate reports whether applying desired leaves observed unchanged. Nil means that
	// children are written by dynamic apply.
	UpToDate func(observed, desired *unstructured.Unstructured) (bool, error)
}

// Deleting reports whether the parent is being deleted.
func (o Observed) Deleting() bool { return o.Parent.GetDeletionTimestamp() != nil }

// Call is one call of a hook.
type Call struct {
	Hook string
	// Subject distinguishes the calls of one pass to the same hook: a map key, or the name of a
	// revision. It is empty if there is only one.
	Subject string
	// Origin is the object that the call is about. If it has no ID, that is the parent.
	Origin engines.Origin
	// ScriptRevision is the ID of another revision of the scripts that is to answer, or empty for Observed.ScriptRevision.
	ScriptRevision string
	Request        map[string]any
	// Stamps are hashes of the fields of Request, by paths as in engines.ReadSet, or nil. An empty stamp matches nothing.
	// Requests with stamps for the same hook and subject have the same fields. The last answer
	// is reused if all fields that the program read have the same stamps.
	Stamps map[string]string
}

// Answer is the result of a call: a body or an error.
type Answer struct {
	Call Call
	// Body is the response, of any JSON type. It is read-only.
	Body any
	Err  error
}

// Desired is the state that the hooks want.
type Desired struct {
	// Children are in the order of the response. Each has a declared kind, a name and, if its
	// kind is namespaced, a namespace.
	Children []*unstructured.Unstructured
	// Keep contains children that stay unchanged, whether or not they are desired or exist.
	Keep map[apply.Key]bool
	// Revisions are the desired ControllerRevisions, each complete.
	Revisions []*unstructured.Unstructured
	// Status replaces the parent's status, unless it is nil. For a built-in parent it has only
	// the fields to set; null ones are removed.
	Status map[string]any
	// StatusOrigin says what Status is made of.
	StatusOrigin StatusOrigin
	// Labels and Annotations are set on the parent. A nil value removes one.
	Labels, Annotations map[string]*string
	// ResyncAfterSeconds requests another pass after that time, if it is positive.
	ResyncAfterSeconds float64
	// Finalized is set if the finalize hook is done.
	Finalized bool
	// Waiting is why the hooks can't say what the children should be. Then no child is created, changed, deleted, adopted or
	// released, and no ControllerRevision is written. The rest is applied.
	Waiting *Wait
	// WaitingInputs are those whose outputs are kept as they are for the same reason.
	WaitingInputs []Wait
	// FailedInputs is how many inputs of a map have a problem.
	FailedInputs int
	// TimeDependent is set if a later pass over the same objects may want something else.
	TimeDependent bool
	// Problems are the errors of a part of the parent. The rest is applied, and then the pass
	// fails.
	Problems []error
	// Events are those that the hooks ask for, and MoreEvents how many others their answers had, which are too many.
	Events     []Event
	MoreEvents int
	// Rolling is why a rolling update of the children is not done, or empty.
	Rolling string
	// Warnings are events about what was not used. They do not make the pass fail.
	Warnings []Warning
	// ParentReads are the paths of a request, such as "parent.metadata.labels", at which the variant itself has read the parent. Those
	// that always count may be left out: see docs/design/parent/idle.md.
	ParentReads []string
	// InvalidAnswers are the calls whose answers are invalid and must not be reused.
	InvalidAnswers []Call
}

// Waits returns all that the hooks wait for.
func (d Desired) Waits() []Wait {
	if d.Waiting != nil {
		return []Wait{*d.Waiting}
	}
	return d.WaitingInputs
}

// StatusOrigin is what a desired status is made of.
type StatusOrigin int

const (
	// StatusReturned is what the hooks have returned.
	StatusReturned StatusOrigin = iota
	// StatusImplied is what a parent has whose hooks have returned none.
	StatusImplied
	// StatusMerged is the observed status with changes, so that changes of others must be kept.
	StatusMerged
)

// Warning is an event on the parent.
type Warning struct{ Reason, Message string }

// Mark is the annotation by which a definition knows what it made, and the definition's
// name, which is its value. The zero Mark is that of definitions that need none.
type Mark struct{ Annotation, Name string }
