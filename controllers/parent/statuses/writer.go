// Package statuses writes the status of objects, and has those that a pass has left to the next
// one.
package statuses

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
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Writer writes the status of objects if it differs from the observed one. An unchanged
// status costs no request.
type Writer struct {
	client  dynamic.Interface
	schemas *openapi.Source
	clock   clock.PassiveClock
	mu      sync.Mutex
	pruned  map[objectName]prunedStatus
}

type objectName struct {
	kind            schema.GroupKind
	namespace, name string
}

// prunedStatus is a status that the API server did not store as sent, because the schema drops
// or defaults a part of it. It is not sent again while the schema stays the same.
type prunedStatus struct {
	sent, stored statusDigest
	// changes is the number of changes of the schema until then. known is set if there is a
	// schema, so that its changes will be noticed.
	changes uint64
	known   bool
	at      time.Time
}

// statusDigest stands for a status, which may be large, in comparisons by SameStatus.
type statusDigest struct {
	absent bool
	hash   uint64
}

func digestOf(status map[string]any) statusDigest {
	return statusDigest{status == nil, jsonvalue.Fingerprint(status)}
}

// prunedStatusTTL is how long a pruned status is remembered if no schema is known.
const prunedStatusTTL = 10 * time.Minute

// NewWriter returns a writer that sends through client. schemas may be nil.
func NewWriter(client dynamic.Interface, schemas *openapi.Source, clock clock.PassiveClock) *Writer {
	return &Writer{client: client, schemas: schemas, clock: clock, pruned: map[objectName]prunedStatus{}}
}

// Write makes the status of an object the desired one, and returns the written object, or nil if
// nothing was written. The status of a custom resource is replaced. Of other kinds only the
// desired fields are set, as by a merge patch. Without a status subresource the whole object is
// written. Write returns controller.ErrLater if the object is gone or not the newest version: an
// event will show that. If ctx ends, Write starts no request; one in progress is not canceled.
func (s *Writer) Write(
	ctx context.Context, resource discovery.Resource, object *unstructured.Unstructured, desired map[string]any,
) (*unstructured.Unstructured, error) {
	if s.Stored(resource, object, desired) {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	sent := &unstructured.Unstructured{Object: maps.Clone(object.Object)}
	sent.Object["status"] = desired
	if !resource.Custom {
		sent.Object["status"] = jsonvalue.MergePatch(jsonvalue.ObjectIn(object.Object, "status"), desired)
	}
	changes := s.schemas.Changes(resource.Kind) // Before the write: the schema may change meanwhile.
	updated, err := s.send(context.WithoutCancel(ctx), resource, sent)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// It is gone, or the API server does not serve a new status subresource yet: both
		// return the same error.
		return nil, fmt.Errorf("status: %w: %w", controller.ErrLater, err)
	case err != nil:
		return nil, failure.ApplyFailed("status", err)
	}
	s.remember(ctx, resource, nameOf(object), desired, ComparedStatus(resource, updated, desired), changes)
	return updated, nil
}

// send writes the status of an object, or the whole object if there is no status subresource.
func (s *Writer) send(
	ctx context.Context, resource discovery.Resource, object *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	at := s.client.Resource(resource.GroupVersionResource).Namespace(object.GetNamespace())
	if resource.HasStatus {
		return at.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	}
	return at.Update(ctx, object, metav1.UpdateOptions{})
}

// Stored reports whether an object has the desired status already, as far as its schema can
// store it. An empty status differs from none.
func (s *Writer) Stored(resource discovery.Resource, object *unstructured.Unstructured, desired map[string]any) bool {
	if !resource.Custom && len(desired) == 0 {
		return true
	}
	current := ComparedStatus(resource, object, desired)
	return SameStatus(current, desired) || s.isStoredAs(resource, nameOf(object), desired, current)
}

// ComparedStatus returns the part of an object's status that is compared with the desired one.
func ComparedStatus(resource discovery.Resource, object *unstructured.Unstructured, desired map[string]any) map[string]any {
	if resource.Custom {
		return jsonvalue.ObjectIn(object.Object, "status")
	}
	return selectFields(jsonvalue.ObjectIn(object.Object, "status"), desired)
}

// SameStatus reports whether two statuses are equal. No status is another one than an empty status.
func SameStatus(a, b map[string]any) bool { return (a == nil) == (b == nil) && jsonvalue.Equal(a, b) }

// selectFields returns the fields of value that a merge patch names, or nil for a nil value.
func selectFields(value, patch map[string]any) map[string]any {
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
			result[name] = selectFields(object, fields)
		}
	}
	return result
}

func nameOf(object *unstructured.Unstructured) objectName {
	return objectName{object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()}
}

// Forget drops what is remembered of a deleted object.
func (s *Writer) Forget(key controller.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pruned, objectName{key.Kind.GroupKind(), key.Namespace, key.Name})
}

// isStoredAs reports whether current is what the API server stored for desired.
func (s *Writer) isStoredAs(resource discovery.Resource, name objectName, desired, current map[string]any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pruned[name]
	return ok && (p.known || s.clock.Since(p.at) < prunedStatusTTL) && p.changes == s.schemas.Changes(resource.Kind) &&
		p.sent == digestOf(desired) && p.stored == digestOf(current)
}

// remember notes what the API server made of a status, if it is not what was sent. changes is the number of changes
// of the schema until then.
func (s *Writer) remember(
	ctx context.Context, resource discovery.Resource, name objectName, sent, stored map[string]any, changes uint64,
) {
	if SameStatus(sent, stored) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pruned, name)
		return
	}
	p := prunedStatus{
		sent: digestOf(sent), stored: digestOf(stored), changes: changes,
		known: s.schemas.For(ctx, resource.Kind) != nil, at: s.clock.Now(), // Changes are counted from the first request.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned[name] = p
}
