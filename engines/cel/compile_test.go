package cel

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestCompileErrors(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"syntax":         {"the place is the author's", "{\n  'a': ]\n}", `sync.cel:2:8: Syntax error at ']'`},
		"unknown":        {"names are checked", "[1,\n nme]", `sync.cel:2:2: undeclared reference to 'nme'`},
		"near variable":  {"a field of requests is meant", "parnet.spec", `sync.cel:1:1: undeclared reference to 'parnet': did you mean parent?`},
		"near function":  {"a function is meant", "objectOf(children, 'v1', 'Pod')", `sync.cel:1:9: undeclared reference to 'objectOf': did you mean objectsOf?`},
		"wrong type":     {"types are checked", "[1,\n   'ä' +\n1]", `sync.cel:2:8: found no matching overload for '_+_' applied to '(string, int)'`},
		"group":          {"what the request holds is known", "children.size() +\n children", `sync.cel:1:17: found no matching overload for '_+_' applied to '(int, map(string, map(string, map(string, dyn))))'`},
		"argument":       {"so is what functions take", "merge({}, [1])", `sync.cel:1:6: found no matching overload for 'merge'`},
		"function":       {"there is no clock", "now()", `sync.cel:1:4: undeclared reference to 'now'`},
		"sets":           {"left out, because their cost has no bound", "sets.contains([1], [1])", `sync.cel:1:1: undeclared reference to 'sets': requests have, by the kind of definition, attachments, children, controller, finalizing, object, parameters, parent, related (and 1 more)`},
		"authorizer":     {"nobody to ask here", "authorizer", `sync.cel:1:1: undeclared reference to 'authorizer'`},
		"variables":      {"an expression has none", "variables.a", `sync.cel:1:1: no such variable: none is defined before this place`},
		"several":        {"the others are counted, and are in the stack", "[a,\n b,\n  c, d, e, f]", `sync.cel:1:2: undeclared reference to 'a': requests have, by the kind of definition, attachments, children, controller, finalizing, object, parameters, parent, related (and 5 more)`},
		"duration":       {"literals are checked", "duration('1 hour')", `sync.cel:1:10: invalid duration argument`},
		"pattern":        {"literals are checked", "'a'.matches('(')", `sync.cel:1:13: invalid matches argument`},
		"format":         {"literals are checked", "'%d'.format(['a'])", `sync.cel:1:14: error during formatting`},
		"empty":          {"there must be something", "", `sync.cel:1:1: Syntax error at '<EOF>'`},
		"nesting":        {"the parser recurses", strings.Repeat("[", 251) + strings.Repeat("]", 251), `sync.cel:1:1: expression recursion limit exceeded: 250`},
		"long":           {"the parser takes memory", strings.Repeat("1+", 60_000) + "1", `sync.cel:1:1: expression code point size exceeds limit: size: 120001, limit 100000`},
		"size":           {"sources are bounded", strings.Repeat(" ", 1<<20) + "1", "sync.cel: holds 1048577 bytes, more than the 1048576 allowed"},
		"cost":           {"lists that stand there can't be gone through so often", loops(8), "sync.cel:1:1: costs more than the 10000000 that a call may: go through shorter lists"},
		"constant error": {"what fails for sure fails at load", "timestamp('x')", "sync.cel:1:11: invalid timestamp argument"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			checkRefused(t, script(c.text), c.want)
		})
	}
}

// loops goes through ten elements, for each of which it goes through ten elements, and so on.
func loops(depth int) string {
	return strings.Repeat("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(i, ", depth) + "true" + strings.Repeat(")", depth)
}

