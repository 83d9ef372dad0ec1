package webhook

import (
	"runtime"
	"strings"
	"testing"
)

// TestDoubledFieldPaths checks which fields are refused.
func TestDoubledFieldPaths(t *testing.T) {
	for name, c := range map[string]struct {
		reason, text string
		want         string // The path, if it is refused.
	}{
		"none":        {"no name is there twice in one object", `{"a":{"a":"a"},"b":[{"a":1},{"a":"\":"}],"c" : "a"}`, ""},
		"top":         {"a field of the answer", `{"a":1,"b":{},"a":{"b":2}}`, "a"},
		"children":    {"all of them", `{"children":[],"children":[]}`, "children"},
		"nested":      {"in a list", `{"status":{"a":[1,{"b":{"c":1, "c" :2}}]}}`, "status.a[1].b.c"},
		"list":        {"an answer that is a list", `[[],{"a":1,"a":2}]`, "[1].a"},
		"escaped":     {"which are one name", `{"a":1,"\u0061":2}`, "a"},
		"empty names": {"each of which has a dot", `{"":{"":{"a":1,"a":2}}}`, "..a"},
		"object":      {"inside of an object", `{"children":[{"data":{"a":1,"a":2}}],"outputs":[[{"a":1,"a":1}]]}`, ""},
		"both":        {"inside of an object and elsewhere", `{"attachments":[{"a":1,"a":2}],"status":{"a":1,"a":2}}`, "status.a"},
		"no list":     {"children that are no list", `{"children":{"a":1,"a":2}}`, "children.a"},
		"in a status": {"a field with the name of one of objects", `{"status":{"children":[{"a":1,"a":2}]}}`, "status.children[0].a"},
		"long path":   {"which the message has the start of", `{"` + strings.Repeat("k", 9000) + `":{"a":1,"a":2}}`, strings.Repeat("k", 512) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decode([]byte(c.text), false); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{c.text, c.text + strings.Repeat(" ", maxStrictBytes)} {
				_, err := decode([]byte(text), true)
				switch {
				case c.want == "" && err != nil:
					t.Errorf("%s: %v", c.reason, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), `a duplicate field "`+c.want+`": write it once`)):
					t.Errorf("%s: error %v, want one about %s, in %d bytes", c.reason, err, c.want, len(text))
				}
			}
		})
	}
}

// TestDoubledFieldsAreCheap checks that what doubled fields take does not grow with the length of their paths.
func TestDoubledFieldsAreCheap(t *testing.T) {
	const doubled = 1000
	fields := strings.Repeat(`"":0,`, doubled) + `"a":0`
	for name, text := range map[string]string{
		"LongName":     `{"` + strings.Repeat("k", 1<<20) + `":{` + fields + `}}`,
		"Deep":         strings.Repeat(`{"a":`, maxDepth-1) + "{" + fields + "}" + strings.Repeat("}", maxDepth-1),
		"WithinObject": `{"children":[{"` + strings.Repeat("k", 1<<20) + `":{` + fields + `}}]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode([]byte(text), true)
		runtime.ReadMemStats(&after)
		if refused := err != nil; refused != (name != "WithinObject") {
			t.Errorf("%s: error %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
			t.Errorf("%s: %d MiB are taken for a text of %d bytes", name, got>>20, len(text))
		}
	}
}
