// Package peers tells definitions of one process apart that have the same parents: which of them claims a child, writes a status or has
// made an object.
package peers

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// Definition is a definition as others of the process see it.
type Definition struct {
	// Name is that in logs and errors, such as "CompositeController catset".
	Name    string
	Sources *sources.Sources
	// Claim returns which children a parent claims.
	Claim func(parent *unstructured.Unstructured) (variant.Claim, error)
	// MayWrite reports whether the definition writes a part of its parents of a source.
	MayWrite func(source *sources.Parent, part string) bool
}

// Registry has the definitions that run in a process, or are about to. A nil Registry is empty.
type Registry struct {
	mu      sync.RWMutex
	running map[schema.GroupKind][]*Definition // by the kinds of their parents
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry { return &Registry{running: map[schema.GroupKind][]*Definition{}} }

// Add adds a definition, unless it is there.
func (g *Registry) Add(d *Definition) {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		for i := range d.Sources.Parents {
			if kind := d.Sources.Parents[i].Kind.GroupKind(); !slices.Contains(g.running[kind], d) {
				g.running[kind] = append(g.running[kind], d)
			}
		}
	}
}

// Remove removes a definition.
func (g *Registry) Remove(d *Definition) {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		for kind, all := range g.running {
			if all = slices.DeleteFunc(all, func(other *Definition) bool { return other == d }); len(all) == 0 {
				delete(g.running, kind)
			} else {
				g.running[kind] = all
			}
		}
	}
}

// namesOf returns the names of the definitions with parents of a kind that are selected, sorted.
func (g *Registry) namesOf(kind schema.GroupKind, selects func(*Definition) bool) []string {
	if g == nil {
		return nil
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	var names []string
	for _, d := range g.running[kind] {
		if !slices.Contains(names, d.Name) && selects(d) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// DefinitionsClaiming returns the names of the definitions, other than own, that claim a child of parent.
func (g *Registry) DefinitionsClaiming(own string, parent, child *unstructured.Unstructured) []string {
	return g.namesOf(parent.GroupVersionKind().GroupKind(), func(d *Definition) bool { return d.Name != own && d.claims(parent, child) })
}

// DefinitionsWriting returns the names of the definitions, other than own, that have parent for a parent and may write that part of it.
func (g *Registry) DefinitionsWriting(own string, parent *unstructured.Unstructured, part string) []string {
	kind := parent.GroupVersionKind().GroupKind()
	return g.namesOf(kind, func(d *Definition) bool {
		source := d.Sources.ParentsOf(kind)
		return d.Name != own && source.Manages(parent) && d.MayWrite(source, part)
	})
}

// DefinitionsCreating returns the names of the definitions that have owner for a parent and claim its child.
func (g *Registry) DefinitionsCreating(owner *metav1.OwnerReference, child *unstructured.Unstructured) []string {
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	return g.namesOf(kind, func(d *Definition) bool {
		source, namespace := d.Sources.ParentsOf(kind), ""
		if source.Namespaced {
			namespace = child.GetNamespace()
		}
		parent := source.Cache.Get(namespace, owner.Name)
		return parent != nil && parent.GetUID() == owner.UID && d.claims(parent, child)
	})
}

// claims reports whether the definition would claim child, given that parent owned it.
func (d *Definition) claims(parent, child *unstructured.Unstructured) bool {
	source := d.Sources.ParentsOf(parent.GroupVersionKind().GroupKind())
	kind := child.GroupVersionKind().GroupKind()
	declared := slices.ContainsFunc(d.Sources.Children, func(c sources.Child) bool { return c.Kind.GroupKind() == kind })
	if !declared || source == nil || !source.Manages(parent) {
		return false
	}
	claim, err := d.Claim(parent)
	return err == nil && (claim.Marked == nil || claim.Marked(child)) &&
		(claim.Selector == nil || claim.Selector.Matches(labels.Set(child.GetLabels())))
}
