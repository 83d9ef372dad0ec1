package parent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/parent/finalizers"
	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
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
	// Selection is what a rule of a customize answer selects.
	Selection = related.Selection
	// Summary is how the parents of a definition are.
	Summary = health.Summary
	// Report is how one parent is.
	Report = health.Report
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

// Sampler returns a Sampler of all parents. The caches must be synced.
func (r *Reconciler) Sampler() *samples.Sampler { return r.sampled().All() }

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
