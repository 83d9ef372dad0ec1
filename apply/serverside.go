package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// absent is the version that a creation is for. An apply has no way to say that there
// must be no such object, but one for a version that the object does not have is
// refused, and where there is no object its version is not looked at. No object has
// this version: it is the last that there can be.
const absent = "9223372036854775807"

// createServerSide returns the change that creates the child by applying it, so that it
// is held from the beginning as it is later.
func (c child) createServerSide(owner metav1.OwnerReference) *Change {
	config := serverside.NewConfiguration(c.desired, ownedBy(c.desired, owner), c.rule.Managers.Own, c.rule.Schema)
	return &Change{
		Action:     ActionCreate,
		Key:        c.key,
		Resource:   c.rule.Resource,
		Object:     config.Object("", absent),
		Owner:      owner,
		ServerSide: &ServerSide{Manager: c.rule.Managers.Own, Force: true},
	}
}

// applyServerSide returns the change for an object that exists, or nil if to apply what
// is desired would change nothing: it is what was applied last, and all of it is still
// held. A manager that sets a field to another value takes it away, so that the values need
// not be compared, and the API server may write them down in other words.
func (c child) applyServerSide(observed *unstructured.Unstructured, owner metav1.OwnerReference, entries []any) (*Change, error) {
	manager := c.rule.Managers.Own
	config := serverside.NewConfiguration(c.desired, ownedBy(c.desired, owner), manager, c.rule.Schema)
	ours := serverside.EntryOf(entries, manager)
	same := merge.Annotation(observed.Object) == "" && serverside.Applied(observed.Object, manager) == config.Mark
	if ours != nil && same && config.HeldBy(ours.Fields(), observed.Object) {
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
	change.Object = config.Object(string(observed.GetUID()), observed.GetResourceVersion())
	change.ServerSide = &ServerSide{
		Manager: manager, Force: c.rule.Force, expected: expected.Object.Object,
		held: jsonvalue.Fingerprint(serverside.Restrict(ours.Fields(), config.Fields)),
	}
	if ours == nil || merge.Annotation(observed.Object) != "" {
		change.ServerSide.TakeOver = append([]string{}, c.rule.Managers.Former...)
	}
	return &change, nil
}

// lastApplied returns what was asked for last time, as far as that is known: what the
// manager holds, or, if it was just the same as now, that. It is nil where the annotation
// knows better. If nothing is known, it is taken to be the same.
func (c child) lastApplied(observed *unstructured.Unstructured, ours serverside.Entry, config serverside.Configuration) map[string]any {
	if merge.Annotation(observed.Object) != "" {
		return nil
	}
	if mark := serverside.Applied(observed.Object, c.rule.Managers.Own); ours == nil || mark == "" || mark == config.Mark {
		return serverside.Wanted(c.desired)
	}
	return jsonvalue.AsObject(serverside.Restrict(ours.Fields(), observed.Object))
}

// expected returns what the object will be like, as far as that is known.
func (c child) expected(observed *unstructured.Unstructured, last map[string]any) (merge.Result, error) {
	known, err := remembering(observed, last)
	if err != nil {
		return merge.Result{}, err
	}
	m, err := merge.Merge(c.rule.Schema, known, &unstructured.Unstructured{Object: serverside.Wanted(c.desired)})
	if err != nil {
		return merge.Result{}, err
	}
	m.Object = withAnnotation(m.Object, merge.LastApplied, nil)
	return m, nil
}

// leaveServerSide returns the change that goes back to dynamic apply: what was applied is
// remembered in the annotation, and no longer held by the manager.
func (c child) leaveServerSide(observed *unstructured.Unstructured, owner metav1.OwnerReference, ours serverside.Entry) (*Change, error) {
	manager := c.rule.Managers.Own
	config := serverside.NewConfiguration(c.desired, ownedBy(c.desired, owner), manager, c.rule.Schema)
	known, err := remembering(observed, c.lastApplied(observed, ours, config))
	if err != nil {
		return nil, err
	}
	known = withAnnotation(known, serverside.AppliedAnnotation(manager), nil)
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
	text, err := objectjson.MarshalString(last)
	if err != nil {
		return nil, err
	}
	return withAnnotation(observed, merge.LastApplied, text), nil
}

// withAnnotation returns object with an annotation, or without it if value is nil.
func withAnnotation(object *unstructured.Unstructured, name string, value any) *unstructured.Unstructured {
	meta := jsonvalue.ObjectIn(object.Object, "metadata")
	annotations, differs := jsonvalue.Without(jsonvalue.ObjectIn(meta, "annotations"), name)
	if value != nil {
		annotations, differs = jsonvalue.With(annotations, name, value), true
	}
	if !differs {
		return object
	}
	return &unstructured.Unstructured{Object: jsonvalue.With(object.Object, "metadata", jsonvalue.With(meta, "annotations", annotations))}
}
