package parent

import (
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// droppedFields remembers which dropped fields of a status were reported, so that a definition
// reports each once and not on each parent.
type droppedFields struct {
	mu       sync.Mutex
	reported map[string]bool
}

func newDroppedFields() *droppedFields { return &droppedFields{reported: map[string]bool{}} }

// maxDroppedFields limits the number of reports, as a hook may invent field names without end.
const maxDroppedFields = 20

// isFirst reports whether message is new and must be reported.
func (d *droppedFields) isFirst(message string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reported[message] || len(d.reported) == maxDroppedFields {
		return false
	}
	d.reported[message] = true
	return true
}

// ObservedGenerationField is a field of a status. It is added by this program and may be missing in a schema.
const ObservedGenerationField = "observedGeneration"

// reportDroppedFields reports the fields of the last written status that the API server dropped.
func (p *pass) reportDroppedFields(sent map[string]any) {
	stored := statusOf(p.parent)
	var lost []string
	for _, name := range variant.SortedKeys(sent) {
		if sent[name] != nil && stored[name] == nil && name != ObservedGenerationField {
			lost = append(lost, "status."+name)
		}
	}
	if len(lost) == 0 {
		return
	}
	remedy := "name them in the schema of the CustomResourceDefinition"
	if !p.source.Custom {
		remedy = "the kind has no such fields, let the hook leave them out"
	}
	message := fmt.Sprintf("the API server does not store %s of %s: %s", strings.Join(lost, ", "), p.source.GroupResource(), remedy)
	if p.droppedFields.isFirst(message) {
		p.env.Events.Event(p.parent, corev1.EventTypeWarning, variant.ReasonStatusNotStored, message)
	}
}
