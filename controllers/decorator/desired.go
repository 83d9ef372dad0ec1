package decorator

import (
	"maps"
	"slices"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// Desired reads the response (section 2.3 of the specification). If no hook was called,
// everything stays as it is.
func (v *Variant) Desired(observed variant.Observed, answers []variant.Answer) (variant.Desired, error) {
	hook := v.hookFor(observed)
	if hook == nil {
		return variant.Desired{Keep: variant.KeysOf(observed.Children)}, nil
	}
	response := variant.ReadResponse(answers[0], hook.Response)
	desired := variant.Desired{
		Children:           v.attachments.Objects(response, observed.Parent, v.mark.Finish),
		Labels:             entries(response, "labels"),
		Annotations:        entries(response, "annotations"),
		Status:             response.Map("status"),
		ResyncAfterSeconds: response.Seconds("resyncAfterSeconds"),
		Finalized:          response.Bool("finalized"),
		Waiting:            response.Waiting(),
	}
	desired.Events, desired.MoreEvents = response.Events()
	return desired, response.Err()
}

// entries reads the labels or annotations to set on the object. Null removes one; those that
// are not listed are left alone.
func entries(response *variant.Response, field string) map[string]*string {
	given := response.Map(field)
	if len(given) == 0 {
		return nil
	}
	read := make(map[string]*string, len(given))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value, ok := given[key].(string)
		switch {
		case ok && field == "annotations" && variant.Approves(key):
			response.Failf("%s[%q]: %s", field, key, variant.NoApproval)
		case ok:
			read[key] = &value
		case given[key] == nil:
			read[key] = nil
		default:
			response.Failf("%s[%q]: must be a string, or null to remove it: put numbers and booleans in quotes", field, key)
		}
	}
	return read
}
