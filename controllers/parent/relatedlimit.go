package parent

import (
	"fmt"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// maxIndexKeys bounds the names and label values in the rules of one parent. Each takes about a kilobyte of the
// index, and can't be evicted: events would be missed.
const maxIndexKeys = 10_000

// limitIndexKeys returns an error if a customize answer has more than maxIndexKeys names and label values.
func limitIndexKeys(rules []relatedRule) error {
	total := 0
	for i := range rules {
		if total += len(rules[i].indexKeys()); total > maxIndexKeys {
			return variant.HookError(customizeHook, &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf(
				"relatedResources[%d]: the rules up to this one have %d names and label values, more than %d: select by a common label instead",
				i, total, maxIndexKeys)})
		}
	}
	return nil
}
