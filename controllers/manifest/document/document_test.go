package document

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestRead checks the objects of a text, as "kind name line:column", and the messages of its problems.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		want   []string
		errors []string
	}{
		"one document":         {text: "apiVersion: v1\nkind: A\nmetadata: {name: a}\n", want: []string{"A a 1:1"}},
		"several documents":    {text: "---\n# only a comment\n---\n\napiVersion: v1\nkind: A\n--- # next\nkind: B\napiVersion: v1\n", want: []string{"A  5:1", "B  8:1"}},
		"an empty file":        {},
		"a byte order mark":    {text: "\ufeffkind: A\napiVersion: v1\n", want: []string{"A  1:1"}},
		"Windows line ends":    {text: "apiVersion: v1\r\nkind: A\r\n---\r\napiVersion: v1\r\nkind: B\r\n", want: []string{"A  1:1", "B  4:1"}},
		"a list":               {text: "kind: List\napiVersion: v1\nitems:\n- kind: A\n  apiVersion: v1\n- kind: PodList\n  apiVersion: v1\n  items:\n  - {kind: Pod, apiVersion: v1}\n", want: []string{"A  4:3", "Pod  9:5"}},
		"JSON":                 {text: "{\"kind\": \"A\",\n \"apiVersion\": \"v1\"}", want: []string{"A  1:1"}},
		"several JSON values":  {text: "{\"kind\":\"A\",\"apiVersion\":\"v1\"}\n\n {\"kind\":\"B\",\"apiVersion\":\"v1\"}", want: []string{"A  1:1", "B  3:2"}},
		"flow YAML":            {text: "{kind: A, apiVersion: v1}", want: []string{"A  1:1"}},
		"good beside bad":      {text: "kind: A\n---\nkind: B\napiVersion: v1\n", want: []string{"B  3:1"}, errors: []string{"f:1:1: apiVersion is missing: every Kubernetes object has one"}},
		"no object":            {text: "\n- a\n", errors: []string{"f:2:1: is no object: apiVersion, kind and metadata are missing"}},
		"an item of a list":    {text: "kind: List\napiVersion: v1\nitems:\n- 1\n", errors: []string{"f:4:3: items[0] is no object"}},
		"a number as kind":     {text: "apiVersion: v1\nkind: 3\n", errors: []string{"f:2:7: kind must be a string"}},
		"a number as name":     {text: "apiVersion: v1\nkind: A\nmetadata:\n  name: 3\n", errors: []string{"f:4:9: metadata.name must be a string: put it into quotes"}},
		"metadata of no kind":  {text: "apiVersion: v1\nkind: A\nmetadata: a\n", errors: []string{"f:3:11: metadata must be an object with a name"}},
		"a key that is twice":  {text: "apiVersion: v1\nkind: A\nspec:\n  a: 1\n  b: 1\n  a: 2\n", errors: []string{"f:6:3: a is given twice: it is on line 4 too"}},
		"twice in JSON":        {text: "{\"kind\":\"A\",\n\"apiVersion\":\"v1\",\"kind\":\"B\"}", errors: []string{"f:2:19: kind is given twice: it is on line 1 too"}},
		"text after separator": {text: "kind: A\napiVersion: v1\n--- {kind: B}\n", errors: []string{"f:3:1: after --- at the start of a line only a comment may follow: begin the document on the next line"}},
		"a bad indentation":    {text: "a: 1\n---\nkind: A\napiVersion: v1\nspec:\n  a: 1\n b: 2\n", errors: []string{"f:1:1: apiVersion is missing: every Kubernetes object has one", "f:7: did not find expected key: the fields of one object begin in one column, and a text that begins with a quote ends with it"}},
		"a tab":                {text: "kind: A\nspec:\n\ta: 1\n", errors: []string{"f:3: found character that cannot start any token: YAML is indented by spaces and never by tabs, and a text that begins with @, % or ` is put in quotes"}},
		"not UTF-8":            {text: "kind: A\nname: \xff\n", errors: []string{"f:2: is not UTF-8 text: save it as UTF-8"}},
		"an alias to itself":   {text: "kind: A\napiVersion: v1\nspec: &a\n  b: *a\n", errors: []string{"f:4:6: the alias *a is inside of what it stands for"}},
		"an unknown alias":     {text: "kind: A\napiVersion: v1\nspec: *a\n", errors: []string{"f:3: unknown anchor 'a' referenced"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, problems := Read("f", []byte(c.text))
			var got, errs []string
			for _, o := range objects {
				got = append(got, fmt.Sprintf("%s %s %d:%d", o.GetKind(), o.GetName(), o.Location.Line, o.Location.Column))
			}
			for _, e := range problems {
				errs = append(errs, e.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if c.errors != nil || errs != nil {
				if diff := cmp.Diff(c.errors, errs); diff != "" {
					t.Errorf("problems (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestValues checks that values are those of kubectl's parser: YAML 1.1, whole numbers as int64.
func TestValues(t *testing.T) {
	const text = `
apiVersion: v1
kind: A
spec: {yes: on, octal: 010, big: 9007199254740993, float: 1.5, one: 1.0, text: "on", date: 2020-01-01, nothing: ~, 1: x, anchors: [&a {b: 1}, *a], merged: {<<: {c: 2}, d: 3}}
`
	objects, problems := Read("f", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	got := objects[0].Object["spec"].(map[string]any)
	for key, value := range want["spec"].(map[string]any) {
		if g, w := fmt.Sprint(got[key]), fmt.Sprint(value); g != w && key != "big" {
			t.Errorf("%s: %s, kubectl reads %s", key, g, w)
		}
	}
	if got["big"] != int64(9007199254740993) {
		t.Errorf("a large number is %v", got["big"])
	}
}

const nested = `apiVersion: v1
kind: ConfigMap
metadata:
  labels: {app.kubernetes.io/name: a, app: b}
data:
  sync.js: |
    one

      two
  folded.js: >
    one
  quoted: "a\nb"
spec:
  list:
  - a: 1
  - - b
  alias: &x {y: 1}
  other: *x
`

func TestPlaces(t *testing.T) {
	asJSON := "\n{\"apiVersion\": \"v1\", \"kind\": \"A\",\n  \"spec\": {\"list\": [1,\n    {\"é\": 2, \"b\": true}]}}"
	for name, c := range map[string]struct {
		text, field  string
		line, column int
		want         string
	}{
		"a field":               {text: nested, field: "metadata.labels", want: "f:4:11"},
		"a key with dots":       {text: nested, field: "metadata.labels.app.kubernetes.io/name", want: "f:4:36"},
		"a key in brackets":     {text: nested, field: "metadata.labels[app]", want: "f:4:44"},
		"an element":            {text: nested, field: "spec.list[0].a", want: "f:15:8"},
		"a list in a list":      {text: nested, field: "spec.list[1][0]", want: "f:16:7"},
		"through an alias":      {text: nested, field: "spec.other.y", want: "f:17:17"},
		"a missing field":       {text: nested, field: "spec.list[0].b.c", want: "f:15:5"},
		"a missing element":     {text: nested, field: "spec.list[7]", want: "f:14:3"},
		"nothing":               {text: nested, field: "", want: "f:1:1"},
		"a literal's line":      {text: nested, field: "data[sync.js]", line: 3, column: 3, want: "f:9:7"},
		"a literal's start":     {text: nested, field: "data[sync.js]", want: "f:6:12"},
		"a folded text's line":  {text: nested, field: "data[folded.js]", line: 1, column: 1, want: "f:10:14"},
		"a quoted text's line":  {text: nested, field: "data[quoted]", line: 2, column: 1, want: "f:12:11"},
		"JSON":                  {text: asJSON, field: "spec.list[1].b", want: "f:4:19"},
		"JSON, a list":          {text: asJSON, field: "spec.list", want: "f:3:20"},
		"a field of a document": {text: "kind: A\n---\n" + nested, field: "spec.list", want: "f:16:3"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, _ := Read("f", []byte(c.text))
			if len(objects) == 0 {
				t.Fatal("no object")
			}
			o := objects[len(objects)-1]
			if got := o.PlaceIn(c.field, c.line, c.column).String(); got != c.want {
				t.Errorf("%s is at %s, want %s", c.field, got, c.want)
			}
		})
	}
}

// TestBombs checks that texts that grow, or that are nested deeply, are refused soon and without much memory.
func TestBombs(t *testing.T) {
	head := "apiVersion: v1\nkind: A\n"
	var laughs, ladder strings.Builder
	laughs.WriteString(head + "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	ladder.WriteString(head + "a0: &a0 x\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	for i := 1; i < 20000; i++ {
		fmt.Fprintf(&ladder, "a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"a billion laughs":  {laughs.String(), "holds more than 1000000 values, with aliases expanded: write out what is meant, or split the file"},
		"a ladder":          {ladder.String(), "is nested deeper than 200"},
		"deep flow":         {head + "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "is nested deeper than 200"},
		"deeper flow":       {head + "a: " + strings.Repeat("[", 1_000_000), "exceeded max depth of 10000"},
		"deep blocks":       {head + "a:\n- " + strings.Repeat("- ", 100_000) + "x", "exceeded max depth of 10000"},
		"deep JSON":         {`{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", "is nested deeper than 200"},
		"many values":       {head + "a: [" + strings.Repeat("1,", 2_100_000) + "1]", "holds more than 1000000 values, with aliases expanded: write out what is meant, or split the file"},
		"many documents":    {strings.Repeat("---\na: 1\n", 10_001), "has 10001 documents, and 10000 are read at most: split it"},
		"a large file":      {strings.Repeat(" ", MaxBytes+1), "has 16 MiB, and 16 MiB are read at most: split it"},
		"a long key":        {head + "? " + strings.Repeat("a", 1_000_000) + "\n: 1\n", ""},
		"an unended string": {head + "a: \"" + strings.Repeat("a", 1_000_000), "found unexpected end of stream"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, problems := Read("f", []byte(c.text))
			runtime.ReadMemStats(&after)
			t.Logf("%d bytes are allocated for a text of %d", after.TotalAlloc-before.TotalAlloc, len(c.text))
			got := ""
			if len(problems) > 0 {
				got = problems[0].Message
			}
			if got != c.want {
				t.Errorf("problem %q, want %q", got, c.want)
			}
		})
	}
}
