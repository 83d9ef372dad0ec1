package apply

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// absent is the version that a creation is for. An apply has no way to say that there
// must be no such object, but one for a version that the object does not have is
// refused, and where there is no object its version is not looked at. No object has
// this version: it is the last that there can be.
const absent = "9223372036854775807"

// createServerSide returns the change that creates the child by applying it, so that it
// is held from the beginning as it is later.
func (c child) createServerSide(owner metav1.OwnerReference) *Change {
	config := configurationOf(c.desired, ownedBy(c.desired, owner), c.rule.Managers.Own)
	return &Change{
		Action:     ActionCreate,
		Key:        c.key,
		Resource:   c.rule.Resource,
		Object:     config.object("", absent),
		Owner:      owner,
		ServerSide: &ServerSide{Manager: c.rule.Managers.Own, Force: true},
	}
}

// applyServerSide returns the change for an object that exists, or nil if to apply what
// is desired would change nothing: it is what was applied last, and all of it is still
// held. Whoever sets a field to something else takes it away, so that the values need
// not be compared, and the API server may write them down in other words.
func (c child) applyServerSide(observed *unstructured.Unstructured, owner metav1.OwnerReference, entries []any) (*Change, error) {
	compared := c.memory.comparisonOf(c, observed)
	if c.memory.holds(c.key, compared) {
		return nil, nil
	}
	manager := c.rule.Managers.Own
	config := configurationOf(c.desired, ownedBy(c.desired, owner), manager)
	ours := entryOf(entries, manager)
	if ours != nil && annotation(observed.Object) == "" && applied(observed.Object, manager) == config.mark && config.heldBy(ours.fields(), observed.Object) {
		c.memory.note(c.key, compared)
		return nil, nil
	}
	expected, err := c.expected(observed, c.lastApplied(observed, ours, config))
	if err != nil {
		return nil, err
	}
	change := about(ActionUpdate, observed, c.rule.Resource)
	if c.rule.Method == Recreate && expected.Differs {
		change.Action, change.Object = ActionRecreate, expected.Object
		return &change, nil
	}
	change.Object = config.object(string(observed.GetUID()), observed.GetResourceVersion())
	change.ServerSide = &ServerSide{
		Manager: manager, Force: c.rule.Force, expected: expected.Object.Object,
		held: Fingerprint(restrict(ours.fields(), config.fields)),
	}
	if ours == nil || annotation(observed.Object) != "" {
		change.ServerSide.TakeOver = append([]string{}, c.rule.Managers.Former...)
	}
	return &change, nil
}

// lastApplied gives what was asked for last time, as far as that is known: what the
// manager holds, or, if it was just the same as now, that. It is nil where the annotation
// knows better. What nobody knows is taken to be the same, too.
func (c child) lastApplied(observed *unstructured.Unstructured, ours entry, config configuration) map[string]any {
	if annotation(observed.Object) != "" {
		return nil
	}
	if mark := applied(observed.Object, c.rule.Managers.Own); ours == nil || mark == "" || mark == config.mark {
		return wanted(c.desired)
	}
	return objectOf(restrict(ours.fields(), observed.Object))
}

// expected gives what the object will be like, as far as that can be told.
func (c child) expected(observed *unstructured.Unstructured, last map[string]any) (Result, error) {
	known, err := remembering(observed, last)
	if err != nil {
		return Result{}, err
	}
	m, err := Merge(c.rule.Schema, known, &unstructured.Unstructured{Object: wanted(c.desired)})
	if err != nil {
		return Result{}, err
	}
	m.Object = withAnnotation(m.Object, LastApplied, nil)
	return m, nil
}

// leaveServerSide returns the change that goes back to dynamic apply: what was applied is
// remembered in the annotation, and no longer held by the manager.
func (c child) leaveServerSide(observed *unstructured.Unstructured, owner metav1.OwnerReference, ours entry) (*Change, error) {
	manager := c.rule.Managers.Own
	known, err := remembering(observed, c.lastApplied(observed, ours, configurationOf(c.desired, ownedBy(c.desired, owner), manager)))
	if err != nil {
		return nil, err
	}
	known = withAnnotation(known, appliedAnnotation(manager), nil)
	change, err := c.update(known)
	if err != nil {
		return nil, err
	}
	if change == nil {
		same := about(ActionUpdate, known, c.rule.Resource)
		change = &same
	}
	if change.Observed = observed; change.Action == ActionUpdate {
		change.Leaves = manager
	}
	return change, nil
}

// remembering returns observed as if last were what it remembers, unless last is nil.
func remembering(observed *unstructured.Unstructured, last map[string]any) (*unstructured.Unstructured, error) {
	if last == nil {
		return observed, nil
	}
	text, err := json.Marshal(last)
	if err != nil {
		return nil, err
	}
	return withAnnotation(observed, LastApplied, string(text)), nil
}

// withAnnotation returns object with an annotation, or without it if value is nil.
func withAnnotation(object *unstructured.Unstructured, name string, value any) *unstructured.Unstructured {
	meta := objectIn(object.Object, "metadata")
	annotations, differs := without(objectIn(meta, "annotations"), name)
	if value != nil {
		annotations, differs = with(annotations, name, value), true
	}
	if !differs {
		return object
	}
	return &unstructured.Unstructured{Object: with(object.Object, "metadata", with(meta, "annotations", annotations))}
}
