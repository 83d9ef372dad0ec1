package controllertest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/scripts"
)

var update = flag.Bool("update", false, "rewrite the results in testdata")

// archive is a file of testdata: definition.yaml with its CustomResourceDefinitions, x_test.yaml, and result.txt.
type archive struct {
	*txtar.Archive
	path string
}

func openArchive(tb testing.TB, path string) *archive {
	tb.Helper()
	parsed, err := txtar.ParseFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return &archive{parsed, path}
}

func (a *archive) file(name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func newRegistry(tb testing.TB) *engines.Registry {
	tb.Helper()
	registry, err := engines.NewRegistry(engines.Config{UserAgent: "controllertest"}, standard.Definitions()...)
	if err != nil {
		tb.Fatal(err)
	}
	return registry
}

// subjectOf returns the subject of an archive.
func (a *archive) subject(tb testing.TB, registry *engines.Registry) *Subject {
	tb.Helper()
	s := &Subject{ReadFile: func(name string) ([]byte, error) {
		if text := a.file(name); text != nil {
			return text, nil
		}
		return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}}
	objects, problems := document.Read("definition.yaml", a.file("definition.yaml"))
	for _, problem := range problems {
		tb.Fatal(problem)
	}
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			s.Definition = o.Unstructured
			continue
		}
		resources, err := validation.Read(o.Unstructured)
		if err != nil {
			tb.Fatal(err)
		}
		s.Resources = append(s.Resources, resources...)
	}
	builtIn, err := validation.BuiltIn()
	if err != nil {
		tb.Fatal(err)
	}
	all := append(builtIn, s.Resources...)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	plan, refusal := plan.Planner{Find: memcluster.New(clock, all...).Find, FieldManager: "libretto"}.Plan(s.Definition)
	if refusal != nil {
		return s
	}
	spec, err := plan.Scripts()
	if err != nil {
		tb.Fatal(err)
	}
	compiled, err := scripts.Compile(tb.Context(), registry, spec, func(scripts.Origin) scripts.Contents { return scripts.Contents{} })
	if err != nil {
		tb.Fatal(err)
	}
	for _, problem := range compiled.Problems {
		tb.Fatal(problem)
	}
	s.Programs = compiled.Programs
	return s
}

// TestFiles runs the test files in testdata, and compares their results.
func TestFiles(t *testing.T) {
	registry := newRegistry(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a := openArchive(t, file)
			got := a.run(t, registry)
			if *update {
				a.rewrite(t, "result.txt", got)
			} else if diff := cmp.Diff(string(a.file("result.txt")), got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", a.Comment, diff)
			}
		})
	}
}

