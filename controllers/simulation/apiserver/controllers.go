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

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/others"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// controllers are what they have to look at.
type controllers struct {
	mu      sync.Mutex
	changed []watch.Event
	wake    chan struct{}
	// override has the objects that are to be ready, or not, whatever is usual.
	override map[objectkey.Key]bool

	// due are the objects that become ready, in order. They are the goroutine's own, as what follows.
	due     []dueObject
	pending map[objectkey.Key]bool
	parents map[objectkey.Key]schema.GroupVersionResource // Of the definitions.
	served  map[string]servedCRD
	ending  map[objectkey.Key]bool // Namespaces and CustomResourceDefinitions that wait until they are empty.
	// garbage is set if there may be some, which is collected from a time on.
	garbage   bool
	collectAt time.Time
}

// dueObject is an object that becomes ready at a time.
type dueObject struct {
	key objectkey.Key
	at  time.Time
}

func (c *controllers) init() {
	c.wake, c.override = make(chan struct{}, 1), map[objectkey.Key]bool{}
	c.pending, c.parents = map[objectkey.Key]bool{}, map[objectkey.Key]schema.GroupVersionResource{}
	c.served, c.ending = map[string]servedCRD{}, map[objectkey.Key]bool{}
}

// add notes a change.
func (c *controllers) add(event watch.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = append(c.changed, event)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *controllers) take() []watch.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.changed
	c.changed = nil
	return taken
}

// SetReady has an object become ready, or not ready, whatever is usual. With nil it is as usual again.
func (s *Server) SetReady(key objectkey.Key, ready *bool) {
	c := &s.controllers
	c.mu.Lock()
	if ready == nil {
		delete(c.override, key)
	} else {
		c.override[key] = *ready
	}
	c.mu.Unlock()
	if object := s.get(key); object != nil {
		c.add(watch.Event{Type: watch.Modified, Object: object})
	}
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

// garbageInterval is how often garbage is collected at most.
const garbageInterval = 20 * time.Millisecond

// Run does what else a cluster does until the context ends.
func (s *Server) Run(ctx context.Context) {
	c := &s.controllers
	timer := s.config.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		for events := c.take(); len(events) > 0; events = c.take() {
			for _, event := range events {
				s.handle(ctx, event)
			}
		}
		now := s.config.Clock.Now()
		s.makeReady(ctx, now)
		if c.garbage && !now.Before(c.collectAt) {
			c.collectAt = now.Add(garbageInterval)
			s.collectGarbage(ctx)
		}
		if c.garbage {
			timer.Reset(c.collectAt.Sub(now))
		} else if len(c.due) > 0 {
			timer.Reset(c.due[0].at.Sub(now))
		}
		select {
		case <-c.wake:
		case <-timer.C():
		case <-ctx.Done():
			return
		}
	}
}

// handle looks at a change.
func (s *Server) handle(ctx context.Context, event watch.Event) {
	object, _ := event.Object.(*unstructured.Unstructured)
	c, kind, key := &s.controllers, object.GroupVersionKind(), keyOf(object)
	isDeleted, isEnding := event.Type == watch.Deleted, object.GetDeletionTimestamp() != nil
	if isDeleted || isEnding || event.Type == watch.Added && len(object.GetOwnerReferences()) > 0 {
		c.garbage = true
	}
	delete(c.ending, key)
	switch {
	case kind.Group == crds.Group && isDeleted:
		s.unserveOthers(groupResourceOf(object), nil)
	case kind.Group == crds.Group, kind == namespaceKind && !isDeleted:
		s.sync(ctx, key, object)
	case v1alpha1.IsDefinition(kind.GroupKind()):
		c.noteDefinition(key, object, isDeleted)
	case !isDeleted && !isEnding && !c.pending[key]:
		c.pending[key] = true
		c.due = append(c.due, dueObject{key, s.config.Clock.Now().Add(s.config.ReadyAfter)})
	}
	if isDeleted {
		for key := range c.ending { // It may have waited for this object.
			if object := s.get(key); object != nil {
				s.sync(ctx, key, object)
			}
		}
	}
}

// sync does what a CustomResourceDefinition or a Namespace asks for.
func (s *Server) sync(ctx context.Context, key objectkey.Key, object *unstructured.Unstructured) {
	if object.GetDeletionTimestamp() != nil {
		s.controllers.ending[key] = true
	}
	do := s.syncCRD
	if key.Kind == namespaceKind {
		do = s.syncNamespace
	}
	s.logError(do(ctx, object), key)
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
func (c *controllers) noteDefinition(key objectkey.Key, object *unstructured.Unstructured, isDeleted bool) {
	apiVersion, resource := text(object, "spec.parentResource.apiVersion"), text(object, "spec.parentResource.resource")
	gv, err := schema.ParseGroupVersion(apiVersion)
	if isDeleted || err != nil || resource == "" {
		delete(c.parents, key)
		return
	}
	c.parents[key] = gv.WithResource(resource)
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

// makeReady has those objects become ready, or fail, that are due.
func (s *Server) makeReady(ctx context.Context, now time.Time) {
	c := &s.controllers
	for len(c.due) > 0 && !c.due[0].at.After(now) {
		key := c.due[0].key
		c.due = c.due[1:]
		delete(c.pending, key)
		if object := s.get(key); object != nil && object.GetDeletionTimestamp() == nil {
			if err := s.makeObjectReady(ctx, key, object); !apierrors.IsInvalid(err) { // Its schema has no such conditions.
				s.logError(err, key)
			}
		}
	}
}

func (s *Server) makeObjectReady(ctx context.Context, key objectkey.Key, object *unstructured.Unstructured) error {
	c, o := &s.controllers, &others.Others{Cluster: s.cluster, Client: s.client, Clock: s.config.Clock}
	c.mu.Lock()
	ready, isSet := c.override[key]
	c.mu.Unlock()
	if !isSet {
		resource, err := s.cluster.ResourceOf(key.Kind)
		if err != nil || resource.Custom && s.isParent(resource) {
			return nil
		}
	}
	if !isSet || ready {
		return o.MakeReady(ctx, object)
	}
	now := s.config.Clock.Now()
	if readiness.Of(object).State == readiness.Ready { // It has nothing to lose if nobody has said so yet.
		if status, ok := readiness.Succeeded(object, now); ok {
			object.Object["status"] = status
		}
	}
	status, isLost := readiness.Lost(object, now)
	if !isLost {
		return nil
	}
	return o.WriteStatus(ctx, object, status)
}

// collectGarbage collects garbage. It is to be done again if another change was faster.
func (s *Server) collectGarbage(ctx context.Context) {
	o := &others.Others{Cluster: s.cluster, Client: s.client, Clock: s.config.Clock}
	s.controllers.garbage = o.CollectGarbage(ctx) != nil
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
	left := 0
	for _, r := range s.all() {
		if r.Namespaced {
			n, err := s.deleteAll(ctx, r, object.GetName())
			if err != nil {
				return err
			}
			left += n
		}
	}
	if left > 0 || value(next, "spec.finalizers") == nil {
		return nil
	}
	next.Object["spec"] = map[string]any{}
	_, err = at.Update(ctx, next, metav1.UpdateOptions{})
	return err
}
