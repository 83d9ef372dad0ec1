package apiserver

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/others"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// controllers are what they have to look at, and what they know.
type controllers struct {
	// queue has the keys of objects that have changed, and garbage.
	queue workqueue.TypedDelayingInterface[objectkey.Key]

	mu sync.Mutex
	// override has the objects that are to be ready, or not, whatever is usual.
	override map[objectkey.Key]*bool

	// parents are those of the definitions. They are the goroutine's own, as what follows.
	parents map[objectkey.Key]schema.GroupVersionResource
	served  map[string]servedCRD
	ending  map[objectkey.Key]bool // Namespaces and CustomResourceDefinitions that wait until they are empty.
}

// garbage is in the queue if there may be some.
var garbage objectkey.Key

// garbageInterval is how often garbage is collected at most.
const garbageInterval = 20 * time.Millisecond

func newControllers(clock clock.WithTicker) *controllers {
	return &controllers{
		queue:    workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[objectkey.Key]{Clock: clock}),
		override: map[objectkey.Key]*bool{}, parents: map[objectkey.Key]schema.GroupVersionResource{}, served: map[string]servedCRD{},
		ending: map[objectkey.Key]bool{},
	}
}

// note notes a change.
func (s *Server) note(event watch.Event) {
	object, _ := event.Object.(*unstructured.Unstructured)
	isGone := event.Type == watch.Deleted || object.GetDeletionTimestamp() != nil
	if isGone || event.Type == watch.Added && len(object.GetOwnerReferences()) > 0 {
		s.controllers.queue.AddAfter(garbage, garbageInterval)
	}
	if event.Type == watch.Deleted {
		s.SetReady(keyOf(object), nil) // Who comes by that name is another one.
	}
	s.enqueue(keyOf(object))
}

// enqueue has an object looked at: at once, or when it is to become ready.
func (s *Server) enqueue(key objectkey.Key) {
	if isSynced(key.Kind) {
		s.controllers.queue.Add(key)
	} else {
		s.controllers.queue.AddAfter(key, s.config.ReadyAfter)
	}
}

// isSynced reports whether objects of a kind ask for something else than to become ready.
func isSynced(kind schema.GroupVersionKind) bool {
	return kind.Group == crds.Group || kind == namespaceKind || v1alpha1.IsDefinition(kind.GroupKind())
}

// SetReady has an object become ready, or not ready, whatever is usual, until it is deleted. With nil it is as usual again.
func (s *Server) SetReady(key objectkey.Key, ready *bool) {
	c := s.controllers
	c.mu.Lock()
	defer c.mu.Unlock()
	c.override[key] = ready
	if ready == nil {
		delete(c.override, key)
	}
	s.enqueue(key)
}

// Ready returns what SetReady has set for an object.
func (s *Server) Ready(key objectkey.Key) *bool {
	s.controllers.mu.Lock()
	defer s.controllers.mu.Unlock()
	return s.controllers.override[key]
}

// get returns an object, or nil.
func (s *Server) get(key objectkey.Key) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(key.Kind)
	object.SetNamespace(key.Namespace)
	at, err := s.cluster.Endpoint(s.reader, object)
	if err != nil {
		return nil
	}
	object, err = at.Get(context.Background(), key.Name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return object
}

// Run does what else a cluster does until the context ends.
func (s *Server) Run(ctx context.Context) {
	queue := s.controllers.queue
	context.AfterFunc(ctx, queue.ShutDown)
	for key, isEnd := queue.Get(); !isEnd && ctx.Err() == nil; key, isEnd = queue.Get() {
		if key == garbage {
			s.collectGarbage(ctx)
		} else {
			s.logError(s.sync(ctx, key), key)
		}
		queue.Done(key)
	}
}

// collectGarbage collects garbage, again if another change was faster. What waits until it is empty may have waited for the garbage.
func (s *Server) collectGarbage(ctx context.Context) {
	o := &others.Others{Cluster: s.cluster, Client: s.client, Clock: s.config.Clock}
	if o.CollectGarbage(ctx) != nil {
		s.controllers.queue.AddAfter(garbage, garbageInterval)
	}
	for key := range s.controllers.ending {
		s.enqueue(key)
	}
}

