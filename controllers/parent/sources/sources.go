// Package sources has the resources of a definition: of its parents, of their children and of what else passes read, each with its cache.
package sources

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// Sources are the resources of a definition. The zero value has none.
type Sources struct {
	Parents    []Parent
	Children   []Child
	Inputs     []Input
	Revisions  *Child           // nil if nothing is rolled out
	Namespaces *informer.Handle // nil if no rule selects namespaces
	// Rules are those of the children, without schemas.
	Rules []apply.Rule
	// Kinds are those of parents and children.
	Kinds []schema.GroupVersionKind
}

// Parent is a resource of parents.
type Parent struct {
	variant.ParentRule
	Cache *informer.Handle
	// Finalizer is that of the definition, or empty.
	Finalizer string
	// Namespace is that of the definition, which has no parents elsewhere, or empty.
	Namespace string
	// Shard has the namespaces of the parents. Follows is set if those without a namespace are the parents of another shard.
	Shard   shard.Range
	Follows bool
}

// Child is a resource of children.
type Child struct {
	variant.ChildRule
	Cache *informer.Handle
}

// Input is a resource of inputs.
type Input struct {
	variant.InputRule
	Cache *informer.Handle
}

// Config says which resources a definition has.
type Config struct {
	Parents   []variant.ParentRule
	Finalizer string
	Namespace string
	Children  []variant.ChildRule
	Managers  serverside.Managers
	Inputs    []variant.InputRule
	Revisions *discovery.Resource
	// Follows is set if parents without a namespace are those of another shard than the pool's.
	Follows bool
}

// Open opens the caches of all resources. Those of a shard have its namespaces alone, unless there are parents without a namespace, whose
// children are in any.
func Open(pool *informer.Pool, config Config) (s Sources) {
	everywhere := !config.Follows && slices.ContainsFunc(config.Parents, func(rule variant.ParentRule) bool { return !rule.Namespaced })
	open := func(resource discovery.Resource) *informer.Handle {
		if everywhere || !resource.Namespaced {
			return pool.Whole().Open(resource.GroupVersionResource)
		}
		return pool.Open(resource.GroupVersionResource)
	}
	for _, rule := range config.Parents {
		s.Kinds = append(s.Kinds, rule.Kind)
		s.Parents = append(s.Parents, Parent{
			ParentRule: rule, Cache: open(rule.Resource), Finalizer: config.Finalizer, Namespace: config.Namespace,
			Shard: pool.Range(), Follows: config.Follows,
		})
	}
	for _, rule := range config.Children {
		s.Kinds = append(s.Kinds, rule.Kind)
		s.Children = append(s.Children, Child{ChildRule: rule, Cache: open(rule.Resource)})
		s.Rules = append(s.Rules, apply.Rule{
			Kind: rule.Kind, Resource: rule.GroupVersionResource, Namespaced: rule.Namespaced, Method: rule.Method,
			Strategy: rule.Strategy, Force: rule.Force, Managers: config.Managers, Ignored: rule.Ignored, Orphan: rule.Orphan,
		})
	}
	for _, rule := range config.Inputs {
		s.Inputs = append(s.Inputs, Input{InputRule: rule, Cache: open(rule.Resource)})
		if rule.ByNamespace && s.Namespaces == nil {
			s.Namespaces = pool.Whole().Open(waiters.NamespaceResource)
		}
	}
	if resource := config.Revisions; resource != nil {
		s.Revisions = &Child{ChildRule: variant.ChildRule{Resource: *resource}, Cache: open(*resource)}
	}
	return s
}

// caches returns all open caches.
func (s *Sources) caches() []*informer.Handle {
	var all []*informer.Handle
	for _, source := range s.Parents {
		all = append(all, source.Cache)
	}
	for _, source := range s.Children {
		all = append(all, source.Cache)
	}
	for _, source := range s.Inputs {
		all = append(all, source.Cache)
	}
	if s.Revisions != nil {
		all = append(all, s.Revisions.Cache)
	}
	if s.Namespaces != nil {
		all = append(all, s.Namespaces)
	}
	return all
}

// Close closes the caches.
func (s *Sources) Close() {
	for _, cache := range s.caches() {
		cache.Close()
	}
}

// WaitForSync waits until all caches are synced. It returns false if ctx ends before.
func (s *Sources) WaitForSync(ctx context.Context) bool {
	for _, cache := range s.caches() {
		if !cache.WaitForSync(ctx) {
			return false
		}
	}
	return true
}

// Err returns why a resource cannot be read at present, or nil.
func (s *Sources) Err() error {
	for _, cache := range s.caches() {
		if err := cache.Err(); err != nil {
			return err
		}
	}
	return nil
}

// ParentsOf returns the resource of parents of a kind, or nil if there is none.
func (s *Sources) ParentsOf(kind schema.GroupKind) *Parent {
	for i := range s.Parents {
		if s.Parents[i].Kind.GroupKind() == kind {
			return &s.Parents[i]
		}
	}
	return nil
}

// EachParent calls do for each parent.
func (s *Sources) EachParent(do func(source *Parent, parent *unstructured.Unstructured)) {
	for i := range s.Parents {
		for _, parent := range s.Parents[i].Cache.List() {
			if s.Parents[i].Manages(parent) {
				do(&s.Parents[i], parent)
			}
		}
	}
}

// Manages reports whether the definition manages an object of the resource: it selects the object, or still has to finalize it.
func (p *Parent) Manages(object *unstructured.Unstructured) bool {
	return p.has(object.GetNamespace()) && (p.Selects(object) || p.HasFinalizer(object))
}

// has reports whether objects in a namespace, or in none, may be parents.
func (p *Parent) has(namespace string) bool {
	switch {
	case p.Namespace != "":
		return p.Namespace == namespace
	case namespace == "":
		return !p.Follows
	default:
		return p.Shard.Contains(namespace)
	}
}

// HasFinalizer reports whether an object has the definition's finalizer.
func (p *Parent) HasFinalizer(object *unstructured.Unstructured) bool {
	return p.Finalizer != "" && slices.Contains(object.GetFinalizers(), p.Finalizer)
}

// ChildrenOf returns the resource of children of a kind, or nil if there is none.
func (s *Sources) ChildrenOf(kind schema.GroupVersionKind) *Child {
	for i := range s.Children {
		if s.Children[i].Kind == kind {
			return &s.Children[i]
		}
	}
	return nil
}

// CachedChild returns what the cache shows of a child, or nil.
func (s *Sources) CachedChild(child *unstructured.Unstructured) *unstructured.Unstructured {
	if source := s.ChildrenOf(child.GroupVersionKind()); source != nil {
		return source.Cache.Get(child.GetNamespace(), child.GetName())
	}
	return nil
}

// NamespaceLabels returns the labels of a namespace, or nil if it is not known or no rule selects namespaces.
func (s *Sources) NamespaceLabels(namespace string) labels.Set {
	if s.Namespaces == nil || s.Namespaces.Get("", namespace) == nil {
		return nil
	}
	return related.LabelsIn(s.Namespaces, namespace)
}
