package memcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// apply is server-side apply without a schema: a list is one value, as it is in a custom
// resource whose schema says nothing else. Who holds what is written down in objects that
// were applied, and from then on.
func (c *Cluster) apply(t *table, r *request) error {
	config := &unstructured.Unstructured{}
	if err := kubejson.Unmarshal(r.patch, &config.Object); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	r.body = config.DeepCopy().Object
	switch {
	case r.status:
		return apierrors.NewBadRequest("a cluster in memory does not apply a status")
	case config.GroupVersionKind() != t.Kind:
		return apierrors.NewBadRequest("the object is no " + t.Kind.String())
	case config.GetManagedFields() != nil || r.manager == "":
		return apierrors.NewBadRequest("an apply needs a field manager and no managedFields")
	case r.before == nil && config.GetUID() != "":
		return conflict(t, r, "uid mismatch: there is no object")
	}
	applied, err := applyTo(r.before, config, holder{r.manager, metav1.ManagedFieldsOperationApply}, r.force)
	if err != nil {
		return err
	}
	if r.before != nil {
		return c.update(t, r, applied)
	}
	applied.SetResourceVersion("") // It is not looked at where there is no object.
	r.sent = applied
	return c.create(t, r)
}

// holder is who holds fields, and how they came to be held.
type holder struct {
	manager   string
	operation metav1.ManagedFieldsOperationType
}

func (h holder) String() string { return string(h.operation) + " " + h.manager }

// updater merges objects that are all of one version.
var updater = (&merge.UpdaterBuilder{Converter: oneVersion{}}).BuildUpdater()

type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

// applyTo gives what an object, or nothing, becomes when config is applied to it.
func applyTo(before, config *unstructured.Unstructured, by holder, force bool) (*unstructured.Unstructured, error) {
	version := fieldpath.APIVersion(config.GetAPIVersion())
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": config.GetAPIVersion(), "kind": config.GetKind()}}
	if before != nil {
		live = before
	}
	held, err := holdersOf(live)
	if err != nil {
		return nil, err
	}
	merged, held, err := updater.Apply(typedOf(live), typedOf(config), version, held, by.String(), force)
	var conflicts merge.Conflicts
	if errors.As(err, &conflicts) {
		return nil, contested(conflicts)
	}
	if err != nil {
		return nil, err
	}
	result := live.DeepCopy()
	if merged != nil { // Else nothing changes.
		result.Object, _ = merged.AsValue().Unstructured().(map[string]any)
	}
	return result, hold(result, held)
}

// updated notes in an object who holds what after by has written it, if that is known of
// the object as it was.
func updated(before, after *unstructured.Unstructured, by holder) error {
	if len(before.GetManagedFields()) == 0 {
		return nil
	}
	given := after
	if len(after.GetManagedFields()) == 0 {
		given = before
	}
	held, err := holdersOf(given)
	if err != nil {
		return err
	}
	_, held, err = updater.Update(typedOf(before), typedOf(after), fieldpath.APIVersion(after.GetAPIVersion()), held, by.String())
	if err != nil {
		return err
	}
	return hold(after, held)
}

// typedOf gives an object for merging, without who holds what.
func typedOf(object *unstructured.Unstructured) *typed.TypedValue {
	content := object.DeepCopy()
	content.SetManagedFields(nil)
	value, err := typed.DeducedParseableType.FromUnstructured(content.Object)
	if err != nil {
		panic(fmt.Sprintf("%v is no object: %v", object.Object, err)) // Everything that is JSON has a deduced type.
	}
	return value
}

// heldByNobody are the fields that say which object it is and what the cluster makes of it.
var heldByNobody = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("status"),
	fieldpath.MakePathOrDie("metadata", "name"), fieldpath.MakePathOrDie("metadata", "namespace"), fieldpath.MakePathOrDie("metadata", "uid"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"), fieldpath.MakePathOrDie("metadata", "generation"), fieldpath.MakePathOrDie("metadata", "creationTimestamp"),
)

// holdersOf reads who holds what of an object.
func holdersOf(object *unstructured.Unstructured) (fieldpath.ManagedFields, error) {
	held := fieldpath.ManagedFields{}
	for _, e := range object.GetManagedFields() {
		if e.FieldsV1 == nil {
			continue // An empty entry stands for none.
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, apierrors.NewBadRequest("metadata.managedFields: " + err.Error())
		}
		held[holder{e.Manager, e.Operation}.String()] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(e.APIVersion), e.Operation == metav1.ManagedFieldsOperationApply)
	}
	return held, nil
}

// hold writes down who holds what of an object.
func hold(object *unstructured.Unstructured, held fieldpath.ManagedFields) error {
	var entries []any
	for _, key := range slices.Sorted(maps.Keys(held)) {
		set := held[key].Set().Difference(heldByNobody)
		if set.Empty() {
			continue
		}
		text, err := set.ToJSON()
		if err != nil {
			return err
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			return err
		}
		operation, manager, _ := strings.Cut(key, " ")
		entries = append(entries, map[string]any{
			"manager": manager, "operation": operation, "apiVersion": string(held[key].APIVersion()), "fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	if entries == nil {
		object.SetManagedFields(nil)
		return nil
	}
	return unstructured.SetNestedSlice(object.Object, entries, "metadata", "managedFields")
}

// contested is how an API server tells of conflicts.
func contested(conflicts merge.Conflicts) error {
	var causes []metav1.StatusCause
	for _, c := range conflicts {
		_, manager, _ := strings.Cut(c.Manager, " ")
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Message: fmt.Sprintf("conflict with %q", manager), Field: c.Path.String(),
		})
	}
	return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with %d conflicts", len(causes)))
}
