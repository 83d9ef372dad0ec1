package access

import (
	"context"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	client "k8s.io/client-go/kubernetes/typed/core/v1"

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

// EventSink writes events, each as the account that AnnotateEvent has given it, or as the host.
type EventSink struct{ Events client.EventInterface }

// Create writes an event.
func (s EventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	ctx := contextOf(event)
	if event.Annotations[accountAnnotation] != "" {
		event = event.DeepCopy()
		delete(event.Annotations, accountAnnotation)
	}
	return s.Events.CreateWithEventNamespaceWithContext(ctx, event)
}

// Update replaces an event.
func (s EventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.Events.UpdateWithEventNamespaceWithContext(contextOf(event), event)
}

// Patch counts an event again. What differs is no annotation.
func (s EventSink) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	return s.Events.PatchWithEventNamespaceWithContext(contextOf(event), event, data)
}

func contextOf(event *corev1.Event) context.Context {
	namespace, name, _ := strings.Cut(event.Annotations[accountAnnotation], "/")
	return identity.WithAccount(context.Background(), identity.Account{Namespace: namespace, Name: name})
}
