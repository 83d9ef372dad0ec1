package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
)

// child is a desired object with the rule for its kind.
type child struct {
	key     Key
	rule    Rule
	desired *unstructured.Unstructured
	memory  *Memory
	held    func(Change)
}

// change returns what is to be done so that observed becomes what is desired, or
// nil. An object that is being deleted is waited for: it can be neither mended
// nor replaced before it is gone.
func (c child) change(observed *unstructured.Unstructured, owner metav1.OwnerReference, entries []any) (*Change, error) {
	switch {
	case observed == nil && c.rule.Strategy == ServerSideApply:
		return c.createServerSide(owner), nil
	case observed == nil:
		return c.create(owner)
	case observed.GetDeletionTimestamp() != nil:
		return nil, nil
	case c.rule.HoldsBack():
		if NamespaceOwnerOf(c.desired) == nil { // What is there stays: it may have no right to change it.
			return nil, c.hold(observed, owner, entries)
		}
		return c.withNamespaceOwner(observed, nil), c.hold(observed, owner, entries)
	default:
		change, err := c.write(observed, owner, entries)
		return c.withNamespaceOwner(observed, change), err
	}
}

// withNamespaceOwner returns change, which may be nil, as one that also makes the owner reference of NamespaceOwner what is desired. The
// API server does that for what it applies.
func (c child) withNamespaceOwner(observed *unstructured.Unstructured, change *Change) *Change {
	has, want := NamespaceOwnerOf(observed), NamespaceOwnerOf(c.desired)
	switch {
	case has["uid"] == want["uid"]:
	case change == nil:
		update := about(ActionUpdate, observed, c.rule.Resource)
		update.Object = WithNamespaceOwner(observed, want)
		return &update
	case change.Action == ActionUpdate && change.ServerSide == nil:
		change.Object = WithNamespaceOwner(change.Object, want)
	}
	return change
}

// hold calls held if the object differs from what is desired, unless only its metadata is desired: that is how a hook keeps what exists.
func (c child) hold(observed *unstructured.Unstructured, owner metav1.OwnerReference, entries []any) error {
	if c.held == nil || !WantsContent(c.desired) {
		return nil
	}
	c.rule.Method = Recreate // It tells what differs from bookkeeping.
	change, err := c.write(observed, owner, entries)
	if err == nil && change != nil && change.Action == ActionRecreate {
		change.Schema = c.rule.Schema
		c.held(*change)
	}
	return err
}

// WantsContent reports whether a desired object has a field besides its metadata. One that has none keeps what exists.
func WantsContent(desired *unstructured.Unstructured) bool {
	for field, value := range desired.Object {
		if value != nil && field != "apiVersion" && field != "kind" && field != "metadata" {
			return true
		}
	}
	return false
}

// write returns the change for an object that exists and is to follow what is desired,
// or nil if it is as it should be.
func (c child) write(observed *unstructured.Unstructured, owner metav1.OwnerReference, entries []any) (*Change, error) {
	if c.memory.holds(c, observed) {
		return nil, nil
	}
	known, of, err := c.withoutIgnored(observed, entries)
	if err != nil {
		return nil, err
	}
	change, err := known.writeKnown(of, owner, entries)
	switch {
	case change != nil:
		change.Observed = observed
	case err == nil:
		c.memory.note(c, observed)
	}
	return change, err
}

// writeKnown is write for an object with the annotation by which it is compared.
func (c child) writeKnown(observed *unstructured.Unstructured, owner metav1.OwnerReference, entries []any) (*Change, error) {
	if c.rule.Strategy == ServerSideApply {
		return c.applyServerSide(observed, owner, entries)
	}
	if ours := serverside.EntryOf(entries, c.rule.Managers.Own); ours != nil {
		return c.leaveServerSide(observed, owner, ours)
	}
	return c.update(observed)
}

// create returns the change that creates the child.
func (c child) create(owner metav1.OwnerReference) (*Change, error) {
	object, err := newObject(c.desired, owner)
	if err != nil {
		return nil, err
	}
	return &Change{
		Action:   ActionCreate,
		Key:      c.key,
		Resource: c.rule.Resource,
		Object:   object,
		Owner:    owner,
	}, nil
}

// update returns the change for an object that exists, or nil if it is as it
// should be. If nothing differs but what the annotation remembers, the annotation
// is written even where the method is Recreate: that is no reason to lose the object.
func (c child) update(observed *unstructured.Unstructured) (*Change, error) {
	merged, err := merge.Merge(c.rule.Schema, observed, c.desired)
	if err != nil {
		return nil, err
	}
	if merged.Object == observed {
		return nil, nil
	}
	action := ActionUpdate
	if c.rule.Method == Recreate && merged.Differs {
		action = ActionRecreate
	}
	change := about(action, observed, c.rule.Resource)
	change.Object = merged.Object
	return &change, nil
}
