package render

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"

	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
)

// Event is one event on a parent.
type Event struct{ Type, Reason, Message string }

// events is a recorder that keeps what it is told.
type events struct {
	mu   sync.Mutex
	list []Event
}

// Event keeps an event. The object must be one that the API server's recorder could name.
func (e *events) Event(object runtime.Object, eventType, reason, message string) {
	if _, err := reference.GetReference(scheme.Scheme, object); err != nil {
		message = fmt.Sprintf("%s (an event on what has no reference: %v)", message, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, Event{eventType, reason, message})
}

// Eventf is Event with a format.
func (e *events) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	e.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf is Eventf; annotations are not kept.
func (e *events) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	e.Eventf(object, eventType, reason, format, args...)
}

func (e *events) reset() { e.take() }

func (e *events) take() []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

// writes keeps the writes of a pass.
type writes struct {
	mu   sync.Mutex
	list []memcluster.Write
}

func (w *writes) add(write memcluster.Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, write)
}

func (w *writes) reset() { w.take() }

func (w *writes) take() []memcluster.Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
