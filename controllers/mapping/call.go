package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// hookFor returns the hook to call about a group. It is nil for the outputs of an input that
// is gone if there is no tombstone hook: then they are deleted.
func (v *Variant) hookFor(g *group) *variant.Hook {
	if g.input != nil {
		return v.mapped
	}
	return v.tombstone
}

// calls returns one call for each group (section 9 of the specification). Unlike in the
// proposal, requests have the related objects.
func (v *Variant) calls(observed variant.Observed) []variant.Call {
	common := v.commonFingerprints(observed)
	related := v.related(observed)
	var calls []variant.Call
	for _, g := range groups(observed) {
		hook := v.hookFor(g)
		if hook == nil {
			continue
		}
		request := v.request(observed.Parent, related)
		request["mapKey"] = string(g.key)
		request["outputs"] = variant.Grouped(g.outputs, v.outputs.Kinds(), observed.Parent.GetNamespace(), false)
		if g.input != nil {
			request["input"] = g.input.Object
		}
		calls = append(calls, variant.Call{
			Hook: hook.Name, Subject: string(g.key), Request: request, Stamps: common.with(g),
			Origin: engines.Origin{ID: string(g.key), Namespace: g.key.namespace()},
		})
	}
	return calls
}

// finalizeCall returns the one call about all outputs of a parent that is being finalized.
// Its answer is never reused.
func (v *Variant) finalizeCall(observed variant.Observed) variant.Call {
	request := v.request(observed.Parent, v.related(observed))
	request["outputs"] = variant.Grouped(observed.Children, v.outputs.Kinds(), observed.Parent.GetNamespace(), false)
	request["finalizing"] = true
	return variant.Call{Hook: v.finalize.Name, Request: request}
}

// request returns the fields that all requests have.
func (v *Variant) request(p *unstructured.Unstructured, related map[string]any) map[string]any {
	return map[string]any{"controller": v.definition.Object, "parent": p.Object, "related": related}
}

func (v *Variant) related(observed variant.Observed) map[string]any {
	return variant.Grouped(observed.Related, observed.RelatedKinds, observed.Parent.GetNamespace(), false)
}
