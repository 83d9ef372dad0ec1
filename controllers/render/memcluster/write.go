package memcluster

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is what a write does.
type Verb string

// The verbs.
const (
	Create       Verb = "create"
	Update       Verb = "update"
	UpdateStatus Verb = "update status"
	Patch        Verb = "patch"
	PatchStatus  Verb = "patch status"
	Delete       Verb = "delete"
)

const statusSubresource = "status"

// Write is one write as it was asked for, and what came of it.
type Write struct {
	Verb            Verb
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// Sent is the object of a create or an update, and the body of a patch.
	Sent map[string]any
	// Propagation is that of a delete, or empty.
	Propagation metav1.DeletionPropagation
	// Before and After are the object as it was stored, or nil where there was none.
	Before, After *unstructured.Unstructured
	Err           error
}

// request is one write on its way.
type request struct {
	verb      Verb
	name      string
	key       types.NamespacedName
	status    bool
	sent      *unstructured.Unstructured
	patchType types.PatchType
	patch     []byte
	body      map[string]any // of the patch
	options   metav1.DeleteOptions
	// manager is the field manager, and force whether an apply takes fields from others.
	manager string
	force   bool

	before, after *unstructured.Unstructured
}

// write does one write under the lock, and tells of it.
func (e *endpoint) write(r request, subresources []string, do func(*table, *request) error) (*unstructured.Unstructured, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	t, err := e.table()
	if err != nil {
		return nil, err
	}
	r.key = types.NamespacedName{Namespace: e.namespace, Name: r.name}
	r.before = t.objects[r.key]
	if err = e.admit(t, &r, subresources); err == nil {
		err = do(t, &r)
	}
	e.tell(t, r, err)
	if err != nil || r.after == nil {
		return nil, err
	}
	return r.after.DeepCopy(), nil
}

// admit checks what holds for all writes.
func (e *endpoint) admit(t *table, r *request, subresources []string) error {
	r.status = len(subresources) == 1 && subresources[0] == statusSubresource
	switch {
	case len(subresources) > 0 && (!r.status || !t.HasStatus):
		return apierrors.NewNotFound(t.GroupResource(), r.name)
	case t.Namespaced != (e.namespace != ""):
		return apierrors.NewBadRequest("the namespace does not fit the scope of " + t.GroupVersionResource.Resource)
	case r.sent != nil && r.sent.GroupVersionKind() != t.Kind:
		return apierrors.NewBadRequest("the object is no " + t.Kind.String())
	}
	return e.cluster.refused(t, r)
}

// tell records a write.
func (e *endpoint) tell(t *table, r request, err error) {
	if e.record == nil {
		return
	}
	w := Write{
		Verb: r.told(), Kind: t.Kind, Namespace: r.key.Namespace, Name: r.key.Name,
		Sent: r.body, Before: r.before, After: t.objects[r.key], Err: err,
	}
	if r.sent != nil {
		w.Sent = r.sent.DeepCopy().Object
	}
	if r.options.PropagationPolicy != nil {
		w.Propagation = *r.options.PropagationPolicy
	}
	e.record(w)
}

// told is the verb with the subresource in it.
func (r *request) told() Verb {
	switch {
	case r.status && r.verb == Update:
		return UpdateStatus
	case r.status && r.verb == Patch:
		return PatchStatus
	default:
		return r.verb
	}
}
