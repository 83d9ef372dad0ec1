package functiontest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/functiontest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/test/race"
)

var update = flag.Bool("update", false, "rewrite the expected results")

// TestMain runs script workers: the pool starts this binary as such.
func TestMain(m *testing.M) {
	worker.Main(standard.Scripts)
	os.Exit(m.Run())
}

// workers returns engines in worker processes, as commands have them.
func workers(t testing.TB) *engines.Registry {
	t.Helper()
	pool := sandbox.New(sandbox.Config{})
	t.Cleanup(pool.Close)
	registry, err := engines.NewRegistry(engines.Config{}, pool.Definitions(standard.Scripts())...)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// TestResults runs the files of each case, in the folder of the case, and compares the results with its last file, want.
func TestResults(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(cases) < 8 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	registry := workers(t)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			last := &archive.Files[len(archive.Files)-1]
			if last.Name != "want" {
				t.Fatalf("the last file is %s: it must be want", last.Name)
			}
			root := t.TempDir()
			var files []string
			for _, f := range archive.Files[:len(archive.Files)-1] {
				write(t, filepath.Join(root, f.Name), string(f.Data))
				if registry.TestsIn(f.Name) != nil {
					files = append(files, filepath.Join(root, f.Name))
				}
			}
			var got strings.Builder
			for _, file := range files {
				results, err := functiontest.Run(t.Context(), registry, filepath.Dir(file), file, functiontest.Options{})
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(strings.ReplaceAll(text(results), root+"/", ""))
			}
			result := strings.ReplaceAll(got.String(), root, "DIR")
			if *update {
				last.Data = []byte(result)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(last.Data), result); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// text returns results as text, without what differs from run to run.
func text(results []controllertest.Result) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s %s (%s)", r.Outcome, r.ID(), r.Location)
		if r.Reason != "" {
			fmt.Fprintf(&b, ": %s", r.Reason)
		}
		b.WriteString("\n")
		for _, f := range r.Failures {
			fmt.Fprintf(&b, "  %s: %s\n", f.Location, f.Message)
			if f.Script.File != "" {
				fmt.Fprintf(&b, "  script: %s\n", f.Script)
			}
			for _, line := range f.Diff {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
		for _, line := range r.Logs {
			fmt.Fprintf(&b, "  log: %s\n", line)
		}
	}
	return b.String()
}

// runText runs the text of one file.
func runText(t *testing.T, registry *engines.Registry, name, text string, options functiontest.Options) []controllertest.Result {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, name), text)
	results, err := functiontest.Run(t.Context(), registry, root, filepath.Join(root, name), options)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// outcomes returns how many results there are of each outcome.
func outcomes(results []controllertest.Result) map[controllertest.Outcome]int {
	counts := map[controllertest.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	return counts
}

// TestEndlessTest checks that a test which does not end costs no other one, in both languages.
func TestEndlessTest(t *testing.T) {
	race.Skip(t)
	registry := workers(t)
	for name, source := range map[string]string{
		"a.test.js":      `import { test } from "libretto/test"; test("a", () => {}); test("b", () => { for (;;); }); test("c", () => {});`,
		"short.test.js":  `import { test } from "libretto/test"; test("a", () => {}); test("b", () => { for (;;); }, 100); test("c", () => {});`,
		"a_test.jsonnet": `{ a: true, b: (local f(n) = if n < 0 then n else f(n + 1) tailstrict; f(1)) == 1, c: true }`,
	} {
		t.Run(name, func(t *testing.T) {
			limits := []time.Duration{time.Second / 2, 2 * time.Second, 10 * time.Second, time.Minute} // On a busy machine a new worker takes time.
			if name == "short.test.js" {
				limits = []time.Duration{time.Hour}
			}
			var results []controllertest.Result
			for _, limit := range limits {
				results = runText(t, registry, name, source, functiontest.Options{Timeout: limit})
				if outcomes(results)[controllertest.Passed] == 2 {
					break
				}
			}
			if got := outcomes(results); got[controllertest.Passed] != 2 || got[controllertest.Failed]+got[controllertest.Errored] != 1 {
				t.Fatalf("results: %s", text(results))
			}
			message := results[1].Failures[0].Message
			if !regexp.MustCompile(`did not end within|did not answer (before|within)|wait for each other`).MatchString(message) {
				t.Errorf("message: %s", message)
			}
		})
	}
}

// TestSlots checks that tests which do not end take no time from those that wait for their turn.
func TestSlots(t *testing.T) {
	registry, slots := workers(t), make(chan struct{}, 1)
	var files sync.WaitGroup
	for _, text := range []string{"test('endless', () => { for (;;); }); test('ends', () => {});", "test('ends', () => {});"} {
		files.Go(func() {
			var results []controllertest.Result
			// On a busy machine a new worker takes time.
			for _, limit := range []time.Duration{time.Second / 2, 3 * time.Second, 15 * time.Second, time.Minute} {
				results = runText(t, registry, "a.test.js", `import { test } from "libretto/test"; `+text,
					functiontest.Options{Timeout: limit, Parallel: 2, Slots: slots})
				if outcomes(results)[controllertest.Passed] == 1 {
					break
				}
			}
			if got := outcomes(results); got[controllertest.Passed] != 1 {
				t.Errorf("results: %s", text)
			}
		})
	}
	files.Wait()
}

// TestLargeTest checks that a test that takes too much memory fails alone.
func TestLargeTest(t *testing.T) {
	race.Skip(t)
	results := runText(t, workers(t), "a.test.js", `import { test } from "libretto/test";
test("a", () => {});
test("b", () => { const all = []; for (;;) { all.push(new Array(1000).fill(all.length)); } });
test("c", () => {});`, functiontest.Options{Timeout: 30 * time.Second, MemoryBytes: 64 << 20, Parallel: 1})
	if got := outcomes(results); got[controllertest.Passed] != 2 || got[controllertest.Failed] != 1 {
		t.Fatalf("results: %s", text(results))
	}
	if message := results[1].Failures[0].Message; !strings.Contains(message, "memory") {
		t.Errorf("message: %s", message)
	}
}

// TestManyTests runs 4000 tests of a file, and refuses more than there may be.
func TestManyTests(t *testing.T) {
	race.Skip(t)
	registry := workers(t)
	for name, source := range map[string]string{
		"a.test.js": `import { expect, test } from "libretto/test";
for (let i = 0; i < COUNT; i++) test("test " + i, () => { if (i % 2000 === 1) { console.log(i); } expect(i % 2000).not.toBe(7); });`,
		"a_test.jsonnet": `{
  ["test " + n]: if n % 2000 == 1 then std.trace(std.toString(n), true) else n % 2000 != 7
  for n in std.range(0, COUNT - 1)
}`,
	} {
		t.Run(name, func(t *testing.T) {
			results := runText(t, registry, name, strings.ReplaceAll(source, "COUNT", "4000"), functiontest.Options{})
			want := map[controllertest.Outcome]int{controllertest.Passed: 3998, controllertest.Failed: 2}
			if diff := cmp.Diff(want, outcomes(results)); diff != "" {
				t.Error(diff)
			}
			logging := slices.DeleteFunc(results, func(r controllertest.Result) bool { return len(r.Logs) == 0 })
			if len(logging) != 2 || logging[0].Name != "test 1" || logging[1].Name != "test 2001" {
				t.Errorf("logs are with %s", text(logging))
			}
			results = runText(t, registry, name, strings.ReplaceAll(source, "COUNT", "20001"), functiontest.Options{})
			if len(results) != 1 || !strings.Contains(results[0].Failures[0].Message, "it has 20001 tests, more than 20000: divide it") {
				t.Errorf("too many: %s", text(results[:min(3, len(results))]))
			}
		})
	}
}

// TestSelect checks that others are not run.
func TestSelect(t *testing.T) {
	registry := workers(t)
	for name, source := range map[string]string{
		"a.test.js": `import { test, describe } from "libretto/test";
describe("a", () => test("x", () => {})); test("b", () => { throw 1 });`,
		"a_test.jsonnet": `{ a: { x: true }, b: error "b" }`,
	} {
		selected := func(name string) bool { return strings.HasPrefix(name, "a >") }
		results := runText(t, registry, name, source, functiontest.Options{Select: selected})
		if len(results) != 1 || results[0].Name != "a > x" || results[0].Outcome != controllertest.Passed {
			t.Errorf("%s: %s", name, text(results))
		}
	}
}

// TestMissingFile checks that a file that can't be read is an error of the command.
func TestMissingFile(t *testing.T) {
	root := t.TempDir()
	_, err := functiontest.Run(t.Context(), workers(t), root, filepath.Join(root, "a.test.js"), functiontest.Options{})
	if err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("error %v", err)
	}
}
