package variant

import "slices"

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
		r.Failf("finalized: is true beside %s: a hook that waits is not done: leave one of them out", WaitingField)
	}
	nested := r.nested(WaitingField, fields, "reason", "message")
	return &Wait{Reason: nested.reason(), Message: nested.message()}
}

// waits reports whether the answer has waiting in place of its list.
func (r *Response) waits() bool { return r.knows(WaitingField) && r.fields[WaitingField] != nil }

// knows reports whether the response of the hook has a field.
func (r *Response) knows(field string) bool { return slices.Contains(r.rules.Fields, field) }
