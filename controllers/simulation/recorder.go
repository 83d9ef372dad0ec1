package simulation

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"
)

// Event is an event on a parent.
type Event struct{ Type, Reason, Message string }

// recorded is a list that is filled during a pass.
type recorded[T any] struct {
	mu   sync.Mutex
	list []T
}

func (r *recorded[T]) add(item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, item)
}

// take returns the list and empties it.
func (r *recorded[T]) take() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// eventRecorder records events without their objects.
type eventRecorder struct{ recorded[Event] }

// Event records an event. An object that the API server's recorder could not refer to is reported
// in the message.
func (e *eventRecorder) Event(object runtime.Object, eventType, reason, message string) {
	if _, err := reference.GetReference(scheme.Scheme, object); err != nil {
		message = fmt.Sprintf("%s (an event without a reference: %v)", message, err)
	}
	e.add(Event{eventType, reason, message})
}

// Eventf formats and records an event.
func (e *eventRecorder) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	e.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf records an event without its annotations.
func (e *eventRecorder) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	e.Eventf(object, eventType, reason, format, args...)
}
