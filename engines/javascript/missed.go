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
var ofNothing = regexp.MustCompile(`^TypeError: (Cannot (read|set) property .* of undefined|Cannot convert undefined or null to object|Value is not object coercible: undefined)`)

// hintMissed adds to the error of a script that did something with nothing which field it had asked for last that is not there, if the
// name is nearly that of another field, or the one of a group of objects.
func (i *isolate) hintMissed(err error, request map[string]any) {
	var e *engines.Error
	if i.missed.object == nil || !errors.As(err, &e) || !ofNothing.MatchString(e.Message) {
		return
	}
	public := engines.FieldNames(request)
	fields := slices.DeleteFunc(slices.Clone(i.missed.object.Keys()), func(name string) bool { return !slices.Contains(public, name) })
	if hint := engines.MissingField(i.missed.key, fields); hint != "" {
		e.Message += fmt.Sprintf(": there is no %s: %s", i.missed.key, hint)
	}
}
