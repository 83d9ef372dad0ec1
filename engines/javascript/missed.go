package javascript

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/libretto-k8s/libretto/engines"
)

// missed is a field that a script asked an object of its request for, and that is not there.
type missed struct {
	object *object
	key    string
}

// ofNothing matches the messages of goja about what is done with undefined or null.
var ofNothing = regexp.MustCompile(`^TypeError: (Cannot (read|set) property .* of undefined|Cannot convert undefined or null to object$|Value is not object coercible$)`)

// hint returns, about the error of a script that did something with nothing, which field it had asked for last that is not there, if the
// name is nearly that of another field, or the one of a group of objects. It returns "" for other errors.
func (i *isolate) hint(err error, request map[string]any) string {
	var e *engines.Error
	if i.missed.object == nil || !errors.As(err, &e) || !ofNothing.MatchString(e.Message) {
		return ""
	}
	public := engines.FieldNames(request)
	fields := slices.DeleteFunc(slices.Clone(i.missed.object.Keys()), func(name string) bool { return !slices.Contains(public, name) })
	if meant := engines.MissingRequestField(i.missed.key, fields); meant != "" {
		return fmt.Sprintf("there is no %s: %s", i.missed.key, meant)
	}
	return ""
}
