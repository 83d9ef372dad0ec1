package cel

import (
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// TestMessages has the messages in docs/design/messages.md that the CEL engine writes: each has the place and what to do.
func TestMessages(t *testing.T) {
	const orValue = ": if it may be missing, write x"
	const condition = ": a condition is true or false: compare the value, as in x != ''"
	cases := map[string]struct{ reason, code, want string }{
		"sum":               {"cel-go says: no such overload", "parent.spec.name + 1", "sync.cel:1:18: no such overload: the values around + are of types that do not go together: convert one of them, as in string(x), int(x) or double(x)"},
		"condition":         {"cel-go says: no such overload", "parent.spec.name ? 1 : 2", "sync.cel:1:18: no such overload" + condition + ", or ask has(x)"},
		"function":          {"cel-go says: no such overload", "parent.spec.name.size() + dyn(1).size()", "sync.cel:1:38: no such overload: size is given a value of a type that it does not take"},
		"missing field":     {"cel-go says no more than its name", "parent.spec.nope", "sync.cel:1:12: no such key: nope" + orValue + ".?nope.orValue(DEFAULT)"},
		"missing group":     {"keys that are no names are written in brackets", "children['Pods.v1'].size()", "sync.cel:1:9: no such key: Pods.v1" + orValue + "[?'Pods.v1'].orValue(DEFAULT)"},
		"misspelt function": {"the function that is like it", "objectOf(children, 'v1', 'Pod')", "sync.cel:1:9: undeclared reference to 'objectOf': did you mean objectsOf?"},
		"misspelt variable": {"the field of the request that is like it", "parnet.spec", "sync.cel:1:1: undeclared reference to 'parnet': did you mean parent?"},
		"clock":             {"what is left out on purpose", "now()", "sync.cel:1:4: undeclared reference to 'now': expressions have no clock"},
		"incomplete":        {"the parser says: no viable alternative at input '.'", "parent.", "sync.cel:1:8: Syntax error at '.': the expression is not complete, or a quote or a bracket is missing"},
		"optional or not":   {"cel-go says: found no matching overload for '_?_:_'", "finalizing ? {'a': 1} : optional.none()", "sync.cel:1:12: found no matching overload for '_?_:_' applied to '(bool, map(string, int), optional_type(dyn))': both sides of : are an optional, as in x ? optional.of(y) : optional.none(), or neither is"},
		"text and int":      {"how an int becomes a text", "'a' + 1", "sync.cel:1:5: found no matching overload for '_+_' applied to '(string, int)': make the int a text: string(x)"},
		"int and double":    {"how numbers go together", "1 * 1.5", "sync.cel:1:3: found no matching overload for '_*_' applied to '(int, double)': make the int a double: double(x)"},
		"int and uint":      {"how numbers go together", "1u + 1", "sync.cel:1:4: found no matching overload for '_+_' applied to '(uint, int)': make the uint an int: int(x)"},
		"compared":          {"neither is right for certain", "1 < 'a'", "sync.cel:1:3: found no matching overload for '_<_' applied to '(int, string)': convert one of them, as in string(x), int(x) or double(x)"},
		"list":              {"what is not converted", "[1] + 1", "sync.cel:1:5: found no matching overload for '_+_' applied to '(list(int), int)' (dyn(x) stands for x of any type)"},
		"in a text":         {"how a text is searched", "'a' in 'abc'", "sync.cel:1:5: found no matching overload for '@in' applied to '(string, string)': in looks into a list or a map: a text is searched with x.contains('part')"},
		"index":             {"how a list is read", "[1]['a']", "sync.cel:1:4: found no matching overload for '_[_]' applied to '(list(int), string)': an element of a list is read by its number, as in x[0]"},
		"arguments":         {"what the function takes", "'a'.join()", "sync.cel:1:9: found no matching overload for 'join' applied to 'string.()': there are list(string).join(), list(string).join(string)"},
		"unknown name":      {"what there is", "foo", "sync.cel:1:1: undeclared reference to 'foo': requests have, by the kind of definition, attachments, children, controller, finalizing, object, parameters, parent, related"},
		"unknown member":    {"what there is", "regex.nope('a')", "sync.cel:1:1: undeclared reference to 'regex': there are regex.extract, regex.extractAll, regex.replace (and 1 more)"},
		"foreign method":    {"what CEL has for it", "parent.spec.name.toUpper()", "sync.cel:1:25: undeclared reference to 'toUpper': write upperAscii()"},
		"unknown method":    {"the names of the request would mislead", "parent.spec.name.zigzag()", "sync.cel:1:24: undeclared reference to 'zigzag': there is no such function"},
		"foreign operator":  {"the parser says: mismatched input 'and' expecting <EOF>", "finalizing and true", "sync.cel:1:12: Syntax error at 'and': write &&"},
		"three signs":       {"the lexer says: token recognition error", "finalizing === true", "sync.cel:1:14: Syntax error at '=': values are compared with == and !=, and nothing is assigned"},
		"backticks":         {"the text of JavaScript", "`a`", "sync.cel:1:1: Syntax error at '`a`': the expression is not complete, or a quote or a bracket is missing"},
		"null or not":       {"the types of both sides", "finalizing ? {'a': 1} : null", "sync.cel:1:12: found no matching overload for '_?_:_' applied to '(bool, map(string, int), null)': both sides of : must have one type: wrap them into dyn() (dyn(x) stands for x of any type)"},
	}
	request := map[string]any{"parent": map[string]any{"spec": map[string]any{"name": "a"}}, "children": map[string]any{}, "finalizing": false}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program, err := compile(t, script(c.code))
			if err == nil {
				_, err = program.Run(t.Context(), engines.Call{Request: request, Now: time.Unix(0, 0)})
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("message\n%v, want\n%s", err, c.want)
			}
		})
	}
}