func (a *archive) rewrite(t *testing.T, name, text string) {
	t.Helper()
	found := false
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data, found = []byte(text), true
		}
	}
	if !found {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	if err := os.WriteFile(a.path, txtar.Format(a.Archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run returns the results of the file's cases as text.
func (a *archive) run(t *testing.T, registry *engines.Registry) string {
	t.Helper()
	var b bytes.Buffer
	file, problems := Parse("x_test.yaml", a.file("x_test.yaml"))
	for _, problem := range problems {
		fmt.Fprintln(&b, problem)
	}
	if len(problems) > 0 {
		return b.String()
	}
	subject := a.subject(t, registry)
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("the case does not end"))
	defer cancel()
	for _, test := range file.Tests {
		for i := range test.Cases {
			writeResult(&b, RunCase(ctx, registry, test, &test.Cases[i], subject))
		}
	}
	return b.String()
}

func writeResult(b *bytes.Buffer, r Result) {
	fmt.Fprintf(b, "%s: %s: %s", r.Location, r.Name, r.Outcome)
	if r.Reason != "" {
		fmt.Fprintf(b, " (%s)", r.Reason)
	}
	fmt.Fprintln(b)
	for _, f := range r.Failures {
		check := ""
		if f.Check != "" {
			check = string(f.Check) + ": "
		}
		fmt.Fprintf(b, "  %s: %s%s\n", f.Location, check, f.Message)
		for _, line := range f.Diff {
			fmt.Fprintf(b, "    | %s\n", line)
		}
		if f.Script.File != "" {
			fmt.Fprintf(b, "    at %s\n", f.Script)
		}
	}
}

// TestParallel runs the same case several times at once on one subject.
func TestParallel(t *testing.T) {
	a, registry := openArchive(t, "testdata/basics.txtar"), newRegistry(t)
	subject := a.subject(t, registry)
	f, _ := Parse("x_test.yaml", a.file("x_test.yaml"))
	test := f.Tests[0]
	results := make(chan Result)
	const times = 4
	for range times {
		for i := range test.Cases {
			go func() { results <- RunCase(t.Context(), registry, test, &test.Cases[i], subject) }()
		}
	}
	outcomes := map[string]map[Outcome]int{}
	for range times * len(test.Cases) {
		r := <-results
		if outcomes[r.Name] == nil {
			outcomes[r.Name] = map[Outcome]int{}
		}
		outcomes[r.Name][r.Outcome]++
	}
	for name, all := range outcomes {
		if len(all) != 1 {
			t.Errorf("%s comes to different ends: %v", name, all)
		}
	}
}

// TestDefineIsOfTheCase checks that a step with another definition leaves the one of other cases alone.
func TestDefineIsOfTheCase(t *testing.T) {
	a, registry := openArchive(t, "testdata/checks.txtar"), newRegistry(t)
	subject := a.subject(t, registry)
	f, _ := Parse("x_test.yaml", a.file("x_test.yaml"))
	test, defines := f.Tests[0], 0
	for i, c := range test.Cases {
		if !slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Define != nil }) {
			continue
		}
		defines++
		base, err := subject.base(DefaultNow)
		if err != nil {
			t.Fatal(err)
		}
		before := base.Definition.GetGeneration()
		RunCase(t.Context(), registry, test, &test.Cases[i], subject)
		if base, err = subject.base(DefaultNow); err != nil || base.Definition.GetGeneration() != before {
			t.Errorf("%s: generation %d, before the case %d; error %v", c.Name, base.Definition.GetGeneration(), before, err)
		}
	}
	if defines == 0 {
		t.Error("no case has another definition")
	}
}

// TestNothingIsLeft checks that no goroutine outlives its case, whatever happens to the host in it.
func TestNothingIsLeft(t *testing.T) {
	registry := newRegistry(t)
	for _, name := range []string{"basics", "faults", "checks", "silence"} {
		a := openArchive(t, "testdata/"+name+".txtar")
		a.run(t, registry) // The processes that run scripts stay.
		before := runtime.NumGoroutine()
		a.run(t, registry)
		deadline := time.Now().Add(time.Minute)
		for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
			runtime.Gosched()
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%s: %d goroutines, and %d before", name, after, before)
		}
	}
}

// TestEndless checks that a case ends with its context, and that it is an error of the case.
func TestEndless(t *testing.T) {
	a, registry := openArchive(t, "testdata/checks.txtar"), newRegistry(t)
	f, _ := Parse("x_test.yaml", []byte(header+`
given: [{apiVersion: example.com/v1, kind: WebApp, metadata: {name: shop}, spec: {mode: flips}}]
cases: [{name: "for ever", steps: [`+strings.TrimSuffix(strings.Repeat("{passes: 1000}, ", maxSteps), ", ")+"]}]\n"))
	var r Result
	for _, limit := range []time.Duration{300 * time.Millisecond, 3 * time.Second, 30 * time.Second} { // On a busy machine it takes time to begin.
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		r = RunCase(ctx, registry, f.Tests[0], &f.Tests[0].Cases[0], a.subject(t, registry))
		cancel()
		if strings.Contains(r.Failures[0].Message, "in time") {
			break
		}
	}
	if r.Outcome != Errored || !strings.Contains(r.Failures[0].Message, "in time") {
		t.Errorf("%v: %v", r.Outcome, r.Failures)
	}
}
