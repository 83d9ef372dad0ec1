package apply

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/serverside"
)

// Input is what Diff compares.
type Input struct {
	// Owner becomes the controller of the objects that are created.
	Owner metav1.OwnerReference
	// Observed are the objects that belong to the owner, in any order, each of a
	// kind that has a rule. An object that is yet to be adopted is among them.
	Observed []*unstructured.Unstructured
	// Desired are the objects that should be there, with their namespaces set.
	Desired []*unstructured.Unstructured
	// Rules are the kinds that the owner may have.
	Rules []Rule
	// ManagedFields returns what is known of an observed object's managedFields: at
	// least the entries of server-side apply by the rule's own manager. Nil reads
	// them in the object.
	ManagedFields func(observed *unstructured.Unstructured) []any
	// Held is called with the change that OnDelete holds back, for each object that differs by more than bookkeeping: the deletion
	// after which the object is created as it is desired. Objects of which only metadata is desired are left out. Nil compares no such
	// objects.
	Held func(Change)
	// Memory spares comparisons that found nothing last time. Nil remembers nothing.
	Memory *Memory
}

// entries returns what is known of an object's managedFields.
func (in Input) entries(observed *unstructured.Unstructured) []any {
	switch {
	case observed == nil:
		return nil
	case in.ManagedFields == nil:
		return serverside.ManagedFields(observed)
	default:
		return in.ManagedFields(observed)
	}
}

// Diff returns the changes that turn the observed objects into the desired ones:
// deletions first, ordered by rule, namespace and name, then everything else in
// the order in which it was desired. Every error is about Desired or Rules, and
// with an error there are no changes.
func Diff(in Input) ([]Change, error) {
	rules, err := indexRules(in.Rules)
	if err != nil {
		return nil, err
	}
	children, err := rules.children(in.Desired)
	if err != nil {
		return nil, err
	}
	changes, err := rules.deletions(in, children)
	if err != nil {
		return nil, err
	}
	observed := indexObjects(in.Observed)
	for _, c := range children {
		c.memory, c.held, c.desired = in.Memory, in.Held, c.rule.outliving(c.desired, observed[c.key])
		change, err := c.change(observed[c.key], in.Owner, in.entries(observed[c.key]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.key, err)
		}
		if change != nil {
			change.Schema = c.rule.Schema
			changes = append(changes, *change)
		}
	}
	return changes, nil
}

// UpToDate reports whether an observed object is as desired, so that nothing would be
// written whatever the rule's method. The entries are as Input.ManagedFields returns them.
func (r Rule) UpToDate(observed, desired *unstructured.Unstructured, owner metav1.OwnerReference, entries []any) (bool, error) {
	change, err := child{key: KeyOf(desired), rule: r, desired: r.outliving(desired, observed)}.write(observed, owner, entries)
	return change == nil, err
}

// indexObjects finds objects by identity.
func indexObjects(objects []*unstructured.Unstructured) map[Key]*unstructured.Unstructured {
	index := make(map[Key]*unstructured.Unstructured, len(objects))
	for _, o := range objects {
		index[KeyOf(o)] = o
	}
	return index
}

// deletions returns the changes for what is observed, not desired, and not
// being deleted yet.
func (r rules) deletions(in Input, children []child) ([]Change, error) {
	desired := make(map[Key]bool, len(children))
	for _, c := range children {
		desired[c.key] = true
	}
	var changes []Change
	for _, o := range in.Observed {
		key := KeyOf(o)
		if desired[key] || o.GetDeletionTimestamp() != nil {
			continue
		}
		rule, ok := r.byKind[key.Kind]
		if !ok {
			return nil, fmt.Errorf("observed %s: %w", key, r.undeclared(key.Kind))
		}
		change := about(ActionDelete, o, rule.Resource)
		if rule.Orphan {
			change.Action, change.Owner = ActionOrphan, in.Owner
		}
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(r.rank[a.Key.Kind], r.rank[b.Key.Kind]), compareNames(a.Key, b.Key))
	})
	return changes, nil
}
