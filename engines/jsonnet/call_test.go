package jsonnet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestRead(t *testing.T) {
	cases := map[string]struct {
		reason, script string
		read           engines.ReadSet
	}{
		"nothing":      {"a constant reads no field", `function(request) {}`, engines.ReadSet{}},
		"field":        {"what is got is read", `function(request) { x: request.a }`, engines.ReadSet{"a"}},
		"part":         {"a part is of its field", `function(request) { x: request.b.deep }`, engines.ReadSet{"b"}},
		"whole":        {"so is the request as it came", `function(request) request`, engines.ReadSet{"a", "b", "c"}},
		"written":      {"and as text", `function(request) { x: '%s' % [request] }`, engines.ReadSet{"a", "b", "c"}},
		"extended":     {"objects made of it are as lazy as it is", `function(request) (request { d: 1 }).a`, engines.ReadSet{"a"}},
		"names":        {"the names of the fields say nothing of what they hold", `function(request) { x: std.objectFields(request), y: 'a' in request }`, engines.ReadSet{}},
		"values":       {"a list of values is as lazy as they are", `function(request) { x: std.length(std.objectValues(request)) }`, engines.ReadSet{}},
		"compared":     {"a comparison reads", `function(request) if request.c == null then {} else { x: 1 }`, engines.ReadSet{"c"}},
		"by key":       {"what a format takes is read", `function(request) { x: '%(a)s' % request }`, engines.ReadSet{"a"}},
		"no parameter": {"nothing is given", `function() {}`, engines.ReadSet{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			request := map[string]any{"a": int64(1), "b": map[string]any{"deep": "b"}, "c": nil}
			caller.MustRead(t, script(c.script), request, c.read)
		})
	}
}

func TestParameters(t *testing.T) {
	src := script(`function(request) [request.parameters { n+: 1 }, request.a, std.objectFields(request)]`)
	src.Script.Parameters = map[string]any{"n": int64(1)}
	for _, request := range []map[string]any{{"a": "b"}, {"a": "b", "parameters": "the request's own are hidden"}} {
		want := []any{map[string]any{"n": int64(2)}, "b", []any{"a", "parameters"}}
		if diff := cmp.Diff(any(want), answer(t, src, request)); diff != "" {
			t.Errorf("parameters and request (-want +got):\n%s", diff)
		}
	}
}

func TestExternalVariables(t *testing.T) {
	object := map[string]any{"image": "nginx", "replicas": int64(2), "it's": map[string]any{"a": []any{nil}}, "a": "a"}
	const gives = `sync.jsonnet:1:19: std.extVar("none"): it gives the fields of script.parameters, which `
	cases := map[string]struct {
		reason, expression string
		parameters         any
		want               any
		err                string
	}{
		"text":        {"a string is one", `std.extVar('image')`, object, "nginx", ""},
		"number":      {"other values are what they are", `std.extVar('replicas') + 1`, object, int64(3), ""},
		"object":      {"whatever their names", `std.extVar("it's").a`, object, []any{nil}, ""},
		"elsewhere":   {"std is the same everywhere", `(local s = std; s)['extVar']('image')`, object, "nginx", ""},
		"lazy":        {"a default is not needed", `if true then 1 else std.extVar('none')`, object, int64(1), ""},
		"unknown":     {"the message says which there are", `std.extVar('none')`, object, nil, gives + "has a, image, it's, replicas: add it in the definition"},
		"nothing":     {"or that there are none", `std.extVar('none')`, nil, nil, gives + "the hook does not have: set it in the definition"},
		"empty":       {"or that there are none", `std.extVar('none')`, map[string]any{}, nil, gives + "has none: add it in the definition"},
		"not objects": {"or that there can't be any", `std.extVar('none')`, "none", nil, gives + "is no object"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := script("function(request) " + c.expression)
			src.Script.Parameters = c.parameters
			response, failure := run(t, src, map[string]any{}, time.Minute)
			if diff := cmp.Diff(c.want, response.Body); diff != "" || (failure == nil) != (c.err == "") {
				t.Errorf("error %v, answer (-want +got):\n%s", failure, diff)
			}
			if failure != nil && failure.Error() != c.err {
				t.Errorf("error\n%v, want\n%s", failure, c.err)
			}
		})
	}
	atLoad := script("local n = std.extVar('a'); { [if n == 'a' then 'sync']: function(request) n }")
	atLoad.Script.Parameters = object
	if diff := cmp.Diff(any("a"), answer(t, atLoad, map[string]any{})); diff != "" {
		t.Errorf("at load (-want +got):\n%s", diff)
	}
}

