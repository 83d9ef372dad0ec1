package test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/engines"
)

// results are one for each outcome, with texts that formats have to escape.
var results = []controllertest.Result{
	{File: "a_test.yaml", Name: "passes", Location: engines.Location{File: "a_test.yaml", Line: 3, Column: 3}, Outcome: controllertest.Passed, Duration: 1500 * time.Millisecond, Logs: []string{"quiet"}},
	{
		File: "a_test.yaml", Name: "fails, 100%: <\x1b[31m&\x00>", Location: engines.Location{File: "a_test.yaml", Line: 5, Column: 3}, Outcome: controllertest.Failed,
		Failures: []controllertest.Failure{
			{
				Location: engines.Location{File: "a_test.yaml", Line: 7, Column: 9}, Message: "spec.a is 1,\nwant 2", Diff: []string{"  spec:", "-   a: 2", "+   a: 1"},
				Script: engines.Location{File: "sync.js", Line: 2, Column: 4},
			},
			{Check: controllertest.CheckSettles, Message: "it \x07writes again"},
		},
		Logs: []string{"one\ntwo", "\x1b[2J"},
	},
	{File: "b_test.yaml", Name: "waits", Outcome: controllertest.Skipped, Reason: "later", Failures: []controllertest.Failure{{Message: "a known one"}}},
	{File: "b_test.yaml", Name: "can\nnot", Outcome: controllertest.Errored, Failures: []controllertest.Failure{{Message: "no script"}}},
	{File: "b_test.yaml", Name: "can't either", Outcome: controllertest.Errored, Failures: []controllertest.Failure{{Message: "no script"}}},
}

