package explore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/test/cases"
)

func newRegistry(tb testing.TB) *engines.Registry {
	tb.Helper()
	registry, err := engines.NewRegistry(engines.Config{UserAgent: "explore"}, standard.Definitions()...)
	if err != nil {
		tb.Fatal(err)
	}
	return registry
}

// runFile runs a test file. With explore its cases are explored.
func runFile(tb testing.TB, file string, explore *Explorer) []controllertest.Result {
	tb.Helper()
	var results []controllertest.Result
	options := suite.Options{
		Cases: []string{file}, Engines: newRegistry(tb), Parallel: 1, Timeout: 5 * time.Minute,
		Warn: func(text string) { tb.Log(text) }, Report: func(r controllertest.Result) { results = append(results, r) },
	}
	if explore != nil {
		options.RunCase = explore.RunCase
	}
	if _, err := suite.Run(tb.Context(), options); err != nil {
		tb.Fatal(err)
	}
	if len(results) == 0 {
		tb.Fatalf("%s: no results", file)
	}
	return results
}

// describe logs a failed result as a user sees it.
func describe(tb testing.TB, r controllertest.Result) {
	tb.Helper()
	for _, f := range r.Failures {
		tb.Logf("%s: %s: %s", r.Name, f.Check, f.Message)
		for _, line := range f.Diff {
			tb.Log(line)
		}
		tb.Log("\n" + f.Case)
	}
}

func TestMain(m *testing.M) { cases.Main(m) }

// TestExamples explores the examples a little, all but Vitess, whose cases take longest: nothing is to be found. LIBRETTO_EXPLORE_PATHS
// makes it so many paths of each case, and of all examples.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../../../examples/*/*_test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	paths, isVitess := 6, func(file string) bool { return filepath.Base(filepath.Dir(file)) == "vitess" }
	if text := os.Getenv("LIBRETTO_EXPLORE_PATHS"); text == "" {
		files = slices.DeleteFunc(files, isVitess)
	} else if paths, err = strconv.Atoi(text); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			explorer := &Explorer{Options: Options{Seed: 1, Paths: paths}, Explored: func(r controllertest.Result, report Report) {
				t.Logf("%s: %d states, %d paths, %d left %s", r.Name, report.States, report.Paths, report.Left, report.Skipped)
			}}
			for _, r := range runFile(t, file, explorer) {
				t.Logf("%s: %s", r.Name, r.Duration)
				if r.Outcome != controllertest.Passed {
					t.Errorf("%s: %s", r.Name, r.Outcome)
					describe(t, r)
				}
			}
		})
	}
}

// TestStatusOfOthers checks that a decorator is not blamed for a status that another controller writes, and that none here writes again.
func TestStatusOfOthers(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: DecoratorController\nmetadata: {name: a}\nspec:\n" +
			"  resources: [{apiVersion: v1, resource: nodes}]\n" +
			"  hooks: {sync: {version: v2, script: {engine: CEL, inline: \"{'labels': {'phase': object.status.phase}}\"}}}\n",
		"a_test.yaml": "apiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\n" +
			"given: [{apiVersion: v1, kind: Node, metadata: {name: a}, status: {phase: Running}}]\n" +
			"cases: [{name: a label, want: {objects: [{kind: Node, metadata: {labels: {phase: Running}}}]}}]\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range runFile(t, filepath.Join(folder, "a_test.yaml"), &Explorer{Options: Options{Seed: 1, Paths: 50}}) {
		if r.Outcome != controllertest.Passed {
			t.Errorf("%s: %s", r.Name, r.Outcome)
			describe(t, r)
		}
	}
}

