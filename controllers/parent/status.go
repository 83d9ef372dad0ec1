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

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// StatusWriter writes the status of objects, and only what differs from the
// version at hand: a status that is as it should be costs no request.
type StatusWriter struct {
	client  dynamic.Interface
	schemas *openapi.Source
	clock   clock.PassiveClock
	mu      sync.Mutex
	pruned  map[objectName]pruned
}

type objectName struct {
	kind            schema.GroupKind
	namespace, name string
}

// pruned is a status that the API server did not store as it was sent, because
// the schema drops or defaults some of it. Sending it again would change nothing
// as long as the schema is the same.
type pruned struct {
	sent, stored map[string]any
	// changes are those of the schema until then. known says that there is a schema, so that
	// its changes will be noticed.
	changes uint64
	known   bool
	at      time.Time
}

// prunedFor is how long a pruned status is remembered where no schema is known.
const prunedFor = 10 * time.Minute

// NewStatusWriter returns a writer that sends through client. Schemas may be nil.
func NewStatusWriter(client dynamic.Interface, schemas *openapi.Source, clock clock.PassiveClock) *StatusWriter {
	return &StatusWriter{client: client, schemas: schemas, clock: clock, pruned: map[objectName]pruned{}}
}

// Write makes the status of an object as desired, unless it is already. That of a custom
// resource is replaced. Of any other the desired fields are set, as by a merge patch. Where
// there is no status subresource the object is written with it. Write returns the object as
// it was written, or nil if nothing was. A version of the object that is not the newest is
// refused by the API server, and so is one that is gone: the error is then
// controller.ErrLater, as the news of it is on its way. When ctx ends, no request is begun;
// one that is under way ends as the client's own timeout has it.
func (s *StatusWriter) Write(ctx context.Context, resource discovery.Resource, object *unstructured.Unstructured, desired map[string]any) (*unstructured.Unstructured, error) {
	if s.Stored(resource, object, desired) {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	sent := &unstructured.Unstructured{Object: maps.Clone(object.Object)}
	sent.Object["status"] = desired
	if !resource.Custom {
		sent.Object["status"] = merged(statusOf(object), desired)
	}
	updated, err := s.send(context.WithoutCancel(ctx), resource, sent)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// It is gone, or its CustomResourceDefinition has had a status for so short a time that the
		// API server does not serve it yet: the two look the same.
		return nil, fmt.Errorf("status: %w: %w", controller.ErrLater, err)
	case err != nil:
		return nil, fmt.Errorf("ApplyFailed: status: %w", err)
	}
	s.remember(ctx, resource, nameOf(object), desired, judged(resource, updated, desired))
	return updated, nil
}

// send writes the status of an object, or the whole object where there is no other way.
func (s *StatusWriter) send(ctx context.Context, resource discovery.Resource, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	at := s.client.Resource(resource.GroupVersionResource).Namespace(object.GetNamespace())
	if resource.HasStatus {
		return at.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	}
	return at.Update(ctx, object, metav1.UpdateOptions{})
}

// Stored reports whether an object has the desired status already, as far as its schema
// can store it. One that is empty is not the same as none.
func (s *StatusWriter) Stored(resource discovery.Resource, object *unstructured.Unstructured, desired map[string]any) bool {
	if !resource.Custom && len(desired) == 0 {
		return true
	}
	current := judged(resource, object, desired)
	return sameStatus(current, desired) || s.storedAs(resource, nameOf(object), desired, current)
}

// judged returns the part of an object's status that is compared with the desired one.
func judged(resource discovery.Resource, object *unstructured.Unstructured, desired map[string]any) map[string]any {
	if resource.Custom {
		return statusOf(object)
	}
	return narrowed(statusOf(object), desired)
}

func statusOf(object *unstructured.Unstructured) map[string]any {
	status, _ := object.Object["status"].(map[string]any)
	return status
}

func sameStatus(a, b map[string]any) bool { return (a == nil) == (b == nil) && jsonvalue.Equal(a, b) }

// merged returns a copy of target with the fields of a merge patch.
func merged(target, patch map[string]any) map[string]any {
	result := variant.MergeFields(target, nil)
	for name, value := range patch {
		fields, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(result, name)
		case isObject:
			before, _ := result[name].(map[string]any)
			result[name] = merged(before, fields)
		default:
			result[name] = value
		}
	}
	return result
}

// narrowed returns the fields of value that a merge patch names, or nil for a nil value.
func narrowed(value, patch map[string]any) map[string]any {
	if value == nil {
		return nil
	}
	result := make(map[string]any, len(patch))
	for name, wanted := range patch {
		has, present := value[name]
		if !present {
			continue
		}
		result[name] = has
		fields, isObject := wanted.(map[string]any)
		if object, both := has.(map[string]any); both && isObject {
			result[name] = narrowed(object, fields)
		}
	}
	return result
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

// storedAs reports whether the current status is what the API server made of the desired one.
func (s *StatusWriter) storedAs(resource discovery.Resource, name objectName, desired, current map[string]any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pruned[name]
	return ok && (p.known || s.clock.Since(p.at) < prunedFor) && p.changes == s.schemas.Changes(resource.Kind) &&
		sameStatus(p.sent, desired) && sameStatus(p.stored, current)
}

func (s *StatusWriter) remember(ctx context.Context, resource discovery.Resource, name objectName, sent, stored map[string]any) {
	if sameStatus(sent, stored) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pruned, name)
		return
	}
	// Asking for the schema once is what has its changes noticed.
	known := s.schemas.For(ctx, resource.Kind) != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned[name] = pruned{sent: sent, stored: stored, changes: s.schemas.Changes(resource.Kind), known: known, at: s.clock.Now()}
}
