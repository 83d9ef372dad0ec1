package notices

import (
	"fmt"
	"sync"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// DroppedFields remembers which fields that the API server drops were reported, so that a definition
// reports each once for a revision of its scripts, and not on each parent.
type DroppedFields struct {
	mu       sync.Mutex
	revision string
	reported map[string]bool
}

// NewDroppedFields returns an empty record.
func NewDroppedFields() *DroppedFields { return &DroppedFields{reported: map[string]bool{}} }

// maxDroppedFields limits the number of reports, as a hook may invent field names without end.
const maxDroppedFields = 20

// IsFirst reports whether a field is new and must be reported.
func (d *DroppedFields) IsFirst(revision, field string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.revision != revision {
		d.revision = revision
		clear(d.reported)
	}
	if d.reported[field] || len(d.reported) == maxDroppedFields {
		return false
	}
	d.reported[field] = true
	return true
}

// LostFields appends the paths of what was sent and is not stored, by name. Kinds that are not custom keep no empty values. A list
// of another length was written by others too.
func LostFields(lost []string, path string, sent, stored any, custom bool) []string {
	switch sent := sent.(type) {
	case map[string]any:
		fields, _ := stored.(map[string]any)
		for _, name := range variant.SortedKeys(sent) {
			value := sent[name]
			switch {
			case value == nil || len(lost) == maxDroppedFields:
			case fields[name] != nil:
				lost = LostFields(lost, path+"."+name, value, fields[name], custom)
			case custom || !jsonvalue.IsZero(value):
				lost = append(lost, path+"."+name)
			}
		}
	case []any:
		items, _ := stored.([]any)
		for i := range sent {
			if len(items) == len(sent) && items[i] != nil {
				lost = LostFields(lost, fmt.Sprintf("%s[%d]", path, i), sent[i], items[i], custom)
			}
		}
	}
	return lost
}