// TestDeterministic checks that a seed decides everything, however many paths are made at once.
func TestDeterministic(t *testing.T) {
	p := faultsPlanted["order of children"]
	file := filepath.Join(p.copyOf(t), "a_test.yaml")
	explored := func(seed uint64, workers int) []string {
		var all []string
		explorer := &Explorer{Options: Options{Seed: seed, Paths: 40, Workers: workers}, Explored: func(r controllertest.Result, report Report) {
			all = append(all, fmt.Sprint(r.Name, report.States, report.Paths, report.Left))
		}}
		for _, r := range runFile(t, file, explorer) {
			for _, f := range r.Failures {
				all = append(all, f.Message, strings.Join(f.Diff, "\n"), f.Case)
			}
		}
		return all
	}
	want := explored(7, 1)
	for range 3 {
		if diff := cmp.Diff(want, explored(7, 4)); diff != "" {
			t.Fatalf("the same seed finds something else: -want +got:\n%s", diff)
		}
	}
}

// TestPathsAreBounded checks that no more paths are made than asked for, and that what is left is counted.
func TestPathsAreBounded(t *testing.T) {
	var reports []Report
	explorer := &Explorer{Options: Options{Paths: 5, Workers: 1}, Explored: func(_ controllertest.Result, r Report) { reports = append(reports, r) }}
	runFile(t, filepath.Join("..", "..", "..", "..", "..", "examples", "map", "map_test.yaml"), explorer)
	for _, r := range reports {
		if r.Paths > 5 || r.Skipped == "" && r.Paths == 5 && r.Left == 0 {
			t.Errorf("%d paths, %d left", r.Paths, r.Left)
		}
	}
}

// TestNextCase checks that a case makes the paths that an equal one before it has left, and none of those that it has made.
func TestNextCase(t *testing.T) {
	p := greeting("", `return { status: { text }, children: [make("ConfigMap", "a", { data: { text } })] };`, "")
	file := filepath.Join(p.copyOf(t), "a_test.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "cases:")
	write(t, file, head+"cases:\n- {name: one}\n- {name: two}\n- {name: three}\n")
	explored := func(paths int) (made []int) {
		explorer := &Explorer{Options: Options{Paths: paths, Workers: 1}}
		explorer.Explored = func(_ controllertest.Result, r Report) { made = append(made, r.Paths) }
		runFile(t, file, explorer)
		return made
	}
	if all := explored(1000); len(all) != 3 || all[0] < 10 || all[1] != 0 || all[2] != 0 {
		t.Errorf("all paths are made by the first case: %v", all)
	}
	if some := explored(3); !slices.Equal(some, []int{3, 3, 3}) {
		t.Errorf("each case makes three paths of those that are left: %v", some)
	}
}

// TestWaiting explores a case in whose last step the hook waits: nothing is repaired then, which is no fault.
func TestWaiting(t *testing.T) {
	p := greeting("", `if (parent.spec.who === "moon") return { status: { text }, waiting: { reason: "NoMoon", message: "it has set" } };
      return { status: { text }, children: [make("ConfigMap", "a", { data: { text } })] };`, "")
	explorer := &Explorer{Options: Options{Paths: 150, Workers: 1}}
	for _, r := range runFile(t, filepath.Join(p.copyOf(t), "a_test.yaml"), explorer) {
		if r.Outcome != controllertest.Passed {
			describe(t, r)
			t.Errorf("%s: %s", r.Name, r.Outcome)
		}
	}
}

// TestEndsInTime explores a controller whose hook never ends.
func TestEndsInTime(t *testing.T) {
	p := greeting("", `if (find("ConfigMap.v1", "a") && !find("ConfigMap.v1", "b")) for (;;);
      return { status: { text }, children: [make("ConfigMap", "a", { data: { text } }), make("ConfigMap", "b", { data: { text } })] };`, "")
	file := filepath.Join(p.copyOf(t), "a_test.yaml")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	explorer := &Explorer{Options: Options{Workers: 1}}
	_, err := suite.Run(ctx, suite.Options{
		Cases: []string{file}, Engines: newRegistry(t), Parallel: 1, Timeout: time.Minute, RunCase: explorer.RunCase, Report: func(controllertest.Result) {},
	})
	if err == nil {
		t.Error("it ended by itself")
	}
}
