package serverside

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// ManagedFields returns the entries of an object's managedFields, as they are in JSON.
func ManagedFields(object *unstructured.Unstructured) []any {
	entries, _ := jsonvalue.ObjectIn(object.Object, "metadata")["managedFields"].([]any)
	return entries
}

// Entry is one entry of managedFields.
type Entry map[string]any

func (e Entry) text(field string) string {
	text, _ := e[field].(string)
	return text
}

// appliedBy reports whether the entry holds what manager has applied to the object
// itself, and not to one of its subresources.
func (e Entry) appliedBy(manager string) bool {
	return e.text("manager") == manager && e.text("operation") == "Apply" && e.text("subresource") == ""
}

// updatedBy reports whether the entry holds what manager has written in another way.
func (e Entry) updatedBy(manager string) bool {
	return e.text("manager") == manager && e.text("operation") == "Update" && e.text("subresource") == ""
}

// Fields are the entry's fields, as FieldsV1 writes them.
func (e Entry) Fields() map[string]any { return jsonvalue.ObjectIn(e, "fieldsV1") }

// Holds reports whether the entry has the field at a path, fields below it, or a whole that it is in.
func (e Entry) Holds(path []string) bool {
	fields := e.Fields()
	for _, field := range path {
		if fields = jsonvalue.ObjectIn(fields, "f:"+field); len(fields) == 0 {
			return fields != nil
		}
	}
	return true
}

// formerOf reports whether the entry was written by one of the former managers, or
// by the own one under another prefix or in another way.
func (e Entry) formerOf(own string, former []string) bool {
	manager := e.text("manager")
	if e.text("subresource") != "" || e.appliedBy(own) {
		return false
	}
	_, suffix, _ := strings.Cut(own, "/")
	return manager == own || slices.Contains(former, manager) ||
		suffix != "" && e.text("operation") == "Apply" && strings.HasSuffix(manager, "/"+suffix)
}

// EntryOf returns the entry that holds what manager has applied, or nil.
func EntryOf(entries []any, manager string) Entry {
	for _, e := range entries {
		if e, ok := e.(map[string]any); ok && Entry(e).appliedBy(manager) {
			return e
		}
	}
	return nil
}
