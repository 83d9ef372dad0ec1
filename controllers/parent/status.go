package parent

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// StatusWriter writes status subresources, and only what differs from the
// version at hand: a status that is as it should be costs no request.
type StatusWriter struct {
	client dynamic.Interface
	clock  clock.PassiveClock
	mu     sync.Mutex
	pruned map[objectName]pruned
}

type objectName struct {
	kind            schema.GroupKind
	namespace, name string
}

// pruned is a status that the API server did not store as it was sent, because
// the schema drops or defaults some of it. Sending it again would change nothing.
type pruned struct {
	sent, stored map[string]any
	at           time.Time
}

// prunedFor is how long that is believed: the schema may learn the fields.
const prunedFor = 10 * time.Minute

// NewStatusWriter makes a writer that sends through client.
func NewStatusWriter(client dynamic.Interface, clock clock.PassiveClock) *StatusWriter {
	return &StatusWriter{client: client, clock: clock, pruned: map[objectName]pruned{}}
}

// Write replaces the status of object unless it is status already. It returns
// the object as it was written, or nil if nothing was. A version of the object
// that is not the newest is refused by the API server, and so is one that is gone: that
// gives controller.ErrLater, as the news of it is on its way. When ctx ends, no request
// is begun; one that is under way ends as the client's own timeout has it.
func (s *StatusWriter) Write(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured, status map[string]any) (*unstructured.Unstructured, error) {
	if s.Stored(object, status) {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	desired := &unstructured.Unstructured{Object: maps.Clone(object.Object)}
	desired.Object["status"] = status
	updated, err := s.client.Resource(resource).Namespace(object.GetNamespace()).
		UpdateStatus(context.WithoutCancel(ctx), desired, metav1.UpdateOptions{})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// It is gone, or its CustomResourceDefinition has had a status for so short a time that the
		// API server does not serve it yet: the two look the same.
		return nil, fmt.Errorf("status: %w: %w", controller.ErrLater, err)
	case err != nil:
		return nil, fmt.Errorf("ApplyFailed: status: %w", err)
	}
	stored, _ := updated.Object["status"].(map[string]any)
	s.remember(nameOf(object), status, stored)
	return updated, nil
}

// Stored says whether an object has a status already, as far as its schema can
// store it.
func (s *StatusWriter) Stored(object *unstructured.Unstructured, status map[string]any) bool {
	current, _ := object.Object["status"].(map[string]any)
	return apply.Equal(current, status) || s.storedAs(nameOf(object), status, current)
}

func nameOf(object *unstructured.Unstructured) objectName {
	return objectName{object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()}
}

// Forget drops what is remembered of an object that is gone.
func (s *StatusWriter) Forget(key controller.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pruned, objectName{key.Kind.GroupKind(), key.Namespace, key.Name})
}

func (s *StatusWriter) storedAs(name objectName, sent, current map[string]any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pruned[name]
	return ok && s.clock.Since(p.at) < prunedFor && apply.Equal(p.sent, sent) && apply.Equal(p.stored, current)
}

func (s *StatusWriter) remember(name objectName, sent, stored map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pruned, name)
	if !apply.Equal(sent, stored) {
		s.pruned[name] = pruned{sent: sent, stored: stored, at: s.clock.Now()}
	}
}
