package jsonnet

import (
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

// TestMessages has the messages in docs/design/messages.md that the Jsonnet engine writes: no names of Go, and what to do.
func TestMessages(t *testing.T) {
	at := engines.Location{File: "sync.jsonnet", Line: 2, Column: 3}
	cases := map[string]struct{ reason, message, code, want string }{
		"null":           {"the VM says: Value non indexable: *jsonnet.valueNull", "Value non indexable: *jsonnet.valueNull", "x.y", "a field or an element of null is asked for: look whether the value is there, as in if x == null then ... else"},
		"number":         {"the VM names its type of Go", "Value non indexable: *jsonnet.valueNumber", "x.y", "a field or an element of a number is asked for: only objects, arrays and strings have some"},
		"missing field":  {"the VM says no more than its name", "Field does not exist: nope", "request.parent.spec.nope", "Field does not exist: nope: if it may be missing, write std.get(object, 'nope', default)"},
		"misspelt":       {"the module has one that is like it", "Field does not exist: deploymnt", "l.deploymnt({})", "Field does not exist: deploymnt: the module libretto has no such function: did you mean deployment?"},
		"unknown":        {"the module has none that is like it", "Field does not exist: frobnicate", "l.frobnicate({})", "Field does not exist: frobnicate: the module libretto has no such function: docs/reference/library.md has its functions"},
		"of std":         {"std is no object of the author's", "Field does not exist: nope", "std.nope(1)", "Field does not exist: nope: std has no such function"},
		"something else": {"most messages help as they are", "Division by zero.", "1 / 0", "Division by zero."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := explain(c.message, "local l = import 'libretto';\n  "+c.code+"\n", at, nil); got != c.want {
				t.Errorf("message\n%s, want\n%s", got, c.want)
			}
		})
	}
}
