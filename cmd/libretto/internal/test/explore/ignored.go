package explore

import (
	"fmt"
	glob "path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
)

// ignored are the parts of end states that a case does not compare.
type ignored struct{ entries []ignoredEntry }

// ignoredEntry selects objects, and the field of them that is ignored, or nil for all of them.
type ignoredEntry struct {
	kind, namespace, name string
	field                 []string
}

// parseIgnored reads entries like Pod/shop-1, Pod/*:spec.nodeName or status.attempts, which is a field of the parents.
func parseIgnored(entries []string, parents []string) (ignored, error) {
	var all ignored
	for _, text := range entries {
		object, field, hasField := strings.Cut(text, ":")
		if !strings.Contains(object, "/") && !hasField {
			for _, kind := range parents {
				all.entries = append(all.entries, ignoredEntry{kind: kind, namespace: "*", name: "*", field: strings.Split(object, ".")})
			}
			continue
		}
		e := ignoredEntry{namespace: "*"}
		switch parts := strings.Split(object, "/"); len(parts) {
		case 2:
			e.kind, e.name = parts[0], parts[1]
		case 3:
			e.kind, e.namespace, e.name = parts[0], parts[1], parts[2]
		default:
			return ignored{}, fmt.Errorf("explore.ignore: %q is none of Kind/name, Kind/namespace/name, Kind/name:field and status.field", text)
		}
		if hasField {
			e.field = strings.Split(field, ".")
		}
		if _, err := glob.Match(e.namespace+e.name+e.kind, ""); err != nil {
			return ignored{}, fmt.Errorf("explore.ignore: %q: %w", text, err)
		}
		all.entries = append(all.entries, e)
	}
	return all, nil
}

func (e ignoredEntry) selects(kind, namespace, name string) bool {
	for _, pair := range [][2]string{{e.kind, kind}, {e.namespace, namespace}, {e.name, name}} {
		if matched, err := glob.Match(pair[0], pair[1]); err != nil || !matched {
			return false
		}
	}
	return true
}

// object reports whether an object is ignored as a whole.
func (i ignored) object(object *unstructured.Unstructured) bool {
	for _, e := range i.entries {
		if e.field == nil && e.selects(object.GetKind(), object.GetNamespace(), object.GetName()) {
			return true
		}
	}
	return false
}

// removeFields removes the fields that are ignored.
func (i ignored) removeFields(key apply.Key, object *unstructured.Unstructured) {
	for _, e := range i.entries {
		if e.field != nil && e.selects(key.Kind.Kind, key.Namespace, key.Name) {
			unstructured.RemoveNestedField(object.Object, e.field...)
		}
	}
}