// TestNotRefused has expressions that may well be cheap, for all that is known at load.
func TestNotRefused(t *testing.T) {
	for reason, text := range map[string]string{
		"exists ends early":       strings.ReplaceAll(loops(8), "map(", "exists("),
		"a branch is one of two":  "finalizing ? " + loops(8) + " : []",
		"&& may end early":        "finalizing && size(" + loops(8) + ") > 0",
		"what is bound is lazy":   "cel.bind(x, " + loops(8) + ", 1)",
		"a filter may drop all":   strings.ReplaceAll(loops(8), ".map(", ".filter(i, false).map("),
		"numbers are not known":   strings.ReplaceAll(loops(8), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", "lists.range(parent.n).slice(0, parent.n)"),
		"a default is for others": "parent.?x.orValue(" + loops(8) + ")",
	} {
		if _, err := compile(t, script(text)); err != nil {
			t.Errorf("%s: error %v", reason, err)
		}
	}
}

func checkRefused(t *testing.T, src engines.Source, want string) {
	t.Helper()
	got := compileError(t, src)
	if got == nil || got.Kind != engines.Invalid || !strings.HasPrefix(got.Error(), want) {
		t.Errorf("error\n%v, want one of kind %s that starts with\n%s", got, engines.Invalid.Reason(), want)
	}
}

func TestSeveralErrors(t *testing.T) {
	got := compileError(t, script("[a,\n b,\n  c, d, e, f]"))
	want := []string{
		"sync.cel:2:2: undeclared reference to 'b'", "sync.cel:3:3: undeclared reference to 'c'",
		"sync.cel:3:6: undeclared reference to 'd'", "sync.cel:3:9: undeclared reference to 'e'",
	}
	if diff := cmp.Diff(want, got.Stack); diff != "" {
		t.Errorf("stack (-want +got):\n%s", diff)
	}
}

func TestDocumentErrors(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"plain":             {"the place is in the file", "response:\n  a: ${parent.x + nme}", "sync.cel.yaml:2:19: undeclared reference to 'nme'"},
		"plain folded":      {"lines of a plain text are one line in YAML", "response:\n  a: ${parent.x +\n     nme}", "sync.cel.yaml:3:6: undeclared reference to 'nme'"},
		"single quotes":     {"'' is one character in YAML", "response:\n  a: '${\"it''s\" + nme}'", "sync.cel.yaml:2:19: undeclared reference to 'nme'"},
		"double quotes":     {"escapes are one character in YAML", `response: ["\t\x41\u00e4\" ${'\u0041\\n' + nme}"]`, "sync.cel.yaml:1:44: undeclared reference to 'nme'"},
		"double folded":     {"a line may end in an escape", "response: \"${1 +\\\n    \\  2 +\n\n  nme}\"", "sync.cel.yaml:4:3: undeclared reference to 'nme'"},
		"literal block":     {"indentation is no part of the text", "response:\n  a: |\n    text\n\n      ${ 1 +\n        nme }\n", "sync.cel.yaml:6:9: undeclared reference to 'nme'"},
		"literal header":    {"blocks have headers", "response:\n  a: |2- # why\n     ${ nme }\n", "sync.cel.yaml:3:9: undeclared reference to 'nme'"},
		"folded block":      {"lines are joined in YAML", "response:\n  a: >-\n    ${ 1 +\n    2 +\n\n    nme }\n", "sync.cel.yaml:6:5: undeclared reference to 'nme'"},
		"flow":              {"several on a line", "response: {a: '${1}', b: ['${nme}']}", "sync.cel.yaml:1:30: undeclared reference to 'nme'"},
		"second hole":       {"a text may have several holes", "response: ä ${1} ö ${nme}", "sync.cel.yaml:1:22: undeclared reference to 'nme'"},
		"key":               {"keys have holes", "response:\n  a-${nme}: 1", "sync.cel.yaml:2:7: undeclared reference to 'nme'"},
		"anchor":            {"an anchor is no part of the text", "response:\n  a: &x !!str ${nme}\n  b: *x", "sync.cel.yaml:2:17: undeclared reference to 'nme'"},
		"anchored block":    {"an anchor is no part of the text", "response:\n  a: &x |\n    ${nme}\n  b: *x", "sync.cel.yaml:3:7: undeclared reference to 'nme'"},
		"windows":           {"lines end as they do elsewhere", "response:\r\n  a: |\r\n    ${ 1 +\r\n      nme}\r\n", "sync.cel.yaml:4:7: undeclared reference to 'nme'"},
		"variable":          {"expressions of variables need no hole", "variables:\n- name: a\n  expression: |-\n    1 +\n      nme\nresponse: 1", "sync.cel.yaml:5:7: undeclared reference to 'nme'"},
		"later variable":    {"variables are in order", "variables:\n- {name: a, expression: variables.b}\n- {name: b, expression: '1'}\nresponse: 1", "sync.cel.yaml:2:25: no such variable: none is defined before this place"},
		"unknown variable":  {"the message says what there is", "variables: [{name: a, expression: '1'}, {name: b, expression: variables.a}]\nresponse: ${variables.c}", "sync.cel.yaml:2:13: no such variable: defined before this place are a, b"},
		"no cascade":        {"what uses a wrong variable is not wrong for that", "variables: [{name: a, expression: nme}]\nresponse: ${variables.a}", "sync.cel.yaml:1:35: undeclared reference to 'nme'"},
		"variable's type":   {"variables have types", "variables: [{name: a, expression: '1'}]\nresponse: ${variables.a + 'x'}", "sync.cel.yaml:2:25: found no matching overload for '_+_' applied to '(int, string)': make the int a text: string(x)"},
		"list in text":      {"types of holes in texts are checked", "response: a-${[1]}", "sync.cel.yaml:1:15: gives a value of type list(int), which can't be part of a text: a hole gives any value where it is all of its field"},
		"optional in text":  {"a part of a text can't be left out", "response: a-${parent.?x}", "sync.cel.yaml:1:15: gives a value of type optional_type(dyn), which can't be part of a text"},
		"list as key":       {"names of fields are texts", "response: {'${[1]}': 1}", "sync.cel.yaml:1:15: gives a value of type list(int), which can't be part of a text"},
		"not closed":        {"the place is the hole's", "response:\n  a: x ${1 + '}'", "sync.cel.yaml:2:8: the hole is not closed: no } ends it"},
		"comment in plain":  {"the message says how that comes", "response:\n  a: ${ 1 # + 2}", "sync.cel.yaml:2:6: the hole is not closed: no } ends it. Quote the text if there is a ' #' in it"},
		"empty hole":        {"there must be something", "response: a ${ } b", "sync.cel.yaml:1:15: the hole is empty: write ${expression}, or $${ for the text ${"},
		"unknown field":     {"documents are checked", "response: 1\nvariabels: []", `sync.cel.yaml:2:1: unknown field "variabels": known are variables, response, hooks`},
		"field of variable": {"documents are checked", "variables:\n- {name: a, expresion: '1'}\nresponse: 1", `sync.cel.yaml:2:3: expression is required (and 1 more)`},
		"twice":             {"YAML itself does not look", "response:\n  a: 1\n  b: 2\n  a: 3", `sync.cel.yaml:4:3: the field "a" stands here twice`},
		"top level twice":   {"YAML itself does not look", "response: 1\nresponse: 2", `sync.cel.yaml:2:1: the field "response" stands here twice`},
		"variable twice":    {"the second would hide the first", "variables: [{name: a, expression: '1'}, {name: a, expression: '2'}]\nresponse: 1", `sync.cel.yaml:1:48: the variable "a" is defined twice`},
		"variable's name":   {"it stands in expressions", "variables: [{name: a-b, expression: '1'}]\nresponse: 1", `sync.cel.yaml:1:20: a variable's name is made of letters, digits and _: "a-b" is not`},
		"variables as map":  {"their order counts", "variables: {a: '1'}\nresponse: 1", `sync.cel.yaml:1:12: variables must be a list of {name, expression}`},
		"variable as list":  {"it is a text", "variables: [{name: a, expression: [1]}]\nresponse: 1", `sync.cel.yaml:1:35: expression must be a text`},
		"no response":       {"it is what the hook answers", "variables: []", "sync.cel.yaml:1:1: response is required"},
		"list":              {"a document is a mapping", "- response: 1", "sync.cel.yaml:1:1: must be a mapping"},
		"empty":             {"there must be something", "", "sync.cel.yaml: is empty: write response, or hooks"},
		"two documents":     {"a script is one", "response: 1\n---\nresponse: 2", "sync.cel.yaml:2:1: a second YAML document starts here: a script is one"},
		"YAML":              {"the parser tells the line", "response:\n  a: [1\nb: 2", "sync.cel.yaml:2: YAML: did not find expected ',' or ']'"},
		"YAML first line":   {"the parser tells the line", "response: @x", "sync.cel.yaml:1: YAML: found character that cannot start any token: YAML is indented by spaces and never by tabs"},
		"YAML in hole":      {"the message says how that comes", "response:\n  a: ${x ? 1 : 2}", "sync.cel.yaml:2: YAML: mapping values are not allowed in this context: texts with ': ', ' #' or braces in braces must be quoted"},
		"YAML flow hole":    {"the message says how that comes", "response:\n  a: {b: ${x}}", "sync.cel.yaml:2: YAML: did not find expected ',' or '}': texts"},
		"unknown alias":     {"YAML does not tell where", "response: *x", "sync.cel.yaml: YAML: unknown anchor 'x' referenced"},
		"tag":               {"JSON has no such values", "response: {a: !!binary aGk=, b: !thing {}}", "sync.cel.yaml:1:15: the tag !!binary is not supported: leave it out (and 1 more)"},
		"merge key":         {"there is merge()", "response: {<<: {a: 1}}", "sync.cel.yaml:1:12: merge keys are not supported: write a hole with merge(a, b)"},
		"infinite":          {"JSON has no such number", "response: [.inf]", "sync.cel.yaml:1:12: .inf is no number in JSON: quote it, if it is a text"},
		"cycle":             {"an answer has an end", "response: &a\n  b: *a", "sync.cel.yaml:2:6: *a stands within what it stands for"},
		"complex key":       {"names of fields are texts", "response: {[a]: 1}", "sync.cel.yaml:1:12: the name of a field is a text: put a text that begins with { or [ into quotes"},
		"nesting":           {"the compiler recurses", "response: " + strings.Repeat("[", 501) + strings.Repeat("]", 501), "sync.cel.yaml:1:511: is nested more than 500 deep"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			checkRefused(t, documentOf(c.text), c.want)
		})
	}
}

func TestSources(t *testing.T) {
	checkRefused(t, files("b.cel", map[string]string{"a.cel": "1"}), "b.cel: no such file: there are a.cel")
	src := script("1")
	src.Script.Signature = engines.HTTPContext
	checkRefused(t, src, "sync.cel: the signature HTTPContext is for JavaScript only")
}

func TestCompileEnds(t *testing.T) {
	engine, err := Definition().New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engine.Compile(ctx, script("1")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want one of the context", err)
	}
}
