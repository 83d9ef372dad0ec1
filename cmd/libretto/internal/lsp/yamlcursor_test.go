package lsp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCursor checks what is known of the place of the ^ in a text, of which the rest is not valid.
func TestCursor(t *testing.T) {
	for reason, c := range map[string]struct{ text, want string }{
		"a field of the root":                   {"kind: A\nsp^", "A : key sp"},
		"a field of a field":                    {"kind: A\nspec:\n  ho^", "A spec: key ho"},
		"an empty line is indented":             {"kind: A\nspec:\n  a: b\n  ^", "A spec: key "},
		"a value":                               {"spec:\n  method: In^", " spec.method: value In"},
		"a value in quotes":                     {"spec:\n  method: \"In^", " spec.method: value In"},
		"an item of a list":                     {"spec:\n  list:\n  - a: b\n    c^", " spec.list.[]: key c"},
		"the first field of an item":            {"cases:\n- name: x\n- na^", " cases.[]: key na"},
		"an item that is a word":                {"given:\n- a.yaml\n- b^", " given.[]: key b"},
		"a list within a list":                  {"a:\n- b:\n  - c: 1\n    d^", " a.[].b.[]: key d"},
		"a field after a list":                  {"spec:\n  list:\n  - a: b\n  ne^", " spec: key ne"},
		"a field after a list that stands left": {"cases:\n- a: b\nne^", " : key ne"},
		"braces":                                {"spec: {a: {b^", " spec.a: key b"},
		"a value in braces":                     {"spec: {a: b, c: d^", " spec.c: value d"},
		"a field after braces that have ended":  {"spec: {a: {b: c}, d^", " spec: key d"},
		"braces over lines":                     {"spec: {a: b,\n  c: {d^", " spec.c: key d"},
		"an item in brackets":                   {"given: [a.yaml, b^", " given.[]: value b"},
		"objects in brackets":                   {"spec:\n  list: [{a: b}, {c^", " spec.list.[]: key c"},
		"an anchor":                             {"a: &x {b^", " a: key b"},
		"a block scalar":                        {"a: |\n  b: ^", "none"},
		"after a block scalar":                  {"a: |\n  b\nc^", " : key c"},
		"a comment":                             {"# a: ^", "none"},
		"another document":                      {"kind: A\na: b\n---\nkind: B\nc^", "B : key c"},
		"a header that follows":                 {"a^\nkind: B", "B : key a"},
	} {
		t.Run(reason, func(t *testing.T) {
			before, _, _ := strings.Cut(c.text, "^")
			line := strings.Count(before, "\n")
			column := len(before) - strings.LastIndex(before, "\n") - 1
			at, ok := cursorAt(newText(strings.Replace(c.text, "^", "", 1)), line, column)
			got := "none"
			if ok {
				got = at.kind + " " + strings.Join(at.path, ".") + ": " + map[bool]string{true: "value ", false: "key "}[at.isValue] + at.word
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestBeside checks that the values of fields beside the place are known.
func TestBeside(t *testing.T) {
	for _, given := range []string{
		"parentResource: {apiVersion: apps/v1, resource: ^}", "parentResource:\n  apiVersion: apps/v1 # here\n  resource: ^",
		"list:\n- apiVersion: v1\n- apiVersion: apps/v1\n  resource: ^", "list: [{apiVersion: v1}, {apiVersion: \"apps/v1\", resource: ^",
	} {
		before, _, _ := strings.Cut(given, "^")
		line := strings.Count(before, "\n")
		at, ok := cursorAt(newText(given), line, len(before)-strings.LastIndex(before, "\n")-1)
		if !ok || at.beside["apiVersion"] != "apps/v1" {
			t.Errorf("%s: %v", given, at.beside)
		}
	}
}
