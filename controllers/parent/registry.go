package parent

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
)

// Registry holds the definitions that run in a process, or are about to, so that one knows of another.
// A nil Registry is empty.
type Registry struct {
	mu      sync.RWMutex
	running map[schema.GroupKind][]*Reconciler // by the kinds of their parents
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry { return &Registry{running: map[schema.GroupKind][]*Reconciler{}} }

func (g *Registry) add(r *Reconciler) {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		for i := range r.sources.Parents {
			if kind := r.sources.Parents[i].Kind.GroupKind(); !slices.Contains(g.running[kind], r) {
				g.running[kind] = append(g.running[kind], r)
			}
		}
	}
}

// Register makes other definitions know of this one before Watch does.
func (r *Reconciler) Register() { r.env.Registry.add(r) }

func (g *Registry) remove(r *Reconciler) {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		for kind, all := range g.running {
			if all = slices.DeleteFunc(all, func(other *Reconciler) bool { return other == r }); len(all) == 0 {
				delete(g.running, kind)
			} else {
				g.running[kind] = all
			}
		}
	}
}

// namesOf returns the names of the definitions with parents of a kind that are selected, sorted.
func (g *Registry) namesOf(kind schema.GroupKind, selects func(*Reconciler) bool) []string {
	if g == nil {
		return nil
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	var names []string
	for _, r := range g.running[kind] {
		if name := r.config.Definition; !slices.Contains(names, name) && selects(r) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// claimants returns the names of the definitions, other than own, that claim a child of parent.
func (g *Registry) claimants(own string, parent, child *unstructured.Unstructured) []string {
	return g.namesOf(parent.GroupVersionKind().GroupKind(), func(r *Reconciler) bool {
		return r.config.Definition != own && r.isClaimant(parent, child)
	})
}

// sharers returns the names of the definitions, other than own, that have parent for a parent and may write that part of it.
func (g *Registry) sharers(own string, parent *unstructured.Unstructured, part string) []string {
	kind := parent.GroupVersionKind().GroupKind()
	return g.namesOf(kind, func(r *Reconciler) bool {
		source := r.sources.ParentsOf(kind)
		return r.config.Definition != own && source.Manages(parent) && r.mayWrite(source, part)
	})
}

// mayWrite reports whether the definition writes a part of its parents. Composites and maps write a status whatever their hooks answer. A
// decorator writes what its hook returns: that is known once it has, or once all parents have been synced.
func (r *Reconciler) mayWrite(source *sources.Parent, part string) bool {
	if part == loops.ParentStatus && !r.config.StatusWithObject {
		return source.HasStatus
	}
	return r.detector.Own.HasWritten(part) || part == loops.ParentStatus && !r.states.HasSwept()
}

// makers returns the names of the definitions that have owner for a parent and claim its child.
func (g *Registry) makers(owner *metav1.OwnerReference, child *unstructured.Unstructured) []string {
	kind := schema.GroupKind{Group: apiGroup(owner), Kind: owner.Kind}
	return g.namesOf(kind, func(r *Reconciler) bool {
		source, namespace := r.sources.ParentsOf(kind), ""
		if source.Namespaced {
			namespace = child.GetNamespace()
		}
		parent := source.Cache.Get(namespace, owner.Name)
		return parent != nil && parent.GetUID() == owner.UID && r.isClaimant(parent, child)
	})
}

// isClaimant reports whether the definition would claim child, given that parent owned it.
func (r *Reconciler) isClaimant(parent, child *unstructured.Unstructured) bool {
	source := r.sources.ParentsOf(parent.GroupVersionKind().GroupKind())
	kind := child.GroupVersionKind().GroupKind()
	declared := slices.ContainsFunc(r.sources.Children, func(c sources.Child) bool { return c.Kind.GroupKind() == kind })
	if !declared || source == nil || !source.Manages(parent) {
		return false
	}
	claim, err := r.config.Variant.Claim(parent)
	return err == nil && (claim.Marked == nil || claim.Marked(child)) &&
		(claim.Selector == nil || claim.Selector.Matches(labels.Set(child.GetLabels())))
}