// sync does what an object asks for, or what is left to do if it is gone.
func (s *Server) sync(ctx context.Context, key objectkey.Key) error {
	object, kind := s.get(key), key.Kind
	isEnding := object != nil && object.GetDeletionTimestamp() != nil
	if delete(s.controllers.ending, key); isEnding && isSynced(kind) {
		s.controllers.ending[key] = true
	}
	switch {
	case v1alpha1.IsDefinition(kind.GroupKind()):
		s.controllers.noteDefinition(key, object)
	case kind.Group == crds.Group && object == nil:
		s.unserveOthers(schema.ParseGroupResource(key.Name), nil)
	case object == nil:
	case kind.Group == crds.Group:
		return s.syncCRD(ctx, object)
	case kind == namespaceKind:
		return s.syncNamespace(ctx, object)
	case !isEnding:
		if err := s.makeReady(ctx, key, object); !apierrors.IsInvalid(err) { // Its schema has no such conditions.
			return err
		}
	}
	return nil
}

// logError logs an error, unless another change was faster, which is looked at too.
func (s *Server) logError(err error, key objectkey.Key) {
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		s.config.Log.Error(err, "a controller of the cluster in memory failed", "object", key.String())
	}
}

func keyOf(object *unstructured.Unstructured) objectkey.Key {
	return objectkey.Key{Kind: object.GroupVersionKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// noteDefinition notes which parents a definition has. The status of a decorated object is not its definition's.
func (c *controllers) noteDefinition(key objectkey.Key, object *unstructured.Unstructured) {
	delete(c.parents, key)
	if object == nil {
		return
	}
	apiVersion, resource := text(object, "spec.parentResource.apiVersion"), text(object, "spec.parentResource.resource")
	if gv, err := schema.ParseGroupVersion(apiVersion); err == nil && resource != "" {
		c.parents[key] = gv.WithResource(resource)
	}
}

// isParent reports whether the status of a resource's objects is that of a definition.
func (s *Server) isParent(r memcluster.Resource) bool {
	if s.config.IsParent != nil && s.config.IsParent(r.Kind) {
		return true
	}
	for _, parent := range s.controllers.parents {
		if parent == r.GroupVersionResource {
			return true
		}
	}
	return false
}

// makeReady has an object become ready, or fail.
func (s *Server) makeReady(ctx context.Context, key objectkey.Key, object *unstructured.Unstructured) error {
	o := &others.Others{Cluster: s.cluster, Client: s.client, Clock: s.config.Clock}
	ready := s.Ready(key)
	if ready == nil {
		resource, err := s.cluster.ResourceOf(key.Kind)
		if err != nil || resource.Custom && s.isParent(resource) {
			return nil
		}
	}
	if ready == nil || *ready {
		return o.MakeReady(ctx, object)
	}
	now := s.config.Clock.Now()
	if readiness.Of(object).State == readiness.Ready { // It has nothing to lose if nobody has said so yet.
		if status, ok := readiness.Succeeded(object, now); ok {
			object = object.DeepCopy() // The stored one never changes.
			object.Object["status"] = status
		}
	}
	status, isLost := readiness.Lost(object, now)
	if !isLost {
		return nil
	}
	return o.WriteStatus(ctx, object, status)
}

var (
	namespaces    = corev1.SchemeGroupVersion.WithResource("namespaces")
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")
)

// syncNamespace sets the finalizer and the phase of a Namespace, and creates its account. One that is being deleted it empties, and lets
// it go once nothing is left.
func (s *Server) syncNamespace(ctx context.Context, object *unstructured.Unstructured) (err error) {
	next, phase, at := object.DeepCopy(), "Active", s.client.Resource(namespaces)
	isEnding := object.GetDeletionTimestamp() != nil
	if isEnding {
		phase = "Terminating"
	} else if value(object, "spec.finalizers") == nil {
		_ = unstructured.SetNestedField(next.Object, object.GetName(), "metadata", "labels", corev1.LabelMetadataName)
		next.Object["spec"] = map[string]any{"finalizers": []any{string(corev1.FinalizerKubernetes)}}
		if next, err = at.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if text(next, "status.phase") != phase {
		next.Object["status"] = map[string]any{"phase": phase}
		if next, err = at.UpdateStatus(ctx, next, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if !isEnding {
		account := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "default"}}}
		account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
		account.SetNamespace(object.GetName())
		accounts := s.client.Resource(corev1.SchemeGroupVersion.WithResource("serviceaccounts")).Namespace(object.GetName())
		if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	}
	left, err := s.deleteAll(ctx, object.GetName(), func(r *resource) bool { return r.Namespaced })
	if err != nil || left > 0 || value(next, "spec.finalizers") == nil {
		return err
	}
	next.Object["spec"] = map[string]any{}
	_, err = at.Update(ctx, next, metav1.UpdateOptions{})
	return err
}
