package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// readFinalizeAnswer reads the response of the finalize hook, {outputs, status,
// resyncAfterSeconds, finalized}. As with a composite, an error fails the whole reconcile.
// The status is optional and merged into the parent's.
func (v *Variant) readFinalizeAnswer(observed variant.Observed, answer variant.Answer) (variant.Desired, error) {
	response := variant.ReadResponse(answer, v.finalize.Response)
	desired := variant.Desired{
		Children:           v.outputs.Objects(response, observed.Parent, v.finishAll(observed)),
		Status:             v.status(observed, response.Map("status"), true),
		StatusOrigin:       variant.StatusMerged,
		ResyncAfterSeconds: response.Seconds("resyncAfterSeconds"),
		Finalized:          response.Bool("finalized"),
		Waiting:            response.Waiting(),
	}
	desired.Events, desired.MoreEvents = response.Events()
	return desired, response.Err()
}

// finishAll returns a FinishFunc that keeps each output with its input. A new output of the
// finalize hook has the key of the parent, which is never an input of itself.
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
			return v.withMarks(output, g.key, g.label), ""
		}
		return v.withMarks(output, own, own.label()), ""
	}
}
