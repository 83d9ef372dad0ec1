package page

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"
	"sigs.k8s.io/yaml"
)

// module runs a source of the page without a browser, and returns what it exports.
func module(t *testing.T, source string) (*goja.Runtime, func(name string, args ...any) (goja.Value, error)) {
	t.Helper()
	script, err := bundle(source, api.FormatIIFE)
	if err != nil {
		t.Fatal(err)
	}
	vm := goja.New()
	if _, err := vm.RunString(string(script)); err != nil {
		t.Fatal(err)
	}
	return vm, func(name string, args ...any) (goja.Value, error) {
		function, ok := goja.AssertFunction(vm.Get("page").ToObject(vm).Get(name))
		if !ok {
			t.Fatalf("%s exports no function %s", source, name)
		}
		values := make([]goja.Value, len(args))
		for i, arg := range args {
			values[i] = vm.ToValue(arg)
		}
		return function(nil, values...)
	}
}

// yamlOf is a reader and a writer of YAML as the page has them, with JSON in place of objects.
type yamlOf struct {
	parse func(text string) (any, error)
	print func(value any) string
}

func newYAML(t *testing.T) yamlOf {
	t.Helper()
	vm, call := module(t, "yaml.ts")
	fromJSON, _ := goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("parse"))
	toJSON, _ := goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("stringify"))
	decode := func(text string) any {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	return yamlOf{
		parse: func(text string) (any, error) {
			value, err := call("parse", text)
			if err != nil {
				return nil, err
			}
			encoded, err := toJSON(nil, value)
			if err != nil {
				t.Fatal(err)
			}
			return decode(encoded.String()), nil
		},
		print: func(value any) string {
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			object, err := fromJSON(nil, vm.ToValue(string(encoded)))
			if err != nil {
				t.Fatal(err)
			}
			text, err := call("toYAML", object)
			if err != nil {
				t.Fatal(err)
			}
			return text.String()
		},
	}
}

func libraryReads(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return value
}

