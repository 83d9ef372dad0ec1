package mutation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/test/cases"
)

func TestMain(m *testing.M) { cases.Main(m) }

func TestOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		line   string
		want   []string
	}{
		"Comment":  {"what is no code has no faults", "// a === b", nil},
		"Import":   {"nor have imports", `import { a, b } from "c";`, nil},
		"Equality": {"an operator is turned", "return a === b;", []string{"return a !== b;"}},
		"Bounds":   {"a bound is moved, or turned", "return a < b;", []string{"return a <= b;", "return a >= b;"}},
		"Generic":  {"types and arrows are no comparisons", "f((a: B<C>) => a);", nil},
		"Object":   {"each entry is dropped", "return { a, b: [c, d] };", []string{"return { b: [c, d] };", "return { a,};"}},
		"Pattern":  {"what takes a value apart is left alone", "export function f({ a, b }) {", nil},
		"Template": {"text changes, and what is between it does not", "return `a ${b}`;", []string{"return `a ${b}x`;"}},
		"Number":   {"numbers are off by one, and versions are no numbers", `return v1 + 10;`, []string{`return v1 - 10;`, `return v1 + 11;`}},
		"Filter":   {"a filter is forgotten", "const a = b.filter((c) => d(c)).length;", []string{"const a = b.length;"}},
		"List":     {"a list of the answer is reversed", "x({ children: f(a) });", []string{"x({ children: f(a).toReversed() });", "x({});"}},
		"Line":     {"a line that is an entry is dropped", "  status: a(b),", []string{""}},
		"YAML":     {"and so is one of YAML", "  status: {text: hi}", []string{"  status: {}", ""}},
		"Call":     {"a statement is forgotten", "  a.push(b);", []string{"  "}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range Of("a\n"+tc.line+"\nb", 2, 2) {
				got = append(got, strings.TrimSuffix(strings.TrimPrefix(m.Text, "a\n"), "\nb"))
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tc.want) {
				t.Errorf("%s: Of(%q): got %q, want %q", tc.reason, tc.line, got, tc.want)
			}
		})
	}
}

// exampleScripts are the files with scripts. Those of several languages have in which of the cases they are run.
var exampleScripts = []struct{ file, run string }{
	{file: "bluegreen/sync.js"},
	{file: "catset/sync.js"},
	{file: "decorator/hooks.js"},
	{file: "fallback/sync.js"},
	{file: "hello/hello.yaml"},
	{file: "indexedjob/sync.ts"},
	{file: "map/map.yaml"},
	{"migration/after/sync.js", `\(after\)$`},
	{"migration/before/sync.js", `\(unchanged\)$`},
	{file: "namespacedefaults/hooks.cel.yaml"},
	{file: "previews/preview.libsonnet"},
	{file: "previews/sync.jsonnet"},
	{file: "secretpropagation/hooks.jsonnet"},
	{file: "snapshotschedule/hooks.js"},
	{file: "teardown/hooks.js"},
	{file: "ttl/cleanup.js"},
	{file: "ttl/sandbox.js"},
	{"webapp/cel/sync.cel.yaml", `\(cel\)$`},
	{"webapp/jsonnet/sync.jsonnet", `\(jsonnet\)$`},
	{"webapp/typescript/sync.ts", `\(typescript\)$`},
}

// mutated is a mutant of an example.
type mutated struct {
	Mutant
	file, runs string
	tests      []string // The test files, in the folder of the example. Nil means the one of its name.
	outcome    string
}

// The outcomes of mutants.
const (
	killed   = "killed"
	survived = "survived"
	unloaded = "does not load"
)

// none is the fault of an example as it is, whose tests pass.
const none = "none"

func (m *mutated) key() string { return fmt.Sprintf("%s: %s: %s", m.file, m.Fault, m.After) }

func (m *mutated) String() string {
	return fmt.Sprintf("examples/%s:%d: %s: %s", m.file, m.Line, m.Fault, m.After)
}

// equivalent is a mutant that no test can find.
type equivalent struct{ Mutant, Reason string }

// all is the environment variable by which all mutants are run. Otherwise it is a sample.
const all = "LIBRETTO_ALL_MUTANTS"

// sample is how many mutants are run, spread evenly over all.
const sample = 40

// TestMutants checks that the tests of the examples, with the checks that come for free, find nine of ten faults in the scripts.
func TestMutants(t *testing.T) {
	mutants := mutantsOfExamples(t)
	full := os.Getenv(all) != ""
	if !full {
		var chosen []*mutated
		for i := range sample {
			chosen = append(chosen, mutants[i*len(mutants)/sample])
		}
		mutants = chosen
	}
	runAll(t, mutants)
	for key := range equivalents(t) {
		if full && !slices.ContainsFunc(mutants, func(m *mutated) bool { return m.key() == key }) && !strings.HasPrefix(key, "vitess/") {
			t.Errorf("testdata/equivalent.yaml: there is no such mutant: %s", key)
		}
	}
	if killed, loaded := count(t, mutants); loaded < 30 || killed*10 < loaded*9 {
		t.Errorf("the tests of the examples find %d of %d faults, want nine of ten of 30 at least", killed, loaded)
	}
}

