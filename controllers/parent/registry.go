package parent

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// Registry holds the running definitions of a process, so that one can name another.
// A nil Registry is empty.
type Registry struct {
	mu      sync.Mutex
	running map[*Reconciler]bool
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry { return &Registry{running: map[*Reconciler]bool{}} }

func (g *Registry) add(r *Reconciler) {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running[r] = true
	}
}

func (g *Registry) remove(r *Reconciler) {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.running, r)
	}
}

// claimants returns the names of the definitions, other than own, that claim a child of parent.
func (g *Registry) claimants(own string, parent, child *unstructured.Unstructured) []string {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var names []string
	for r := range g.running {
		if name := r.config.Definition; name != own && r.isClaimant(parent, child) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isClaimant reports whether the definition would claim child, given that parent owned it.
func (r *Reconciler) isClaimant(parent, child *unstructured.Unstructured) bool {
	source := r.parentSource(parent.GroupVersionKind().GroupKind())
	kind := child.GroupVersionKind().GroupKind()
	declared := slices.ContainsFunc(r.children, func(c childSource) bool { return c.Kind.GroupKind() == kind })
	if !declared || source == nil || !r.isParent(source, parent) {
		return false
	}
	claim, err := r.config.Variant.Claim(parent)
	return err == nil && (claim.Marked == nil || claim.Marked(child)) &&
		(claim.Selector == nil || claim.Selector.Matches(labels.Set(child.GetLabels())))
}
