package parent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/finalizers"
	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// What callers configure and read of the rooms below this package: they need to know none of them.
type (
	// Customize configures a definition's customize hook.
	Customize = related.Customize
	// RelatedLimits is what a customize hook may ask for.
	RelatedLimits = related.Limits
	// DeclaredRule is an entry of spec.relatedResources.
	DeclaredRule = related.DeclaredRule
	// NamedRule is an entry of spec.relatedResources whose names are in the parent.
	NamedRule = related.NamedRule
	// Selection is what a rule of a customize answer selects.
	Selection = related.Selection
	// Summary is how the parents of a definition are.
	Summary = health.Summary
	// Health is how one parent is.
	Health = health.ParentHealth
	// State is how a parent is.
	State = health.State
	// LastSync is how a parent was synced last.
	LastSync = health.LastSync
	// Finalizers finds and removes finalizers.
	Finalizers = finalizers.Finalizers
	// EventLimits are those of the process's recorder on the events about one object.
	EventLimits = notices.EventLimits
)

// The states of parents, and how their last syncs ended.
const (
	Synced        = health.Synced
	Failing       = health.Failing
	Waiting       = health.Waiting
	Pending       = health.Pending
	ResultNone    = health.ResultNone
	ResultSettled = health.ResultSettled
	ResultMoving  = health.ResultMoving
	ResultUnready = health.ResultUnready
	ResultFailed  = health.ResultFailed
)

// NewNamedRule returns the rule of an entry of spec.relatedResources with nameFrom.
func NewNamedRule(
	entry int, resource schema.GroupVersionResource, given *v1alpha1.RelatedResourceRule,
) (NamedRule, error) {
	return related.NewNamedRule(entry, resource, given)
}

// NamespaceRequired tells that an entry with nameFrom needs a namespace.
func NamespaceRequired(resource string) string { return related.NamespaceRequired(resource) }

// Sampler returns a Sampler of all parents. The caches must be synced.
func (r *Reconciler) Sampler() *samples.Sampler { return r.sampled().All() }

// OfAllShards returns a Reconciler that has the parents of all shards, to be looked at: it must not sync any. The caller must close it.
func (r *Reconciler) OfAllShards() (*Reconciler, error) {
	env := r.env
	env.Pool, env.Follows = env.Pool.Whole(), false
	return New(r.config, env)
}

// SamplerWith returns Sampler with the related resources that the hooks of another Reconciler have asked for.
func (r *Reconciler) SamplerWith(other *Reconciler) *samples.Sampler {
	from := r.sampled()
	from.Related = other.RelatedResources
	return from.All()
}

// SamplerOf returns a Sampler of one parent.
func (r *Reconciler) SamplerOf(object *unstructured.Unstructured) *samples.Sampler {
	return r.sampled().Of(object)
}

func (r *Reconciler) sampled() samples.Source {
	return samples.Source{
		Sources: &r.sources, Claim: r.config.Variant.Claim, Selector: r.config.Selector,
		Pool: r.env.Pool, Caches: r.previewCaches, Related: r.RelatedResources,
	}
}

// RelatedResources returns the resources that the customize hook's answers select now.
func (r *Reconciler) RelatedResources() []discovery.Resource { return r.related.Resources() }

// Parents returns the number of parents.
func (r *Reconciler) Parents() int {
	count := 0
	r.sources.EachParent(func(*sources.Parent, *unstructured.Unstructured) { count++ })
	return count
}

// ParentsOf returns the number of parents of one kind.
func (r *Reconciler) ParentsOf(kind schema.GroupKind) int {
	count := 0
	r.sources.EachParent(func(source *sources.Parent, _ *unstructured.Unstructured) {
		if source.Kind.GroupKind() == kind {
			count++
		}
	})
	return count
}

// NotSelected returns the number of parents that another rule for their kind does not select.
func (r *Reconciler) NotSelected(rule variant.ParentRule) int {
	count := 0
	r.sources.EachParent(func(source *sources.Parent, parent *unstructured.Unstructured) {
		if source.Kind.GroupKind() == rule.Kind.GroupKind() && !rule.Selects(parent) {
			count++
		}
	})
	return count
}

// ChildrenOf returns the number of children of one kind that the definition's parents own, and the first of them by its name. It
// does not count those that are being deleted.
func (r *Reconciler) ChildrenOf(kind schema.GroupKind) (count int, example string) {
	for i := range r.sources.Children {
		child := &r.sources.Children[i]
		if child.Kind.GroupKind() != kind {
			continue
		}
		r.sources.EachParent(func(_ *sources.Parent, parent *unstructured.Unstructured) {
			claim, err := r.config.Variant.Claim(parent)
			if err != nil {
				return // An invalid parent manages no children.
			}
			for _, object := range claims.LastingChildren(parent, claim, child.Cache.OwnedBy(parent.GetUID())) {
				count++
				if name := apply.KeyOf(object).String(); example == "" || name < example {
					example = name
				}
			}
		})
	}
	return count, example
}