// count counts the mutants that load, and those of them that the tests find. What no test can find counts as neither.
func count(t *testing.T, mutants []*mutated) (found, loaded int) {
	t.Helper()
	reasons := equivalents(t)
	counts := map[string]int{}
	for _, m := range mutants {
		reason, isEquivalent := reasons[m.key()]
		switch {
		case m.Fault == none && m.outcome != survived:
			t.Errorf("%s: the tests do not pass: %s", m, m.outcome)
			continue
		case m.Fault == none:
			continue
		case isEquivalent && m.outcome == killed:
			t.Errorf("%s: the tests find it: take it out of testdata/equivalent.yaml", m)
		case isEquivalent && m.outcome == survived:
			t.Logf("equivalent: %s (%s)", m, reason)
			continue
		case m.outcome == survived:
			t.Logf("survived: %s", m)
		}
		counts[m.outcome]++
	}
	t.Logf("%d mutants: %d killed, %d survived; %d do not load", len(mutants), counts[killed], counts[survived], counts[unloaded])
	return counts[killed], counts[killed] + counts[survived]
}

func equivalents(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "equivalent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var list []equivalent
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, e := range list {
		if e.Reason == "" {
			t.Errorf("testdata/equivalent.yaml: %s: reason is missing", e.Mutant)
		}
		reasons[e.Mutant] = e.Reason
	}
	return reasons
}

var scriptBlock = regexp.MustCompile(`(?m)^data:\n(?:  .*\n|\n)+`)

// mutantsOfExamples returns the mutants of all examples.
func mutantsOfExamples(t *testing.T) []*mutated {
	t.Helper()
	var mutants []*mutated
	for _, script := range exampleScripts {
		data, err := os.ReadFile(filepath.Join("..", "..", "examples", script.file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		first, last := 1, strings.Count(text, "\n")
		if filepath.Ext(script.file) == ".yaml" && !strings.HasSuffix(script.file, ".cel.yaml") {
			at := scriptBlock.FindStringIndex(text)
			if at == nil {
				t.Fatalf("examples/%s: there is no script", script.file)
			}
			first, last = strings.Count(text[:at[0]], "\n")+3, strings.Count(text[:at[1]], "\n")
		}
		before := len(mutants)
		mutants = append(mutants, &mutated{Mutant: Mutant{Text: text, Fault: none}, file: script.file, runs: script.run})
		for _, m := range ofLanguage(script.file, text, first, last) {
			mutants = append(mutants, &mutated{Mutant: m, file: script.file, runs: script.run})
		}
		if len(mutants) < before+2 {
			t.Errorf("examples/%s: there are no mutants", script.file)
		}
	}
	return mutants
}

// ofLanguage returns the mutants of a file, with the faults of its language.
func ofLanguage(file, text string, first, last int) []Mutant {
	switch filepath.Ext(file) {
	case ".jsonnet", ".libsonnet":
		return OfJsonnet(text)
	}
	return Of(text, first, last)
}

// runAll runs the tests on each mutant.
func runAll(t *testing.T, mutants []*mutated) {
	t.Helper()
	registry := cases.NewRegistry(t)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		root := t.TempDir()
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(mutants); i = int(next.Add(1)) - 1 {
				if err := mutants[i].run(t.Context(), registry, filepath.Join(root, fmt.Sprint(i))); err != nil {
					t.Errorf("%s: %v", mutants[i], err)
				}
			}
		})
	}
	workers.Wait()
}

// run runs the tests on the mutant in a directory.
func (m *mutated) run(ctx context.Context, registry *engines.Registry, root string) error {
	example, _, _ := strings.Cut(m.file, "/")
	if err := os.CopyFS(filepath.Join(root, example), os.DirFS(filepath.Join("..", "..", "examples", example))); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, m.file), []byte(m.Text), 0o644); err != nil {
		return err
	}
	tests := m.tests
	if tests == nil {
		tests = []string{example + controllertest.FileSuffix}
	}
	paths := make([]string, 0, len(tests))
	for _, test := range tests {
		paths = append(paths, filepath.Join(root, example, test))
	}
	m.outcome = survived
	_, err := suite.Run(ctx, suite.Options{
		Cases: paths, Run: regexp.MustCompile(m.runs),
		Engines: registry, Parallel: 1, Timeout: 20 * time.Second, FailFast: true, Warn: func(string) {},
		Report: func(result controllertest.Result) {
			switch result.Outcome {
			case controllertest.Errored:
				m.outcome = unloaded
			case controllertest.Failed:
				m.outcome = killed
			}
		},
	})
	return err
}
