package document

import (
	"strings"
	"testing"
)

// FuzzRead checks that no text makes Read panic, and that each object and each problem has a place in the text.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		nested, `{"a": [1, {"b": null}]} {}`, "a: &a [*a]\n", "kind: List\napiVersion: v1\nitems: [{kind: A, apiVersion: v1}, 1]\n", "--- \n---\n? a\n: b\n",
		"<<: {a: 1}\n<<: [*x]\n", "a: !!binary x\n", "\xff", "kind: A\napiVersion: v1\nmetadata: {name: \"\\u0000\"}\n", "{a: b,\n\tc: d}", "%YAML 1.1\n---\na: b\n...\n", "a: \"\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		objects, problems := Read("f", []byte(text))
		lines := 2 // The characters that end a line of YAML 1.1.
		for _, r := range text {
			if strings.ContainsRune("\n\r\u0085\u2028\u2029", r) {
				lines++
			}
		}
		for _, o := range objects {
			if at := o.Place("spec.a[0].b"); at.Line < 1 || at.Line > lines {
				t.Errorf("a field is on line %d of %d", at.Line, lines)
			}
			o.PlaceIn("data[a]", 3, 1)
			if o.GetKind() == "" || o.GetAPIVersion() == "" {
				t.Errorf("an object has no kind: %v", o.Object)
			}
		}
		for _, p := range problems {
			if p.Message == "" || p.Location.Line > lines {
				t.Errorf("problem %q on line %d of %d", p.Message, p.Location.Line, lines)
			}
		}
	})
}