// TestManifests reads and writes all manifests of the repository: where the page reads one at all, it reads what kubectl does, and what it
// writes means the same to both. It refuses anchors and folded text.
func TestManifests(t *testing.T) {
	page, read := newYAML(t), 0
	separator := regexp.MustCompile(`(?m)^---.*$`)
	err := filepath.WalkDir(filepath.Join("..", "..", "..", "..", "..", "examples"), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "vitess" {
			return filepath.SkipDir // Large, and slow in this test.
		}
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, text := range separator.Split(string(content), -1) {
			var want any
			if err := yaml.Unmarshal([]byte(text), &want); err != nil {
				continue // Not YAML: a template, or what a test wants to be refused.
			}
			got, err := page.parse(text)
			if err != nil {
				if !regexp.MustCompile("[&>] has a meaning").MatchString(err.Error()) {
					t.Errorf("%s is refused: %v", name, err)
				}
				continue
			}
			read++
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s is read as\n%s\nand is\n%s", name, page.print(got), page.print(want))
			}
			printed := page.print(want)
			if back := libraryReads(t, printed); !reflect.DeepEqual(back, want) {
				t.Errorf("%s is written as something else:\n%s", name, printed)
			}
			if back, err := page.parse(printed); err != nil || !reflect.DeepEqual(back, want) {
				t.Errorf("%s is written, and not read back: %v\n%s", name, err, printed)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 100 {
		t.Errorf("only %d documents are read", read)
	}
}

// TestValues writes texts that mislead readers of YAML, and reads them back.
func TestValues(t *testing.T) {
	page := newYAML(t)
	texts := []string{
		"", " ", "a", "yes", "No", "on", "y", "null", "~", "true", "1", "-1", "1.5", "1e3", "0x1f", "0o7", "017", "1_000", "12:30", "2026-11-30",
		".5", ".inf", "1.2.3", "10.0.0.1", "2001:db8::1", "500m", "1Gi", "-", "--", "- a", "-a", "--flag=x", "a: b", "a:", "a #b", "a#b", "#a",
		"# a", "*", "&a", "!x", "%a", "@a", "`a`", "'", `"`, `\`, `\n`, "a\nb", "a\nb\n", "a\nb\n\n", "\na", " a\nb", "a\n  b\n\tc\n", "a \nb",
		"a\r\nb", "\ta", "a\tb", "ä", "\u2028", "{}", "[]", "{a", "|", ">", "?", "? a", "=", "<<", "a,b", "a]b", "---", "--- a\nb", "...",
		"a\n---\nb", "a\n# b\n", "\n", "\n\n", "\u00a0a", "😀", "a\n😀",
	}
	for _, text := range texts {
		for _, value := range []any{
			map[string]any{"k": text}, map[string]any{"k": []any{text, map[string]any{"a": text}}}, []any{[]any{text, "z"}, text},
			map[string]any{text: 1.0}, map[string]any{"k": map[string]any{text: text, "z": nil}}, text,
		} {
			printed := page.print(value)
			if back := libraryReads(t, printed); !reflect.DeepEqual(back, value) {
				t.Errorf("%q is written as\n%swhich is %#v", text, printed, back)
			}
			if back, err := page.parse(printed); err != nil || !reflect.DeepEqual(back, value) {
				t.Errorf("%q is written as\n%sand read as %#v, %v", text, printed, back, err)
			}
		}
	}
}

// TestRefused lists what the page does not read, with the line that it names.
func TestRefused(t *testing.T) {
	page := newYAML(t)
	for reason, tc := range map[string]struct{ text, want string }{
		"an anchor":             {"a: 1\nb: &x 2\n", "line 2: "},
		"an alias":              {"a: *x\n", "line 1: "},
		"a tag":                 {"a: !!str 1\n", "line 1: "},
		"folded text":           {"a: >\n  b\n", "line 1: "},
		"two documents":         {"a: 1\n---\nb: 1\n", "line 2: one object"},
		"a field twice":         {"a: 1\na: 2\n", "line 2: a is here a second time"},
		"a field twice in flow": {"a: {b: 1, b: 2}\n", "line 1: b is here a second time"},
		"a tab":                 {"a:\n\tb: 1\n", "line 2: indent with spaces"},
		"indentation":           {"a: 1\n  b: 2\n", "line 2: this does not belong"},
		"a text of two lines":   {"a: b\n  c\n", "line 2: this does not belong"},
		"an open bracket":       {"a: [1, 2\nb: 3\n", "line 1: "},
		"an open quote":         {"a: \"b\n", "line 1: a quote"},
		"a word of YAML 1.1":    {"a: yes\n", "line 1: put yes in quotes"},
		"a date":                {"a: 2026-11-30\n", "line 1: put 2026-11-30 in quotes"},
		"an octal number":       {"a: 0644\n", "line 1: put 0644 in quotes"},
		"a large number":        {"a: 9007199254740993\n", "line 1: 9007199254740993 is more"},
		"a colon":               {"a: b: c\n", "line 1: "},
		"no field":              {"a: 1\nb\n", "line 2: a field is missing"},
		"a merge":               {"<<: {a: 1}\n", "line 1: put << in quotes"},
	} {
		value, err := page.parse(tc.text)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %q is read as %v, %v; want an error with %q", reason, tc.text, value, err, tc.want)
		}
	}
}

// TestDiff compares texts line by line.
func TestDiff(t *testing.T) {
	_, call := module(t, "code.ts")
	for reason, tc := range map[string]struct {
		before, after []string
		want          string
	}{
		"the same":     {[]string{"a", "b"}, []string{"a", "b"}, " a b"},
		"from nothing": {nil, []string{"a"}, "+a"},
		"to nothing":   {[]string{"a"}, nil, "-a"},
		"in between":   {[]string{"a", "b", "c"}, []string{"a", "x", "c"}, " a-b+x c"},
		"moved":        {[]string{"a", "b", "c"}, []string{"b", "c", "a"}, "-a b c+a"},
		"repeated":     {[]string{"a", "a"}, []string{"a", "a", "a"}, " a a+a"},
	} {
		changes, err := call("diff", tc.before, tc.after)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, change := range changes.Export().([]any) {
			fields := change.(map[string]any)
			got.WriteString(fields["op"].(string) + fields["text"].(string))
		}
		if got.String() != tc.want {
			t.Errorf("%s: got %q, want %q", reason, got.String(), tc.want)
		}
	}
}
