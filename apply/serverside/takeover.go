package serverside

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Inherit returns the managedFields of a live object in which what former managers had
// asked for is held by own, and the former ones hold nothing any more: then to apply
// removes what is no longer asked for, and until then nothing is lost. A manager that
// writes objects as a whole also holds what it never asked for, as defaults; of what it
// holds, what the annotation remembers was asked for. The annotation itself is held too,
// so that it goes with the first apply and not before: until then it is all that knows
// the words. It reports whether anything differs.
func Inherit(live *unstructured.Unstructured, own string, former []string) (entries []any, differs bool) {
	asked := rememberedBy(live)
	ours := Entry{"manager": own, "operation": "Apply", "apiVersion": live.GetAPIVersion(), "fieldsType": "FieldsV1"}
	held := map[string]any{}
	for _, e := range ManagedFields(live) {
		e := Entry(jsonvalue.AsObject(e))
		switch {
		case e.appliedBy(own):
			held = Union(held, e.sameVersion(live))
			if when, ok := e["time"]; ok {
				ours["time"] = when
			}
		case !e.formerOf(own, former):
			entries = append(entries, map[string]any(e))
		case e.text("operation") == "Apply":
			held, differs = Union(held, e.sameVersion(live)), true
		default:
			held, differs = Union(held, Within(e.sameVersion(live), asked)), true
		}
	}
	if merge.Annotation(live.Object) != "" && !includes(held, lastAppliedFields) {
		held, differs = Union(held, lastAppliedFields), true
	}
	if len(held) > 0 {
		ours["fieldsV1"] = held
		entries = append(entries, map[string]any(ours))
	}
	return someEntries(entries), differs
}

// lastAppliedFields are the annotation LastApplied and nothing else.
var lastAppliedFields = map[string]any{
	"f:metadata": map[string]any{"f:annotations": map[string]any{"f:" + merge.LastApplied: map[string]any{}}},
}

// sameVersion returns the entry's fields if they are those of the object's version. Those
// of another one are unknown here: no manager holds them any more.
func (e Entry) sameVersion(object *unstructured.Unstructured) map[string]any {
	if e.text("apiVersion") != object.GetAPIVersion() {
		return nil
	}
	return e.Fields()
}

// rememberedBy returns what an object's annotation remembers, or nothing.
func rememberedBy(object *unstructured.Unstructured) any {
	var asked map[string]any
	if json.Unmarshal([]byte(merge.Annotation(object.Object)), &asked) != nil {
		return map[string]any{}
	}
	return merge.AsStored(asked)
}

// HandBack returns the managedFields of a live object in which what own has applied is held by
// manager, who updates, so that it can be taken over again one day.
func HandBack(live *unstructured.Unstructured, own, manager string) []any {
	var entries []any
	held := map[string]any{}
	for _, e := range ManagedFields(live) {
		switch e := Entry(jsonvalue.AsObject(e)); {
		case e.appliedBy(own), e.updatedBy(manager) && e.text("apiVersion") == live.GetAPIVersion():
			held = Union(held, e.sameVersion(live))
		default:
			entries = append(entries, map[string]any(e))
		}
	}
	if len(held) > 0 {
		entries = append(entries, map[string]any{
			"manager": manager, "operation": "Update", "apiVersion": live.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": held,
		})
	}
	return someEntries(entries)
}

// someEntries returns entries as they are written: one empty entry instead of none, which
// would leave those of the object as they are.
func someEntries(entries []any) []any {
	if len(entries) == 0 {
		return []any{map[string]any{}}
	}
	return entries
}
