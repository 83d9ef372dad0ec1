package parent

import (
	"context"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// parentSource is a resource of parents and its cache.
type parentSource struct {
	variant.ParentRule
	cache *informer.Handle
}

// childSource is a resource of children and its cache.
type childSource struct {
	variant.ChildRule
	cache *informer.Handle
}

// openCaches opens the caches of all resources of the definition.
func (r *Reconciler) openCaches() {
	for _, rule := range r.config.Parents {
		r.kinds = append(r.kinds, rule.Kind)
		r.parents = append(r.parents, parentSource{ParentRule: rule, cache: r.env.Pool.Open(rule.GroupVersionResource)})
	}
	for _, rule := range r.config.Children {
		r.kinds = append(r.kinds, rule.Kind)
		r.children = append(r.children, childSource{ChildRule: rule, cache: r.env.Pool.Open(rule.GroupVersionResource)})
		r.childRules = append(r.childRules, apply.Rule{
			Kind: rule.Kind, Resource: rule.GroupVersionResource, Namespaced: rule.Namespaced, Method: rule.Method,
			Strategy: rule.Strategy, Force: rule.Force, Managers: r.config.Managers,
		})
	}
	for _, rule := range r.config.Inputs {
		r.inputSources = append(r.inputSources, inputSource{InputRule: rule, cache: r.env.Pool.Open(rule.GroupVersionResource)})
		if rule.ByNamespace && r.namespaces == nil {
			r.namespaces = r.env.Pool.Open(waiters.NamespaceResource)
		}
	}
	if resource := r.config.Revisions; resource != nil {
		r.revisions = &childSource{ChildRule: variant.ChildRule{Resource: *resource}, cache: r.env.Pool.Open(resource.GroupVersionResource)}
	}
}

// caches returns all open caches except those of related objects.
func (r *Reconciler) caches() []*informer.Handle {
	var all []*informer.Handle
	for _, source := range r.parents {
		all = append(all, source.cache)
	}
	for _, source := range r.children {
		all = append(all, source.cache)
	}
	for _, source := range r.inputSources {
		all = append(all, source.cache)
	}
	if r.revisions != nil {
		all = append(all, r.revisions.cache)
	}
	if r.namespaces != nil {
		all = append(all, r.namespaces)
	}
	return all
}

// Close closes the caches. No pass may be running.
func (r *Reconciler) Close() {
	for _, cache := range r.caches() {
		cache.Close()
	}
	r.related.Close()
	r.previewCaches.close()
	r.namespaceWaiters.Close()
	r.pendingWrites.Close()
	r.passCache.Close()
	r.env.Registry.remove(r)
}

// WaitForSync waits until all caches are synced. It returns false if ctx ends before.
func (r *Reconciler) WaitForSync(ctx context.Context) bool {
	for _, cache := range r.caches() {
		if !cache.WaitForSync(ctx) {
			return false
		}
	}
	return true
}

// Err returns why a resource cannot be read at present, or nil.
func (r *Reconciler) Err() error {
	for _, cache := range r.caches() {
		if err := cache.Err(); err != nil {
			return err
		}
	}
	return r.related.Err()
}
