package access

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// accountAnnotation has the account of an event on its way from the recorder to the sink. The API server never sees it.
const accountAnnotation = "libretto.internal/account"

// AnnotateEvent returns the annotations of an event that EventSink writes as an account.
func AnnotateEvent(annotations map[string]string, account identity.Account) map[string]string {
	if account.IsHost() {
		return annotations
	}
	annotated := maps.Clone(annotations)
	if annotated == nil {
		annotated = map[string]string{}
	}
	annotated[accountAnnotation] = account.Namespace + "/" + account.Name
	return annotated
}

// EventSink writes events, each as the account that AnnotateEvent has given it, or as the host. One that the account may not write is
// dropped, and logged for the first in its namespace.
type EventSink struct {
	Events client.EventInterface
	Log    logr.Logger

	mu      sync.Mutex
	refused map[string]bool // by account and namespace; those whose last event was refused
}

// Create writes an event.
func (s *EventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	sent := event
	if event.Annotations[accountAnnotation] != "" {
		sent = event.DeepCopy()
		delete(sent.Annotations, accountAnnotation)
	}
	written, err := s.Events.CreateWithEventNamespaceWithContext(contextOf(event), sent)
	return s.drop(event, written, err)
}

// Update replaces an event.
func (s *EventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	written, err := s.Events.UpdateWithEventNamespaceWithContext(contextOf(event), event)
	return s.drop(event, written, err)
}

// Patch counts an event again. What differs is no annotation.
func (s *EventSink) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	written, err := s.Events.PatchWithEventNamespaceWithContext(contextOf(event), event, data)
	return s.drop(event, written, err)
}

// drop returns what a request has returned, but of an event that was refused no error: client-go would log each, with all of its text.
func (s *EventSink) drop(event, written *corev1.Event, err error) (*corev1.Event, error) {
	account := event.Annotations[accountAnnotation]
	key := account + " " + event.Namespace
	s.mu.Lock()
	defer s.mu.Unlock()
	if !apierrors.IsForbidden(err) {
		delete(s.refused, key)
		return written, err
	}
	if !s.refused[key] {
		if s.refused == nil {
			s.refused = map[string]bool{}
		}
		s.refused[key] = true
		verbosity.Warn(s.Log, "events are dropped that the account may not write", "account", account, "namespace", event.Namespace,
			"error", err.Error())
	}
	return event, nil
}

func contextOf(event *corev1.Event) context.Context {
	namespace, name, _ := strings.Cut(event.Annotations[accountAnnotation], "/")
	return identity.WithAccount(context.Background(), identity.Account{Namespace: namespace, Name: name})
}
