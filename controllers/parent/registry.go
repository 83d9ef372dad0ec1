package parent

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// Registry holds the definitions that run in a process, so that one can name another.
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

// claimants names the definitions but own that take a child of a parent for theirs.
func (g *Registry) claimants(own *Reconciler, parent, child *unstructured.Unstructured) []string {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var names []string
	for r := range g.running {
		if name := r.config.Definition; name != own.config.Definition && r.takes(parent, child) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// takes reports whether a child of a parent, whose owner it is, would be the definition's.
func (r *Reconciler) takes(parent, child *unstructured.Unstructured) bool {
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