func write(t *testing.T, format string, options Options) string {
	t.Helper()
	options.Line = func(file string, line int) string {
		if file == "sync.js" && line == 2 {
			return "    a: 1, // \x1b[5m"
		}
		return ""
	}
	options.Rerun = func(r controllertest.Result) string { return "run " + r.File }
	var out bytes.Buffer
	r, err := New(format, &out, options)
	if err != nil {
		t.Fatal(err)
	}
	s := Summary{Summary: suite.Summary{Counts: map[controllertest.Outcome]int{}, NotRun: 2}, Seed: 7, Duration: 2 * time.Second, Slowest: results[:1]}
	for _, result := range results {
		s.Counts[result.Outcome]++
		if err := r.Report(result); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(s); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestText checks the text for people. Nothing of what others wrote reaches the terminal as a command.
func TestText(t *testing.T) {
	want := `failed a_test.yaml:5: fails, 100%: <` + "\ufffd" + `[31m&` + "\ufffd" + `>
    a_test.yaml:7:9: spec.a is 1,
      want 2
        spec:
      -   a: 2
      +   a: 1
    script: sync.js:2:4
      2 | a: 1, // ` + "\ufffd" + `[5m
    Settles: it ` + "\ufffd" + `writes again
    logged:
      one
      two
      ` + "\ufffd" + `[2J
    rerun: run a_test.yaml
skipped b_test.yaml: waits
    later
errored b_test.yaml: can not
    no script
    rerun: run b_test.yaml
slowest:
     1.5 s  a_test.yaml:3: passes
7 cases: 1 failed, 2 errored, 1 skipped, 1 passed, 2 not run in 2.0 s
`
	if diff := cmp.Diff(want, write(t, "text", Options{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	verbose := write(t, "text", Options{Verbose: true})
	if !strings.HasPrefix(verbose, "passed a_test.yaml:3: passes (1.5 s)\n    logged:\n      quiet\n") {
		t.Errorf("verbose: %s", verbose)
	}
}

// TestTextInColour checks that colour changes nothing but colour: wanted lines are red, and those that are there are green.
func TestTextInColour(t *testing.T) {
	got := write(t, "text", Options{Colour: true})
	for _, part := range []string{red + "-   a: 2" + plain, green + "+   a: 1" + plain, bold + red + "failed" + plain, cyan + "sync.js:2:4" + plain} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %q", part, got)
		}
	}
	for _, colour := range []string{bold, red, green, yellow, cyan, dim, plain} {
		got = strings.ReplaceAll(got, colour, "")
	}
	if diff := cmp.Diff(write(t, "text", Options{}), got); diff != "" {
		t.Errorf("-plain +coloured:\n%s", diff)
	}
}

// TestJSON checks the fields.
func TestJSON(t *testing.T) {
	var got map[string]any
	if err := json.Unmarshal([]byte(write(t, "json", Options{})), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"passed": 1., "failed": 1., "errored": 2., "skipped": 1., "notRun": 2., "seed": 7., "durationSeconds": 2.,
	}
	all, _ := got["results"].([]any)
	delete(got, "results")
	if diff := cmp.Diff(want, got); diff != "" || len(all) != len(results) {
		t.Fatalf("%d results, -want +got:\n%s", len(all), diff)
	}
	failed := map[string]any{
		"file": "a_test.yaml", "name": "fails, 100%: <\x1b[31m&\x00>", "line": 5., "column": 3., "outcome": "failed", "durationSeconds": 0.,
		"logs": []any{"one\ntwo", "\x1b[2J"},
		"failures": []any{
			map[string]any{
				"file": "a_test.yaml", "line": 7., "column": 9., "message": "spec.a is 1,\nwant 2",
				"diff": []any{"  spec:", "-   a: 2", "+   a: 1"}, "script": map[string]any{"file": "sync.js", "line": 2., "column": 4.},
			},
			map[string]any{"check": "Settles", "message": "it \x07writes again"},
		},
	}
	if diff := cmp.Diff(failed, all[1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestJUnit reads the document as a reader does that refuses what is no XML, and checks the counts and the texts.
func TestJUnit(t *testing.T) {
	text := write(t, "junit", Options{})
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	var got junitSuites
	if err := xml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 5 || got.Failures != 1 || got.Errors != 2 || len(got.Suites) != 2 || got.Suites[1].Skipped != 1 {
		t.Errorf("counts: %s", text)
	}
	failed := got.Suites[0].Cases[1]
	want := "a_test.yaml:7:9: spec.a is 1,\nwant 2\n  spec:\n-   a: 2\n+   a: 1\nat sync.js:2:4\n  a: 1, // \ufffd[5m\nSettles: it \ufffdwrites again\nrun a_test.yaml"
	if diff := cmp.Diff(want, failed.Failure.Text); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if failed.SystemOut != "one\ntwo\n\ufffd[2J" || failed.Name != "fails, 100%: <\ufffd[31m&\ufffd>" || failed.ClassName != "a_test.yaml" {
		t.Errorf("%+v", failed)
	}
}

// TestGitHub checks the escapes of annotations, and that an error of several cases is one annotation.
func TestGitHub(t *testing.T) {
	want := "::error file=sync.js,line=2,col=4,title=fails%2C 100%25%3A <\ufffd[31m&\ufffd>::a_test.yaml:7:9: spec.a is 1,%0Awant 2%0A  spec:%0A-   a: 2%0A+   a: 1%0A" +
		"at sync.js:2:4%0A  a: 1, // \ufffd[5m\n" +
		"::error file=a_test.yaml,line=5,col=3,title=fails%2C 100%25%3A <\ufffd[31m&\ufffd>::Settles: it \ufffdwrites again\n" +
		"::error file=b_test.yaml,title=can%0Anot::no script\n"
	if diff := cmp.Diff(want, write(t, "github", Options{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnknownFormat(t *testing.T) {
	if _, err := New("xml", io.Discard, Options{}); err == nil {
		t.Error("there is a format xml")
	}
}

// TestReference checks that docs/reference/reports.md has each field of the document in JSON.
func TestReference(t *testing.T) {
	reference, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "reference", "reports.md"))
	if err != nil {
		t.Fatal(err)
	}
	covered := &coverage.Report{Files: []coverage.File{{
		Name: "a.js", Lines: []coverage.Line{{Number: 1}}, Decisions: []coverage.Decision{{Line: 1, Column: 2, Kind: "if", Outcomes: []int{0, 1}}},
	}}}
	var out bytes.Buffer
	r, err := New("json", &out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	explored := controllertest.Result{Outcome: controllertest.Failed, Failures: []controllertest.Failure{{Case: "- name: a"}}}
	for _, result := range append(slices.Clone(results), explored) {
		if err := r.Report(result); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(Summary{Seed: 7, Coverage: covered}); err != nil {
		t.Fatal(err)
	}
	fields := regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(out.String(), -1)
	if len(fields) == 0 {
		t.Fatalf("no fields in\n%s", &out)
	}
	for _, field := range fields {
		if !regexp.MustCompile("[`.]" + field[1] + "`").Match(reference) {
			t.Errorf("docs/reference/reports.md does not have the field %s", field[1])
		}
	}
}
