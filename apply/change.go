package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// Action is what a change does to its object.
type Action string

const (
	// ActionAdopt adds the owner reference to an object that has no controller.
	ActionAdopt Action = "Adopt"
	// ActionRelease takes the owner reference off again.
	ActionRelease Action = "Release"
	// ActionOrphan takes the owner reference off an object that is not desired any more, in
	// the place of a deletion, and marks it so that the owner does not adopt it again.
	ActionOrphan Action = "Orphan"
	// ActionCreate creates an object that was not observed.
	ActionCreate Action = "Create"
	// ActionUpdate replaces an object by Change.Object, if it is still as it was observed.
	ActionUpdate Action = "Update"
	// ActionRecreate deletes an object that differs, so that a later pass can create it.
	ActionRecreate Action = "Recreate"
	// ActionDelete deletes an object that is not desired.
	ActionDelete Action = "Delete"
)

// Change is one write. Diff, Adopt and Release make them.
type Change struct {
	Action   Action
	Key      Key
	Resource schema.GroupVersionResource
	// Object is what is sent by a create or an update. Of a recreation it is
	// what the object was to become, and of the other actions the observed object.
	Object *unstructured.Unstructured
	// Observed is the object as it was, or nil if it is to be created.
	Observed *unstructured.Unstructured
	// Owner is who adopts, releases, orphans or creates. The other actions leave it empty.
	Owner metav1.OwnerReference
	// ServerSide is how a creation or an update is applied by the API server, where
	// Object is the part that is asked for. It is nil for one that is written as a whole.
	ServerSide *ServerSide
	// Schema is that of the rule, or nil. It marks what is secret.
	Schema *openapi.Kind
	// Leaves is the manager of server-side apply that lets go of the object with an
	// update, or empty.
	Leaves string
	// renewed reports that Observed was read for this very change.
	renewed bool
}

// Adopt makes owner the controller of observed.
func Adopt(observed *unstructured.Unstructured, owner metav1.OwnerReference, resource schema.GroupVersionResource) Change {
	c := about(ActionAdopt, observed, resource)
	c.Owner = owner
	return c
}

// Release takes owner's reference off observed.
func Release(observed *unstructured.Unstructured, owner metav1.OwnerReference, resource schema.GroupVersionResource) Change {
	c := about(ActionRelease, observed, resource)
	c.Owner = owner
	return c
}

// about returns a change that concerns an observed object and sends none.
func about(action Action, observed *unstructured.Unstructured, resource schema.GroupVersionResource) Change {
	return Change{
		Action:   action,
		Key:      KeyOf(observed),
		Resource: resource,
		Object:   observed,
		Observed: observed,
	}
}