func TestNumbers(t *testing.T) {
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"whole":      {"whole numbers are int64 as far as it goes", `[1, 1.0, -3, 10 / 5, 0]`, []any{int64(1), int64(1), int64(-3), int64(2), int64(0)}},
		"minus zero": {"JSON of integers has none", `-0`, int64(0)},
		"fractions":  {"others are float64", `[0.1, 10 / 4, 1e-7]`, []any{0.1, 2.5, 1e-7}},
		"large":      {"the API server wants integers where it wants integers", `[1e15, 1e18, std.pow(2, 62)]`, []any{int64(1e15), int64(1e18), int64(1 << 62)}},
		"huge":       {"what no int64 holds stays a float64", `[1e19, -1e300]`, []any{1e19, -1e300}},
		"exact":      {"up to 2^53 nothing is lost", `request.exact`, int64(1<<53 - 1)},
		"inexact": {"beyond, what is passed on has its digits again", `{ a: [request.inexact] } + request.object`, map[string]any{
			"a": []any{int64(1<<53 + 1)}, "n": int64(1<<62 + 1)}},
		"computed": {"what is computed from it has not: Jsonnet's numbers are float64", `request.inexact + 4`, int64(1<<53 + 4)},
		"floats":   {"a float that is whole is a whole number", `request.float`, int64(2)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			request := map[string]any{"exact": int64(1<<53 - 1), "inexact": int64(1<<53 + 1), "float": 2.0, "object": map[string]any{"n": int64(1<<62 + 1)}}
			if diff := cmp.Diff(c.want, evaluate(t, c.expression, request)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAmbiguousNumber checks that one of two integers that are rounded to the same is refused, with its place.
func TestAmbiguousNumber(t *testing.T) {
	request := map[string]any{"a": int64(1<<53 + 1), "b": int64(1 << 53)}
	_, err := run(t, script(`function(request) { children: [{ spec: { n: request.a, other: request.b == 0 } }] }`), request, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "children[0].spec.n: is 9007199254740992, to which several integers of the request are rounded") {
		t.Errorf("error %v, want the place of the number", err)
	}
}

func TestTrace(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"none":     {"most hooks write nothing", `function(request) 1`, nil},
		"line":     {"the place tells one from another", "function(request)\n  std.trace('a', std.trace('b' + request.x, 1))", []string{"sync.jsonnet:2 bx", "sync.jsonnet:2 a"}},
		"lines":    {"a text may have several", "function(request) std.trace('a\nb', 1)", []string{"sync.jsonnet:1 a", "b"}},
		"failed":   {"what was written before a failure explains it", "function(request) [std.trace('a', 1), error 'boom']", []string{"sync.jsonnet:1 a"}},
		"not lazy": {"what is not evaluated writes nothing", "function(request) { local x = std.trace('a', 1), b: 2 }", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			response, _ := run(t, script(c.text), map[string]any{"x": "x"}, time.Minute)
			if diff := cmp.Diff(c.want, response.Logs); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTraceIsCut(t *testing.T) {
	response, failure := run(t, script(`local line = std.repeat('é', 500); function(request) std.foldl(function(n, i) std.trace(line, n + 1), std.range(1, 1000), 0)`), nil, time.Minute)
	if failure != nil || response.Body != int64(1000) {
		t.Fatalf("answer %v, error %v", response.Body, failure)
	}
	size := 0
	for _, line := range response.Logs {
		size += len(line) + 1
	}
	last := response.Logs[len(response.Logs)-1]
	if last != "(cut at 64 KiB)" || size < engines.MaxLogBytes-1000 || size > engines.MaxLogBytes+100 || strings.ContainsRune(strings.Join(response.Logs, ""), '\ufffd') {
		t.Errorf("%d lines of %d bytes, the last is %q", len(response.Logs), size, last)
	}
}

// TestNoState calls one program twice, with other requests, and looks in the second
// call for what the first one had: imports that look at the request are not kept.
func TestNoState(t *testing.T) {
	src := files("a.jsonnet", map[string]string{
		"a.jsonnet":   `local b = import 'b.libsonnet'; function(request) [request.x, b.seen]`,
		"b.libsonnet": `{ local x = std.native('$field')('x'), seen: x }`,
	})
	program, err := compile(t, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []string{"first", "second"} {
		response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{"x": x}})
		if diff := cmp.Diff(any([]any{x, x}), response.Body); err != nil || diff != "" {
			t.Errorf("error %v, answer (-want +got):\n%s", err, diff)
		}
	}
}

func TestNatives(t *testing.T) {
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"jsonUnmarshal":        {"jsonnetd's", `std.native('jsonUnmarshal')('{"a": [1, 2.5, null]}')`, map[string]any{"a": []any{int64(1), 2.5, nil}}},
		"jsonUnmarshal a list": {"jsonnetd took objects alone", `std.native('jsonUnmarshal')(jsonStr='[1]')`, []any{int64(1)}},
		"parseInt":             {"jsonnetd's", `[std.native('parseInt')('ff', 16), std.native('parseInt')(intStr='-101', base=2)]`, []any{int64(255), int64(-5)}},
		"parseJson":            {"Tanka's", `std.native('parseJson')(json='"x"')`, "x"},
		"parseYaml":            {"a list of documents", `std.native('parseYaml')("---\na: [1, x]\n---\n# none\n---\nb\n")`, []any{map[string]any{"a": []any{int64(1), "x"}}, "b"}},
		"parseYaml null":       {"null is a document", `std.native('parseYaml')(yaml='null')`, []any{nil}},
		"parseYaml empty":      {"nothing is none", `std.native('parseYaml')('')`, []any{}},
		"manifestJsonFromJson": {"with another indent", `std.native('manifestJsonFromJson')('{"b":[1],"a":{}}', 2)`, "{\n  \"b\": [\n    1\n  ],\n  \"a\": {}\n}\n"},
		"manifestYamlFromJson": {"keys are sorted", `std.native('manifestYamlFromJson')('{"b":[1],"a":"yes"}')`, "a: \"yes\"\nb:\n- 1\n"},
		"escapeStringRegex":    {"what is special is quoted", `std.native('escapeStringRegex')('a.b*')`, `a\.b\*`},
		"regexMatch":           {"anywhere in the string", `[std.native('regexMatch')('b+$', 'abb'), std.native('regexMatch')(regex='^b', string='abb')]`, []any{true, false}},
		"regexSubst":           {"with groups", `std.native('regexSubst')('(\\w+)-(\\w+)', 'a-b c-d', '$2-$1')`, "b-a d-c"},
		"sha256":               {"in hexadecimal", `std.native('sha256')('')`, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"unknown":              {"as Jsonnet has it", `std.native('helmTemplate')`, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(c.want, evaluate(t, c.expression, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNativeErrors(t *testing.T) {
	for expression, want := range map[string]string{
		`std.native('jsonUnmarshal')(1)`:                       "jsonUnmarshal: jsonStr must be a string, and is of type number",
		`std.native('parseJson')('[')`:                         "parseJson: unexpected end of JSON input",
		`std.native('parseYaml')('a: [')`:                      "parseYaml: error converting YAML to JSON: yaml: ",
		`std.native('parseInt')('x', 10)`:                      `parseInt: strconv.ParseInt: parsing "x": invalid syntax`,
		`std.native('parseInt')('1', 99)`:                      `parseInt: strconv.ParseInt: parsing "1": invalid base 99`,
		`std.native('parseInt')([], 10)`:                       "parseInt: intStr must be a string, and is of type array",
		`std.native('parseInt')('1', {})`:                      "parseInt: base must be a number, and is of type object",
		`std.native('manifestJsonFromJson')('{}', 1000000000)`: "manifestJsonFromJson: indent must be a number from 0 to 64",
		`std.native('manifestJsonFromJson')(null, 1)`:          "manifestJsonFromJson: json must be a string, and is of type null",
		`std.native('manifestYamlFromJson')('x')`:              "manifestYamlFromJson: invalid character 'x'",
		`std.native('regexMatch')('(', '')`:                    "regexMatch: error parsing regexp: missing closing ): `(`",
		`std.native('regexSubst')('a', true, '')`:              "regexSubst: src must be a string, and is of type boolean",
	} {
		_, got := run(t, script("function(request) "+expression), nil, time.Minute)
		if got == nil || got.Kind != engines.Failed || !strings.HasPrefix(got.Message, want) {
			t.Errorf("%s: error %v, want one that starts with %q", expression, got, want)
		}
	}
}

// TestConcurrent uses everything that calls share, from many goroutines at once. It
// is worth its name under the race detector.
func TestConcurrent(t *testing.T) {
	src := files("a.jsonnet", map[string]string{
		"a.jsonnet":   `local b = import 'b.libsonnet'; function(request) { name: b.name % request, text: importstr 't', n: std.format('%03d', request.n) }`,
		"b.libsonnet": `{ name: '%(x)s-%(n)d' }`, "t": "text",
	})
	program, err := compile(t, src)
	if err != nil {
		t.Fatal(err)
	}
	problems := make(chan string)
	for i := range 16 {
		go func() {
			request := map[string]any{"x": fmt.Sprint("x", i), "n": int64(i)}
			response, err := program.Run(t.Context(), engines.Call{Request: request})
			want := map[string]any{"name": fmt.Sprintf("x%d-%d", i, i), "text": "text", "n": fmt.Sprintf("%03d", i)}
			if diff := cmp.Diff(any(want), response.Body); err != nil || diff != "" {
				problems <- fmt.Sprintf("error %v, answer (-want +got):\n%s", err, diff)
			} else {
				problems <- ""
			}
		}()
	}
	for range 16 {
		if problem := <-problems; problem != "" {
			t.Error(problem)
		}
	}
}
