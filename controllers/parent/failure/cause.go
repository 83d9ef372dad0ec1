package failure

import (
	"errors"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// IdentityOf returns what makes a failure what it is: its message without numbers, and its place in a script, as another line is another
// failure.
func IdentityOf(place, message string) string { return place + " " + controller.Signature(message) }

const (
	// maxCauseBytes is how much is kept of the message of a parent that fails.
	maxCauseBytes = 256
	// maxReasonBytes is the size of the longest word that is taken for a reason.
	maxReasonBytes = 64
)

// Cause is why a parent fails or waits.
type Cause struct{ Reason, Message, Place string }

// CauseOf returns the cause of a failed pass: that of the first of its errors, with the message of all.
func CauseOf(err error) Cause {
	text := strings.TrimPrefix(err.Error(), controller.ErrLater.Error()+": ")
	why := Cause{Reason: reasonIn(text)}
	var known *Error
	var hook *engines.Error
	switch {
	case errors.As(err, &hook):
		why.Reason, why.Place = hook.Kind.Reason(), hook.Location.String()
	case errors.As(err, &known):
		why.Reason = known.Reason
	}
	why.Message = ShortLine(text)
	return why
}

// CauseOfWait returns what a hook says that it waits for.
func CauseOfWait(wait variant.Wait) Cause {
	return Cause{Reason: wait.Reason, Message: ShortLine(wait.String())}
}

// ShortLine returns the beginning of a text as one line.
func ShortLine(text string) string { return engines.Truncate(printable.Line(text), maxCauseBytes) }

// reasonIn returns the reason that a message begins with, maybe after the input that it is about, or SyncError.
func reasonIn(text string) string {
	for _, part := range strings.SplitN(text, ": ", 3) {
		if isReason(part) {
			return part
		}
	}
	return variant.ReasonSyncError
}

// isReason reports whether a text is a word of several in CamelCase, as the API server accepts it for the reason of a condition.
func isReason(text string) bool {
	upper := 0
	for i, r := range text {
		isUpper := 'A' <= r && r <= 'Z'
		switch {
		case i == 0 && !isUpper, i == maxReasonBytes, !isUpper && (r < 'a' || r > 'z'):
			return false
		case isUpper:
			upper++
		}
	}
	return upper > 1
}
