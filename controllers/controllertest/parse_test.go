package controllertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const header = "apiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\n"

// parsed returns the only case of a file with one.
func parsed(t *testing.T, text string) *Case {
	t.Helper()
	f, problems := Parse("a_test.yaml", []byte(header+"cases:\n"+text))
	if len(problems) > 0 || len(f.Tests) != 1 || len(f.Tests[0].Cases) != 1 {
		t.Fatalf("%v: %v", f, problems)
	}
	return &f.Tests[0].Cases[0]
}

func TestParse(t *testing.T) {
	zero, finalized := 0, true
	cases := map[string]struct {
		reason, text string
		want         func(*Case)
	}{
		"Names": {
			"An object with kind and metadata stands in the place of a name.",
			"notReady: [{kind: Pod, metadata: {name: a, namespace: b}}, Pod/c]",
			func(c *Case) { c.NotReady = []ObjectName{"Pod/b/a", "Pod/c"} },
		},
		"Deletion": {
			"A name stands in the place of a deletion.",
			"delete: [Pod/a, {kind: Pod, metadata: {name: b}}, {object: Pod/c, propagationPolicy: Orphan}]",
			func(c *Case) {
				c.Delete = []Deletion{{Object: "Pod/a"}, {Object: "Pod/b"}, {Object: "Pod/c", PropagationPolicy: "Orphan"}}
			},
		},
		"All":      {"All is a word.", "ready: all", func(c *Case) { c.Ready = &Selection{All: true} }},
		"None":     {"None is a word.", "ready: none", func(c *Case) { c.Ready = &Selection{} }},
		"Some":     {"Names are a list.", "ready: [Pod/a]", func(c *Case) { c.Ready = &Selection{Names: []ObjectName{"Pod/a"}} }},
		"NoPasses": {"Zero passes are other than none given.", "passes: 0", func(c *Case) { c.Passes = &zero }},
		"Given": {
			"A string is a file, anything else an object.", "given: [a.yaml, {kind: Pod}]",
			func(c *Case) { c.Given = []Given{{File: "a.yaml"}, {Object: map[string]any{"kind": "Pod"}}} },
		},
		"Numbers": {
			"Whole numbers of objects are int64, as in requests.", "want: {status: {a: 1, b: 1.5, c: null}, finalized: true}",
			func(c *Case) {
				c.Want = &Want{Status: map[string]any{"a": int64(1), "b": 1.5, "c": nil}, Finalized: &finalized}
			},
		},
		"Literal": {"Without each, ${x} is text.", `apply: [{kind: Pod, command: "${x} $${y}"}]`, func(c *Case) {
			c.Apply = []map[string]any{{"kind": "Pod", "command": "${x} $${y}"}}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := parsed(t, "- name: a\n  "+tc.text+"\n")
			want := Case{Name: "a"}
			tc.want(&want)
			got.place, want.Location = nil, got.Location
			if diff := cmp.Diff(want, *got, cmp.AllowUnexported(Case{})); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDefinitions checks that a file with several definitions has its cases for each of them, and only once in a host.
func TestDefinitions(t *testing.T) {
	text := []byte(header + "definitions: [a, b/c.yaml]\nnamespace: x\ncases:\n- {name: one}\n- {name: two}\n")
	f, problems := Parse("a_test.yaml", text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, test := range f.Tests {
		for _, c := range test.Cases {
			got = append(got, fmt.Sprintf("%s %s %v: %s", test.Namespace, test.Definition, test.Definitions, c.Name))
		}
	}
	want := []string{"x a []: one (a)", "x a []: two (a)", "x b/c.yaml []: one (b/c.yaml)", "x b/c.yaml []: two (b/c.yaml)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	f, problems = ParseWithin("a_test.yaml", text, Limits{Values: 1000, Bytes: 1000})
	if len(problems) > 0 || len(f.Tests) != 1 || len(f.Tests[0].Cases) != 2 || f.Tests[0].Cases[0].Name != "one" {
		t.Errorf("in a host there are %v: %v", f.Tests, problems)
	}
	for text, want := range map[string]string{
		"definition: a\ndefinitions: [b]":                 "exclude each other",
		"definitions: [a, a]":                             `definitions[1] is "a": each is`,
		`definitions: [""]`:                               `definitions[0] is "": each is`,
		"definitions: [a" + many(maxCases, ", d%d") + "]": "more than 10000 cases, with those of each of definitions",
	} {
		_, problems := Parse("a_test.yaml", []byte(header+text+"\ncases: [{name: one}]\n"))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("problems are %v, want one with %q", problems, want)
		}
	}
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestEach(t *testing.T) {
	f, problems := Parse("a_test.yaml", []byte(header+`cases:
- name: plain
  each: [{m: 1, s: x, o: {a: [1]}}, {m: 2.5, s: "y y", o: null}]
  passes: 1
  want: {status: {whole: "${m}", part: "${s}-${m}", object: "${o}", text: "$${m}", key: {"${m}": a, "$${m}": b}}}
- name: "named ${m}"
  each: [{m: 1}, {m: "two"}]
- name: "${m}"
  each: [{m: 3}]
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var names []string
	for _, c := range f.Tests[0].Cases {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{`plain (m=1, o={"a":[1]}, s=x)`, "plain (m=2.5, o=null, s=y y)", "named 1", "named two", "3"}, names); diff != "" {
		t.Errorf("names: -want +got\n%s", diff)
	}
	want := map[string]any{
		"whole": int64(1), "part": "x-1", "object": map[string]any{"a": []any{int64(1)}}, "text": "${m}", "key": map[string]any{"1": "a", "${m}": "b"},
	}
	if diff := cmp.Diff(want, f.Tests[0].Cases[0].Want.Status); diff != "" {
		t.Errorf("values: -want +got\n%s", diff)
	}
}

func TestPlaces(t *testing.T) {
	c := parsed(t, "- name: a\n  steps:\n  - passes: 1\n  - want:\n      children:\n      - kind: Pod\n")
	for field, want := range map[string]string{"": "a_test.yaml:4:3", ".steps[1].want.children[0]": "a_test.yaml:9:9", ".steps[0].fails": "a_test.yaml:6:5"} {
		if got := c.place(field).String(); got != want {
			t.Errorf("%s is at %s, want %s", field, got, want)
		}
	}
}

// TestOwnDefinition parses files with objects beside the tests: with a definition they are the subject, and else a mistake.
func TestOwnDefinition(t *testing.T) {
	const configMap = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: hooks}"
	const definition = "\n---\napiVersion: metacontroller.k8s.io/v1alpha1\nkind: MapController\nmetadata: {name: a}"
	for name, tc := range map[string]struct{ text, definition, problem string }{
		"With a definition": {"cases: [{name: a}]" + configMap + definition, "a_test.yaml", ""},
		"Another is named":  {"definition: b.yaml\ncases: [{name: a}]" + definition, "b.yaml", ""},
		"Without one":       {"cases: [{name: a}]" + configMap, "", "kind is ConfigMap, and must be ControllerTest"},
	} {
		t.Run(name, func(t *testing.T) {
			file, problems := Parse("folder/a_test.yaml", []byte(header+tc.text))
			switch {
			case tc.problem != "":
				if len(problems) != 1 || !strings.Contains(problems[0].Error(), tc.problem) {
					t.Errorf("%v, want %s", problems, tc.problem)
				}
			case len(problems) > 0 || len(file.Tests) != 1 || file.Tests[0].Definition != tc.definition:
				t.Errorf("%v %+v, want the definition %s", problems, file.Tests, tc.definition)
			}
		})
	}
}

// TestHostileFiles checks that files that would take for ever are refused.
func TestHostileFiles(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'k'; i++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", i-1), 10), ","))
	}
	wide := strings.TrimSuffix(strings.Repeat("{n: 1}, ", 11_000), ", ")
	for name, tc := range map[string]struct{ text, want string }{
		"Aliases":  {bomb, "aliases expanded"},
		"Depth":    {"cases: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested"},
		"Each":     {"cases:\n- {name: a, each: [" + wide + "]}", "more than 10000 cases"},
		"Values":   {"cases:\n- name: a\n  each: [" + wide[:8*9000] + "{n: 1}]\n  want: {children: [" + strings.Repeat("{kind: Pod, a: [1,2,3,4,5,6,7,8]}, ", 100) + "]}", "values"},
		"Steps":    {"cases:\n- name: a\n  steps: [" + strings.Repeat("{passes: 1},", 100_000) + "]", "100000 steps"},
		"Pattern":  {"cases:\n- {name: a, fails: \"" + strings.Repeat("(a*)*", 10_000) + "\"}", "regular expression"},
		"Repeated": {"cases:\n- {name: a, fails: \"((a{100}){100}){100}\"}", "regular expression"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Parse("a_test.yaml", []byte(header+tc.text))
			if len(problems) == 0 || !strings.Contains(problems[0].Error(), tc.want) {
				t.Errorf("%v, want a problem with %q", problems, tc.want)
			}
		})
	}
}

// FuzzParse checks that any text is a file or has problems with places, and that its cases keep within the limits.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "cases:\n- name: a", "cases:\n- {name: '${x}', each: [{x: 1}], want: {counts: {Pod: '${x}'}}}",
		"cases: [{name: a, steps: [{delete: [Pod/a], ready: [Pod/a]}]}]", "given: [a, {}]\ncases: [{name: a, hook: sync, response: {}}]", "---\n",
	} {
		f.Add(header + text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, problems := Parse("a_test.yaml", []byte(text))
		for _, p := range problems {
			if p.Location.File == "" || p.Message == "" {
				t.Errorf("a problem without a place or a message: %+v", p)
			}
		}
		cases := 0
		for _, test := range file.Tests {
			for i := range test.Cases {
				c := &test.Cases[i]
				if c.Name == "" || c.Location.Line == 0 || len(c.Steps) > maxSteps {
					t.Errorf("an impossible case: %+v", c)
				}
				cases++
			}
		}
		if cases > maxCases || len(problems) == 0 && cases == 0 {
			t.Errorf("%d cases and no problem", cases)
		}
	})
}

// TestFromProblems checks what is said of a case that begins after a step that there is not.
func TestFromProblems(t *testing.T) {
	const before = "cases:\n- {name: a, steps: [{step: one}]}\n- {name: hook, hook: sync, fails: x}\n"
	for text, want := range map[string]string{
		"- {name: b, from: {case: c}}\n- {name: c}": `from: there is no case "c" above this one, in the same document`,
		"- {name: b, from: {step: x}}":              `from: there is no case "" above this one, in the same document`,
		"- {name: b, from: {case: a, step: x}}":     `from: the case "a" has no step "x": name it there with step: x`,
		"- {name: b, from: {case: hook}}":           `from: a case that calls a hook alone has no steps`,
		"- {name: b, from: {case: a}, given: []}":   `"b" begins as "a" does: change things in a step, with create, define or respond, and not by given, definitionPatch or webhooks`,
		"- {name: b, from: a}":                      `from is a string, and must be an object`,
		"- {name: long, steps: [" + strings.Repeat("{}, ", 999) + "{}]}\n- {name: 'case ${i}', each: [" + many(21, "{i: %d}, ") + "], from: {case: long}}": `the cases of the file have more than 20000 steps by from: split it`,
	} {
		_, problems := Parse("a_test.yaml", []byte(header+before+text))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) || problems[0].Location.Line < 6 {
			t.Errorf("%.80s: problems are %v, want one with %q", text, problems, want)
		}
	}
}
