// Package parent is the reconciler of all kinds of definition. It observes a parent and its
// children, calls the hooks for the desired state, applies the difference and writes the
// status. Composites, decorators and maps differ only in their Variant, three pure functions.
package parent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/peers"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// Reconciler reconciles the parents of one definition.
type Reconciler struct {
	*shared
}

// shared is what all passes of a definition have in common.
type shared struct {
	config Config
	env    Environment
	// sources are the resources of the definition.
	sources sources.Sources
	peer    *peers.Definition // The definition, as others see it.
	memories
	inherited
	// required are the rights for which parents wait, or nil.
	required func(namespace string) []access.Right
	replaced atomic.Bool // Another reconciler has what is inherited.
}

// ownManager is the field manager of all writes except server-side apply.
const ownManager = "libretto"

// FormerManagers returns the field managers that may have written children before server-side
// apply: this program and metacontroller.
func FormerManagers() []string { return []string{ownManager, "metacontroller"} }

// New returns the reconciler of a definition and opens the caches that it needs. The caller must
// close it.
func New(config Config, env Environment) (*Reconciler, error) {
	env = env.withDefaults()
	r := &Reconciler{&shared{config: config, env: env, memories: newMemories(config, env), inherited: newInherited(config, env)}}
	r.peer = &peers.Definition{Name: config.Definition, Sources: &r.sources, Claim: config.Variant.Claim, MayWrite: r.mayWrite}
	r.pendingWrites.Completed = r.history.Note
	r.sources = sources.Open(env.Pool, sources.Config{
		Parents: config.Parents, Finalizer: config.Finalizing.Name, Namespace: env.Namespace, Children: config.Children,
		Managers: config.Managers, Inputs: config.Inputs, Revisions: config.Revisions.Resource,
		Follows: env.Follows,
	})
	if err := r.indexParents(); err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", config.Definition, err)
	}
	return r, nil
}

// Close closes the caches. No pass may be running.
func (r *Reconciler) Close() {
	r.sources.Close()
	r.memories.close()
	r.env.Registry.Remove(r.peer)
}

// WaitForSync waits until all caches are synced. It returns false if ctx ends before.
func (r *Reconciler) WaitForSync(ctx context.Context) bool { return r.sources.WaitForSync(ctx) }

// Err returns why a resource cannot be read at present, or nil.
func (r *Reconciler) Err() error { return cmp.Or(r.sources.Err(), r.related.Err()) }

// TakeOver continues with what former, which runs an earlier spec of the definition, remembers of parents. It is called before Watch, and
// RetainParents once the caches are synced.
func (r *Reconciler) TakeOver(previous *Reconciler) {
	r.ShareMemory(previous)
	previous.MarkReplaced()
}

// ShareMemory makes r share with other what other remembers of parents. other goes on to sync some of them: no parent may be in a pass of
// both. It is called before Watch.
func (r *Reconciler) ShareMemory(other *Reconciler) { r.inherited = other.inherited }

// MarkReplaced notes that all parents are those of another reconciler that shares what this one remembers.
func (r *Reconciler) MarkReplaced() { r.replaced.Store(true) }

// RetainParents drops what TakeOver brought of objects that are no longer parents of the definition, and notes that all parents are about
// to be synced. It is called once the caches are synced, before the queue is processed.
func (r *Reconciler) RetainParents() {
	r.inherited.retain(func(key controller.Key) bool {
		parent, _ := r.find(key)
		return parent != nil
	})
	r.states.BeginSweep(r.parentKeys())
}

// parentKeys returns the keys of all parents.
func (r *Reconciler) parentKeys() []controller.Key {
	var parents []controller.Key
	r.sources.EachParent(func(source *sources.Parent, parent *unstructured.Unstructured) {
		parents = append(parents, keyOf(source.Kind, parent))
	})
	return parents
}

// Reconcile syncs one parent.
func (r *Reconciler) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	ctx = identity.WithAccount(ctx, r.config.Account)
	parent, source := r.find(key)
	if parent == nil {
		r.forget(key)
		return controller.Result{}, nil
	}
	began := time.Now()
	ctx = r.beginTrace(ctx, began)
	observer := observerOf(ctx)
	if observer != nil {
		ctx = observer.Begin(ctx, r.config.Definition, parent)
	}
	result, err := r.sync(ctx, key, parent, source)
	if observer != nil {
		observer.End(ctx, err)
	}
	r.env.Metrics.ObserveReconcile(time.Since(began), r.endTrace(ctx, parent, result, err))
	return result, err
}

// sync syncs a parent that exists.
func (r *Reconciler) sync(
	ctx context.Context, key controller.Key, parent *unstructured.Unstructured, source *sources.Parent,
) (controller.Result, error) {
	delay, err := r.syncContents(ctx, parent)
	if delay > 0 {
		return controller.Result{RequeueAfter: delay, Unfinished: true}, nil
	}
	if err == nil && r.awaitRights(ctx, key, parent) {
		return controller.Result{RequeueAfter: rightsInterval}, nil
	}
	if err == nil {
		parent, err = r.prepare(ctx, key, parent, source)
	}
	result, end := controller.Result{Retry: failure.RetryOf(err, false)}, health.End{}
	if err == nil {
		result, end, err = r.newPass(key, parent, source).sync(ctx)
	} else {
		end.Edit = r.editOf(r.config.Programs(parent).Revision)
	}
	if errors.Is(err, errGone) {
		return controller.Result{}, nil
	}
	err = shorten(err)
	if ctx.Err() == nil {
		r.noteEnd(key, parent, end, result, err)
	}
	return result, err
}

// prepare adds the finalizer before the pass creates anything, or removes one that is not needed any more. It returns the parent as it is
// then.
func (r *Reconciler) prepare(
	ctx context.Context, key controller.Key, parent *unstructured.Unstructured, source *sources.Parent,
) (*unstructured.Unstructured, error) {
	if err := r.guardRelease(ctx, key, parent, source); err != nil {
		return parent, err
	}
	updated, err := r.syncFinalizer(ctx, parent, source)
	if err != nil {
		return parent, err
	}
	return updated, ctx.Err() // Begin nothing after the finalizer.
}

// noteEnd notes how a pass ended, for the status of the definition and for events. One that ended early without an error says nothing.
func (r *Reconciler) noteEnd(key controller.Key, parent *unstructured.Unstructured, end health.End, result controller.Result, err error) {
	if err == nil && result.Unfinished {
		return
	}
	r.noteState(key, parent, end, err)
	r.report(key, parent, err)
}

// Expire drops state that is kept only for some minutes after a write or an event, and logs how many events were dropped. The caller
// calls it at least every minute, also if no parent is reconciled.
func (r *Reconciler) Expire() {
	r.memories.expire()
	r.inherited.expire()
	r.reportRecovered()
	r.logDroppedEvents()
}

// forget drops the state of a deleted parent.
func (r *Reconciler) forget(key controller.Key) {
	changed := r.memories.forget(key)
	if r.inherited.forget(key) || changed {
		r.config.Changed()
	}
	if r.config.Guard != nil {
		r.config.Guard.NoteSynced(key)
	}
}

// ForgetParent drops what this reconciler alone knows of a parent that another one syncs.
func (r *Reconciler) ForgetParent(key controller.Key) { r.memories.forget(key) }
