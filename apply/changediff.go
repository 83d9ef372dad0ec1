package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/fielddiff"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// ServerSide is how a change is written by server-side apply.
type ServerSide struct {
	Manager string
	// Force takes fields that another manager has set to something else. Without it
	// the API server refuses such a change as a whole.
	Force bool
	// TakeOver names the managers whose fields become Manager's first. It is nil if
	// there is nothing to take over.
	TakeOver []string
	// expected is what the object is to become, for people.
	expected map[string]any
	// held stands for what of the configuration Manager held before.
	held uint64
}

// Diffs returns what the change does to the fields of the observed object. Values that the schema marks as secret are hidden too.
func (c Change) Diffs() []fielddiff.Diff {
	return fielddiff.Describe(c.Schema, c.Observed, c.result())
}

// Marks returns a mark for each of Diffs with a path, in the same order.
func (c Change) Marks() []fielddiff.Mark { return fielddiff.Marks(c.Observed, c.result()) }

// result returns what the object is to become.
func (c Change) result() *unstructured.Unstructured {
	if c.ServerSide != nil && c.ServerSide.expected != nil {
		return &unstructured.Unstructured{Object: c.ServerSide.expected}
	}
	return c.Object
}

// heldBy reports whether what the change applies is recorded in the object.
func (c Change) heldBy(object *unstructured.Unstructured) bool {
	manager := c.ServerSide.Manager
	config := serverside.Configuration{Fields: c.Object.Object, Mark: serverside.Applied(c.Object.Object, manager)}
	ours := serverside.EntryOf(serverside.ManagedFields(object), manager)
	return serverside.Applied(object.Object, manager) == config.Mark && config.HeldBy(ours.Fields(), object.Object)
}

// Digest stands for what an update sends, to which object, and what of it was held before. Of changes with equal ones the later would
// only send again what the earlier has sent. It takes little memory, whatever the object takes.
type Digest struct {
	schema       *openapi.Kind
	object, held uint64
	serverSide   bool
}

// Digest returns the digest of the change.
func (c Change) Digest() Digest {
	if c.ServerSide == nil {
		return Digest{schema: c.Schema, object: jsonvalue.Hash(c.Object.Object)}
	}
	return Digest{schema: c.Schema, object: jsonvalue.Hash(unversioned(c.Object)), held: c.ServerSide.held, serverSide: true}
}

// unversioned returns an object without its version.
func unversioned(object *unstructured.Unstructured) map[string]any {
	meta, _ := jsonvalue.Without(jsonvalue.ObjectIn(object.Object, "metadata"), "resourceVersion")
	return jsonvalue.With(object.Object, "metadata", meta)
}
