package cel

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestDocuments(t *testing.T) {
	type list = []any
	type object = map[string]any
	cases := map[string]struct {
		reason, text string
		want         any
	}{
		"constants":         {"YAML is the answer", "response: {a: 1, b: [x, 1.5, true, null, ~], c: {}, d: [], e: 2.0}", object{"a": int64(1), "b": list{"x", 1.5, true, nil, nil}, "c": object{}, "d": list{}, "e": 2.0}},
		"one hole":          {"a scalar that is one hole is what it gives", "response: {n: '${parent.spec.replicas}', o: \"${parent.metadata.labels}\", l: '${[1]}', z: '${null}', plain: x}", object{"n": int64(3), "o": object{"app.kubernetes.io/name": "x"}, "l": list{int64(1)}, "z": nil, "plain": "x"}},
		"plain hole":        {"in block style holes need no quotes", "response:\n  n: ${parent.spec.replicas}\n  l:\n  - ${1}\n  - ${'a'}", object{"n": int64(3), "l": list{int64(1), "a"}}},
		"text with holes":   {"as string() writes the values", "response: ['${parent.metadata.name}-${1}', 'a${true}b', '${1.5} ', 'at ${timestamp(\"2026-10-03T12:00:00Z\")}', '${quantity(\"1Gi\")} of ${ip(\"::1\")}', '${b\"x\"}!']", list{"web-1", "atrueb", "1.5 ", "at 2026-10-03T12:00:00Z", "1Gi of ::1", "x!"}},
		"keys":              {"keys may have holes", "response: {'${parent.metadata.name}-x': 1, \"${string(1)}\": 2, 80: 3, true: 4, '$${a}': 5}", object{"web-x": int64(1), "1": int64(2), "80": int64(3), "true": int64(4), "${a}": int64(5)}},
		"escapes":           {"$${ is ${", "response: ['$${x}', 'a $${parent} ${1}', '$', '$$', '$ {x}', '$x', '{}', 'a}']", list{"${x}", "a ${parent} 1", "$", "$$", "$ {x}", "$x", "{}", "a}"}},
		"optional field":    {"a field whose hole gives no value is left out", "response: {a: '${parent.spec.?none}', b: '${parent.spec.?replicas}', c: {d: '${optional.none()}'}}", object{"b": int64(3), "c": object{}}},
		"optional item":     {"so is an item", "response: ['${parent.spec.?none}', 1, '${optional.of(2)}']", list{int64(1), int64(2)}},
		"conditional field": {"which makes fields conditional", "response:\n  a: \"${finalizing ? optional.of(1) : optional.none()}\"\n  b: ${parent.spec.?replicas.optMap(n, n * 2)}", object{"b": int64(6)}},
		"braces":            {"braces in strings and maps don't end a hole", "response:\n- \"${{'a': {'b': '}'}}.a.b}\"\n- |\n  ${ \"}\" + r'\\' + '''}'\"''' + '\\'}' // }\n  }\n- ${parent.metadata.labels.`app.kubernetes.io/name`}", list{"}", "}\\}'\"'}", "x"}},
		"block":             {"an expression on several lines", "response:\n  a: |\n    ${\n      [1, 2]\n        .map(x, x * 2)\n    }\n  b: >-\n    ${[1,\n    2]}\n  c: |\n    text ${1}\n    more\n", object{"a": list{int64(2), int64(4)}, "b": list{int64(1), int64(2)}, "c": "text 1\nmore\n"}},
		"variables":         {"each can use those before it", "variables:\n- {name: a, expression: '1 + 1'}\n- name: b\n  expression: |\n    variables.a * 2\n- {name: unused, expression: fail('no')}\nresponse: ['${variables.b}', '${variables.a}']", list{int64(4), int64(2)}},
		"optional variable": {"variables have types, optional ones too", "variables: [{name: a, expression: 'parent.spec.?none'}]\nresponse: {a: '${variables.a}', b: '${variables.a.orValue(1)}'}", object{"b": int64(1)}},
		"absorbed failure":  {"a variable that fails is as an expression that fails", "variables: [{name: a, expression: 'parent.none == 1'}]\nresponse: ['${variables.a || true}', '${true || variables.a}']", list{true, true}},
		"aliases":           {"YAML's own way to say something twice", "response:\n  a: &labels {app: '${parent.metadata.name}'}\n  b: *labels\n  c: &text '${1}'\n  d: *text\n  *text : 2", object{"a": object{"app": "web"}, "b": object{"app": "web"}, "c": int64(1), "d": int64(1), "1": int64(2)}},
		"response is hole":  {"the response may be one expression", "response: '${ {\"a\": 1} }'", object{"a": int64(1)}},
		"null response":     {"null is an answer", "response: null", nil},
		"comments":          {"comments are YAML's", "# why\n---\n# what\nresponse: 1 # one", int64(1)},
		"dates and yes":     {"texts that YAML takes for something else elsewhere", "response: [2026-10-03, yes, 0x10, 1_000, 18446744073709551615]", list{"2026-10-03", "yes", int64(16), int64(1000), 18446744073709551615.0}},
		"shared parts":      {"aliases stand for parts of the document itself, too", "hooks:\n  finalize: &same\n    variables: &variables\n    - {name: a, expression: &one '1'}\n    - {name: b, expression: *one}\n    response: '${variables.a + variables.b}'\n  sync: *same", int64(2)},
		"several hooks":     {"one file for a controller, with shared variables", "variables: [{name: n, expression: size(children)}]\nhooks:\n  sync: {variables: [{name: m, expression: variables.n + 1}], response: '${variables.m}'}\n  finalize: {response: 1}\n  customize: {response: 2}", int64(2)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(c.want, answerOf(t, documentOf(c.text), parentRequest())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	hooksDocument := "hooks: {sync: {response: s}, finalize: {response: f}, other: {response: o}}"
	cases := map[string]struct {
		reason, path, text, hook, function string
		want                               any
		refused                            string
	}{
		"hook":                 {reason: "the hook's name says which", path: "a.cel.yaml", text: hooksDocument, hook: "finalize", want: "f"},
		"function":             {reason: "function says which", path: "a.cel.yaml", text: hooksDocument, hook: "sync", function: "other", want: "o"},
		"no such hook":         {reason: "the message says what there is", path: "a.cel.yaml", text: hooksDocument, hook: "customize", refused: `a.cel.yaml:1:8: no hook "customize": there are finalize, other, sync`},
		"response":             {reason: "the one response is any hook's", path: "a.cel.yaml", text: "response: r", hook: "customize", function: "customize", want: "r"},
		"response function":    {reason: "there is nothing to choose from", path: "a.cel.yaml", text: "response: r", hook: "sync", function: "f", refused: `a.cel.yaml:1:1: function is "f", and this document answers the hook sync only: leave function out, or write hooks`},
		"expression":           {reason: "the hook's own name is no choice", path: "a.cel", text: "'e'", hook: "sync", function: "sync", want: "e"},
		"expression function":  {reason: "an expression has no names", path: "a.cel", text: "'e'", hook: "sync", function: "f", refused: `a.cel: function is "f", and this script is one expression, which answers the hook sync: leave function out, or write a .cel.yaml document with hooks`},
		"inline document":      {reason: "an inline script has no ending of its own", path: "inline-sync.cel", text: "# why\n\nresponse: r", hook: "sync", want: "r"},
		"inline expression":    {reason: "no expression starts like a document", path: "inline-sync.cel", text: "// response: r\n'e'", hook: "sync", want: "e"},
		"other YAML":           {reason: "a document by another name, with engine set", path: "hooks.yml", text: "{response: r}", hook: "sync", want: "r"},
		"hooks and response":   {reason: "one of them would not be used", path: "a.cel.yaml", text: "response: r\nhooks: {sync: {response: s}}", hook: "sync", refused: "a.cel.yaml:2:8: response and hooks exclude each other: put the response into hooks.sync"},
		"hook without answer":  {reason: "the response is required", path: "a.cel.yaml", text: "hooks: {sync: {variables: []}}", hook: "sync", refused: "a.cel.yaml:1:15: response is required: it is what the hook answers"},
		"field of other hooks": {reason: "requests differ", path: "a.cel", text: "children", hook: "customize", refused: "a.cel:1:1: undeclared reference to 'children': requests to the hook customize have controller, parameters, parent"},
		"unknown hook":         {reason: "hooks to come may have any field", path: "a.cel", text: "has(request.children)", hook: "new", want: false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := files(c.path, map[string]string{c.path: c.text})
			src.Hook, src.Script.Function = c.hook, c.function
			if c.refused != "" {
				if got := compileError(t, src); got == nil || got.Kind != engines.Invalid || got.Error() != c.refused {
					t.Errorf("error\n%v, want\n%s", got, c.refused)
				}
				return
			}
			if diff := cmp.Diff(c.want, answerOf(t, src, map[string]any{})); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
