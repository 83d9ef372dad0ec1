package variant

import (
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// minResync and maxResync bound resyncAfterSeconds. Less than the former is nothing to a timer; the latter leaves room for a number that
// means never, such as the largest of 32 bits.
const (
	minResync = time.Millisecond
	maxResync = 100 * 365 * 24 * time.Hour
)

// MinLifetime is how long an answer that is reused lasts at least, whatever its resyncAfterSeconds. A parent may have many.
const MinLifetime = time.Second

// ResyncAfter returns the time that the resyncAfterSeconds of an answer asks for, or 0 for 0, null and absent. How often a parent is
// resynced by it is bounded elsewhere. The second result is the problem, or "".
func ResyncAfter(value any) (seconds float64, problem string) {
	var given float64
	switch value := value.(type) {
	case nil:
	case int64:
		given = float64(value)
	case float64:
		given = value
	default:
		return 0, "must be a number of seconds, but is " + jsonvalue.KindOf(value)
	}
	switch {
	case given == 0:
		return 0, ""
	case !(given > 0 && given <= maxResync.Seconds()): // NaN is neither.
		return 0, fmt.Sprintf("must be at least 0 and at most %.0f, which is 100 years, but is %v: leave it out to be called after changes only",
			maxResync.Seconds(), value)
	default:
		return max(given, minResync.Seconds()), ""
	}
}
