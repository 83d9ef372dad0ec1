package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// finalized reads the finalize hook's answer, {outputs, status, resyncAfterSeconds,
// finalized}. As with a composite, a failure is that of the whole pass. A status,
// which the hook may leave out, is merged in like all that a map says of itself.
func (v *Variant) readFinalizeAnswer(observed variant.Observed, answer variant.Answer) (variant.Desired, error) {
	response := variant.ReadResponse(answer, *v.finalize)
	desired := variant.Desired{
		Children:           v.outputs.Objects(response, observed.Parent, v.finishAll(observed)),
		Status:             v.status(observed, response.Map("status"), true),
		StatusMerged:       true,
		ResyncAfterSeconds: response.Seconds("resyncAfterSeconds"),
		Finalized:          response.Bool("finalized"),
	}
	return desired, response.Err()
}

// marked leaves an output with the input that it was made of. One that the
// finalize hook makes anew goes by the key of the parent itself, which is never
// an input of its own.
func (v *Variant) finishAll(observed variant.Observed) variant.FinishFunc {
	keys := map[apply.Key]*group{}
	for _, g := range groups(observed) {
		for _, output := range g.outputs {
			keys[apply.KeyOf(output)] = g
		}
	}
	own := keyOf(observed.Parent)
	return func(output *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		if g := keys[apply.KeyOf(output)]; g != nil {
			return v.mark(output, g.key, g.label), ""
		}
		return v.mark(output, own, own.label()), ""
	}
}
