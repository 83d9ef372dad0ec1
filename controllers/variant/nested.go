package variant

import (
	"regexp"
	"slices"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

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
			r.Failf("%s.%s: is no field of %s, which has %s", path, field, path, list(known))
		}
	}
	return nestedObject{r, path, fields}
}

const (
	// maxReason is how many characters a reason may have, as in an event of Kubernetes.
	maxReason = 128
	// maxMessage is how many bytes of a message are read. An event has less: see MessageOf.
	maxMessage = 64 << 10
	// maxEventMessage is how many bytes a message of an event of Kubernetes may have.
	maxEventMessage = 1024
)

var reasonPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// text reads a string. It returns "" for null and absent.
func (o nestedObject) text(field string) string {
	text, ok := o.fields[field].(string)
	if !ok && o.fields[field] != nil {
		o.Failf("%s.%s: must be a string, but is %s", o.path, field, jsonvalue.KindOf(o.fields[field]))
	}
	return text
}

// reason reads the word for programs.
func (o nestedObject) reason() string {
	reason := o.text("reason")
	switch {
	case reason == "":
		o.Failf("%s.reason: is required: one word in CamelCase, such as SecretMissing", o.path)
	case !reasonPattern.MatchString(reason):
		o.Failf("%s.reason: %q must be one word in CamelCase, such as SecretMissing", o.path, engines.Truncate(reason, maxReason))
	case len(reason) > maxReason:
		o.Failf("%s.reason: has %d characters, and may have %d", o.path, len(reason), maxReason)
	}
	return reason
}

// message reads the sentence for people. It becomes one line, as more of them could look like what the host says.
func (o nestedObject) message() string {
	message := o.text("message")
	if message == "" {
		o.Failf("%s.message: is required: a sentence that says what is waited for or has happened", o.path)
	}
	return printable.Line(message[:min(len(message), maxMessage)])
}

// MessageOf returns a message as an event has it. One that is too long is cut, which shows. That is done once it holds no secrets, so
// that no part of one is left.
func MessageOf(text string) string {
	const dots = 3
	if len(text) > maxEventMessage {
		return engines.Truncate(text, maxEventMessage-dots)
	}
	return text
}
