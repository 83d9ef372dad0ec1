package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

const (
	mapHook       = string(v1alpha1.MapHookName)
	tombstoneHook = string(v1alpha1.TombstoneHook)
	finalizeHook  = string(v1alpha1.FinalizeHook)
)

// asked is the hook that a group is a matter of, or "" where nobody is asked:
// without a tombstone hook the outputs of an input that is gone are deleted.
func (v *Variant) hookFor(g *group) string {
	switch {
	case g.input != nil:
		return mapHook
	case v.tombstone != nil:
		return tombstoneHook
	default:
		return ""
	}
}

// calls asks about every group by itself (section 9 of the specification).
// Beyond the proposal the hooks are shown the related objects.
func (v *Variant) calls(observed variant.Observed) []variant.Call {
	pass := v.commonFingerprints(observed)
	related := v.related(observed)
	var calls []variant.Call
	for _, g := range groups(observed) {
		hook := v.hookFor(g)
		if hook == "" {
			continue
		}
		request := v.request(observed.Parent, related)
		request["mapKey"] = string(g.key)
		request["outputs"] = variant.Grouped(g.outputs, v.outputs.Kinds(), observed.Parent.GetNamespace(), false)
		if g.input != nil {
			request["input"] = g.input.Object
		}
		calls = append(calls, variant.Call{Hook: hook, Subject: string(g.key), Request: request, Stamps: pass.with(g)})
	}
	return calls
}

// finalizeCall asks about a parent that is to be let go. As with a composite,
// there is one question about all outputs at once. It is always asked anew.
func (v *Variant) finalizeCall(observed variant.Observed) variant.Call {
	request := v.request(observed.Parent, v.related(observed))
	request["outputs"] = variant.Grouped(observed.Children, v.outputs.Kinds(), observed.Parent.GetNamespace(), false)
	request["finalizing"] = true
	return variant.Call{Hook: finalizeHook, Request: request}
}

// request is what all requests have.
func (v *Variant) request(p *unstructured.Unstructured, related map[string]any) map[string]any {
	return map[string]any{"controller": v.definition.Object, "parent": p.Object, "related": related}
}

func (v *Variant) related(observed variant.Observed) map[string]any {
	return variant.Grouped(observed.Related, observed.RelatedKinds, observed.Parent.GetNamespace(), false)
}
