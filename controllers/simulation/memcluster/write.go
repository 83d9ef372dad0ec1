package memcluster

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// Verb is the verb of a write, with its subresource.
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

// The subresources. That of the scale takes the whole object, of which the number of replicas is another.
const (
	statusSubresource = "status"
	ScaleSubresource  = "scale"
)

// Write is a write request and its result.
type Write struct {
	Verb            Verb
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// Sent is the object of a create or an update, and the body of a patch.
	Sent map[string]any
	// Propagation is that of a delete, or empty.
	Propagation metav1.DeletionPropagation
	// Before and After are the stored object, or nil if there was none.
	Before, After *unstructured.Unstructured
	// Dropped are the paths of the fields that the schema does not have.
	Dropped []string
	Err     error
}

// Key returns which object was written.
func (w *Write) Key() objectkey.Key {
	return objectkey.Key{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

// request is a write in progress.
type request struct {
	verb Verb
	name string
	key  types.NamespacedName
	// subresource is empty for the object itself. status is set if it is that.
	subresource string
	status      bool

	sent      *unstructured.Unstructured // is not changed
	patchType types.PatchType
	patch     []byte
	body      map[string]any // of the patch
	options   metav1.DeleteOptions
	// manager is the field manager. force makes an apply take fields from other managers.
	manager string
	force   bool
	// dryRun makes the write store nothing.
	dryRun bool

	before, after *unstructured.Unstructured
	dropped       []string
}

// write makes one write under the lock and records it.
func (e *endpoint) write(r request, subresources []string, do func(*table, *request) error) (*unstructured.Unstructured, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	t, err := e.table()
	if err != nil {
		return nil, err
	}
	r.key = types.NamespacedName{Namespace: e.namespace, Name: r.name}
	if r.before = t.objects[r.key]; r.before == nil {
		if r.before, err = e.cluster.findExisting(t, &r); err != nil {
			return nil, err
		}
	}
	if r.dryRun {
		t = t.scratch(r.key)
	}
	refusal, err := e.admit(t, &r, subresources)
	switch {
	case err != nil:
	case refusal == nil:
		err = do(t, &r)
	case refusal.Stored:
		if err = do(t, &r); err == nil {
			err = refusal.err(t, r.name)
		}
	default:
		err = refusal.err(t, r.name)
	}
	e.recordWrite(t, r, err)
	if err != nil || r.after == nil {
		return nil, err
	}
	return r.after.DeepCopy(), nil
}

// admit returns an error for a write that is invalid whatever its verb, or the refusal that selects it.
func (e *endpoint) admit(t *table, r *request, subresources []string) (*Refusal, error) {
	r.subresource = strings.Join(subresources, "/")
	r.status = r.subresource == statusSubresource
	switch {
	case r.subresource != "" && r.subresource != ScaleSubresource && (!r.status || !t.HasStatus):
		return nil, apierrors.NewNotFound(t.GroupResource(), r.name)
	case t.Namespaced != (e.namespace != ""):
		return nil, apierrors.NewBadRequest("the namespace does not fit the scope of " + t.GroupVersionResource.Resource)
	case r.sent != nil && r.sent.GroupVersionKind() != t.Kind:
		return nil, apierrors.NewBadRequest("the object is no " + t.Kind.String())
	}
	if e.record == nil {
		return nil, nil
	}
	if err := e.cluster.interruption.refuse(); err != nil {
		return nil, err
	}
	return e.cluster.refused(t, r), nil
}

// recordWrite calls the client's record function.
func (e *endpoint) recordWrite(t *table, r request, err error) {
	if e.record == nil {
		return
	}
	w := Write{
		Verb: r.recordedVerb(), Kind: t.Kind, Namespace: r.key.Namespace, Name: r.key.Name,
		Sent: r.body, Before: r.before, After: t.objects[r.key], Dropped: r.dropped, Err: err,
	}
	if r.sent != nil {
		w.Sent = r.sent.Object
	}
	if r.options.PropagationPolicy != nil {
		w.Propagation = *r.options.PropagationPolicy
	}
	e.record(w)
}

// recordedVerb returns the verb with the subresource.
func (r *request) recordedVerb() Verb {
	switch {
	case r.status && r.verb == Update:
		return UpdateStatus
	case r.status && r.verb == Patch:
		return PatchStatus
	default:
		return r.verb
	}
}
