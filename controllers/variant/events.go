package variant

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// EventsField is the field of an answer with events on the parent.
const EventsField = "events"

// MaxEvents is how many events of one answer count.
const MaxEvents = 20

// Event is an event on the parent that a hook asks for.
type Event struct {
	// Type is Normal or Warning.
	Type            string
	Reason, Message string
}

// Events reads the events on the parent. Only the first MaxEvents are read; more is how many are left out.
func (r *Response) Events() (events []Event, more int) {
	if !r.knows(EventsField) {
		return nil, 0
	}
	items, ok := r.fields[EventsField].([]any)
	if !ok && r.fields[EventsField] != nil {
		r.Failf("%s: must be a list of objects, but is %s", EventsField, jsonvalue.KindOf(r.fields[EventsField]))
	}
	for i, item := range items[:min(len(items), MaxEvents)] {
		path := fmt.Sprintf("%s[%d]", EventsField, i)
		fields, ok := item.(map[string]any)
		if !ok {
			r.Failf("%s: must be an object with reason and message, but is %s", path, jsonvalue.KindOf(item))
			return nil, 0
		}
		event := r.nested(path, fields, "type", "reason", "message")
		reason := event.reason()
		if isHostReason(reason) {
			r.Failf("%s.reason: %s is what the host's own events say: choose another word, such as App%[2]s", path, reason)
		}
		events = append(events, Event{event.eventType(), reason, event.message()})
	}
	return events, max(len(items)-MaxEvents, 0)
}

// eventType reads the type of an event, which is Normal by default.
func (o nestedObject) eventType() string {
	given := o.text("type")
	switch {
	case given == "":
		return corev1.EventTypeNormal
	case !slices.Contains([]string{corev1.EventTypeNormal, corev1.EventTypeWarning}, given):
		o.Failf("%s.type: %q must be Normal or Warning", o.path, given)
	}
	return given
}
