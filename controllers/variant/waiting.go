package variant

import (
	"regexp"
	"slices"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/printable"
)

// WaitingField is the field of an answer that stands in place of its list of objects.
const WaitingField = "waiting"

// Wait is the answer of a hook that can't say yet what objects there should be. Those that exist stay as they are.
type Wait struct {
	// Input is the key of the input that it is about, or empty if it is about all objects of the parent.
	Input string
	// Reason is a word in CamelCase, and Message a sentence.
	Reason, Message string
}

// String returns "Reason: message", after the input if it is about one.
func (w Wait) String() string {
	if w.Input != "" {
		return "input " + w.Input + ": " + w.Reason + ": " + w.Message
	}
	return w.Reason + ": " + w.Message
}

// Waiting reads why a hook can't say yet what objects there should be. It returns nil if the hook can say it.
func (r *Response) Waiting() *Wait {
	if !r.waits() {
		return nil
	}
	fields := r.Map(WaitingField)
	if r.Bool("finalized") {
		r.Fail("finalized: is true beside %s: a hook that waits is not done: leave one of them out", WaitingField)
	}
	nested := r.nested(WaitingField, fields, "reason", "message")
	return &Wait{Reason: nested.reason(), Message: nested.message()}
}

// waits reports whether the answer has waiting in place of its list.
func (r *Response) waits() bool { return r.knows(WaitingField) && r.fields[WaitingField] != nil }

// knows reports whether the response of the hook has a field.
func (r *Response) knows(field string) bool { return slices.Contains(r.rules.Fields, field) }

// nestedObject is an object with a reason and a message in an answer.
type nestedObject struct {
	*Response
	path   string
	fields map[string]any
}

// nested returns the object at a path. It rejects unknown fields if the response does.
func (r *Response) nested(path string, fields map[string]any, known ...string) nestedObject {
	for _, field := range SortedKeys(fields) {
		if r.rules.RefuseUnknown && !slices.Contains(known, field) {
			r.Fail("%s.%s: is no field of %s, which has %s", path, field, path, list(known))
		}
	}
	return nestedObject{r, path, fields}
}

const (
	// maxReason is how many characters a reason may have, as in an event of Kubernetes.
	maxReason = 128
	// maxMessage is how many bytes of a message are kept, as an event of Kubernetes may have.
	maxMessage = 1024
)

var reasonPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// text reads a string. It returns "" for null and absent.
func (o nestedObject) text(field string) string {
	text, ok := o.fields[field].(string)
	if !ok && o.fields[field] != nil {
		o.Fail("%s.%s: must be a string, but is %s", o.path, field, KindOf(o.fields[field]))
	}
	return text
}

// reason reads the word for programs.
func (o nestedObject) reason() string {
	reason := o.text("reason")
	switch {
	case reason == "":
		o.Fail("%s.reason: is required: one word in CamelCase, such as SecretMissing", o.path)
	case !reasonPattern.MatchString(reason):
		o.Fail("%s.reason: %q must be one word in CamelCase, such as SecretMissing", o.path, engines.Truncate(reason, maxReason))
	case len(reason) > maxReason:
		o.Fail("%s.reason: has %d characters, and may have %d", o.path, len(reason), maxReason)
	}
	return reason
}

// message reads the sentence for people. One that is too long is cut, which shows.
func (o nestedObject) message() string {
	message := printable.Text(o.text("message"))
	if message == "" {
		o.Fail("%s.message: is required: a sentence that says what is waited for or has happened", o.path)
	}
	const dots = 3
	if len(message) > maxMessage {
		return engines.Truncate(message, maxMessage-dots)
	}
	return message
}
