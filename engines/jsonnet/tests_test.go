package jsonnet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// ofTests returns a file of tests.
func ofTests(text string) engines.Source {
	src := files("a_test.jsonnet", map[string]string{"a_test.jsonnet": text, "lib.libsonnet": "{ one: 1, bad: error 'bad' }"})
	src.Hook = engines.HookTest
	return src
}

func TestTests(t *testing.T) {
	src := ofTests(`local lib = import 'lib.libsonnet';
{
  holds: lib.one == 1,
  group: {
    same: { actual: lib.one, expected: 1 },
    differs: { actual: { a: lib.one }, expected: { a: 2 } },
  },
  hidden:: error 'is no test',
  lazy: { actual: lib.bad, expected: 1 },
} + { ['made ' + n]: n == 1 for n in [1, 2] }`)
	cases := map[string]struct {
		request map[string]any
		want    any
	}{
		"names": {map[string]any{"paths": []any{[]any{}}}, []any{map[string]any{
			"type": "object", "line": int64(0), "column": int64(0), "fields": []any{"group", "holds", "lazy", "made 1", "made 2"}}}},
		"group": {map[string]any{"paths": []any{[]any{"group"}, []any{"holds"}}}, []any{
			map[string]any{"type": "object", "line": int64(0), "column": int64(0), "fields": []any{"differs", "same"}},
			map[string]any{"type": "boolean", "line": int64(0), "column": int64(0)}}},
		"run": {map[string]any{"run": []any{[]any{"holds"}, []any{"group", "same"}, []any{"group", "differs"}, []any{"made 2"}}}, []any{
			map[string]any{"equal": true}, map[string]any{"equal": true},
			map[string]any{"equal": false, "actual": map[string]any{"a": int64(1)}, "expected": map[string]any{"a": int64(2)}},
			map[string]any{"equal": false}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, answer(t, src, c.request)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPlacesOfTests checks that the fields of an object in the entry's text have places.
func TestPlacesOfTests(t *testing.T) {
	src := ofTests("local x = 1;\n{\n  a: {\n    b: x == 1,\n  },\n}")
	want := []any{map[string]any{"type": "boolean", "line": int64(4), "column": int64(5)}}
	if diff := cmp.Diff(want, answer(t, src, map[string]any{"paths": []any{[]any{"a", "b"}}})); diff != "" {
		t.Error(diff)
	}
}

func TestRefusedTests(t *testing.T) {
	for text, want := range map[string]string{
		"function(request) {}": "a_test.jsonnet: the file is a function, and nothing calls it: it must be an object of tests, {name: {actual: ..., expected: ...}}",
		"[1]":                  "a_test.jsonnet: the file is of type array: it must be an object of tests, {name: {actual: ..., expected: ...}}",
		"{ a: }":               `a_test.jsonnet:1:6: Unexpected: "}", where a value is needed`,
	} {
		if got := compileError(t, ofTests(text)); got.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, got, want)
		}
	}
}
