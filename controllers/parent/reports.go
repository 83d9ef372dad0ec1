package parent

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// reportUnownedOutputs emits one event about the unowned outputs. A desired one is left out, as its failed creation is reported anyway.
// The outputs are not changed.
func (p *pass) reportUnownedOutputs(desired variant.Desired) {
	unowned := slices.DeleteFunc(slices.Clone(p.unownedOutputs), func(child apply.Key) bool {
		return slices.ContainsFunc(desired.Children, func(wanted *unstructured.Unstructured) bool { return apply.KeyOf(wanted) == child })
	})
	if len(unowned) == 0 {
		return
	}
	others := ""
	if len(unowned) > 1 {
		others = fmt.Sprintf(" (as are %d more)", len(unowned)-1)
	}
	p.warn(p.key, p.parent, notices.Problem{Reason: variant.ReasonMarkMissing, Message: fmt.Sprintf(
		"%s: %s is an output of the parent%s, but has no annotation %s any more, so that nothing tells which definition made it: "+
			"it is neither updated nor deleted: put the annotation back with the definition's name, or delete the object",
		variant.ReasonMarkMissing, unowned[0], others, v1alpha1.MapAnnotation)})
}
