package parent

import (
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// unstored remembers which fields of a status the API server was told not to store, so that
// a definition tells of them once and not on each of its parents.
type droppedFields struct {
	mu       sync.Mutex
	reported map[string]bool
}

func newDroppedFields() *droppedFields { return &droppedFields{reported: map[string]bool{}} }

// mostUnstored is how many messages are told, lest a hook that makes up names has no end of them.
const maxDroppedFields = 20

// first reports whether a message is new and to be told.
func (u *droppedFields) isFirst(message string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reported[message] || len(u.reported) == maxDroppedFields {
		return false
	}
	u.reported[message] = true
	return true
}

// observedGeneration is a field of a status that the host adds, and that a schema need not have.
const observedGenerationField = "observedGeneration"

// tellUnstored tells on the parent which fields of the status that was just written the API
// server has dropped.
func (p *pass) reportDroppedFields(sent map[string]any) {
	stored := statusOf(p.parent)
	var lost []string
	for _, name := range variant.SortedKeys(sent) {
		if sent[name] != nil && stored[name] == nil && name != observedGenerationField {
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
