package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// place writes files into a folder, which becomes the working directory.
func place(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newRegistry returns the engines.
func newRegistry(t *testing.T) *engines.Registry {
	t.Helper()
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

const header = "apiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\n"

func TestFind(t *testing.T) {
	registry := newRegistry(t)
	place(t, map[string]string{
		"a_test.yaml": header, "app/b_test.yaml": "# A comment.\n---\n" + header, "app/deep/er/c_test.yaml": header, "app/a.test.js": "", "app/a.test.ts": "",
		"app/a_test.jsonnet": "", "app/helm_test.yaml": "suite: a\n", "app/open_test.yaml": "cases: [\n", "app/typo_test.yaml": "apiVersion: libretto.dev/v1alpha1\nkind: ControlerTest\n",
		"app/json_test.yaml": `{"kind": "ControllerTest", "apiVersion": "libretto.dev/v1alpha1"}`, "app/quoted_test.yaml": "kind: \"ControllerTest\"\n",
		"app/inner_test.yaml": "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    kind: ControllerTest\n", "app/b.yaml": "", "app/sync.js": "",
		"node_modules/a/d_test.yaml": header, "app/node_modules/d_test.yaml": header, "app/vendor/a/d_test.yaml": header, ".git/d_test.yaml": header, "named.yaml": header,
	})
	if err := os.Mkdir("folder_test.yaml", 0o755); err != nil {
		t.Fatal(err)
	}
	inApp := []string{"app/b_test.yaml", "app/deep/er/c_test.yaml", "app/json_test.yaml", "app/quoted_test.yaml", "app/typo_test.yaml"}
	functions := []string{"app/a.test.js", "app/a.test.ts", "app/a_test.jsonnet"}
	skipped := []string{
		"app/helm_test.yaml: left out: it has no kind: ControllerTest", "app/inner_test.yaml: left out: it has no kind: ControllerTest",
		"app/open_test.yaml: left out: it is no YAML: yaml: line 1: did not find expected node content",
	}
	for name, c := range map[string]struct {
		paths  []string
		want   Found
		failed string
	}{
		"a folder and all below":       {[]string{"app"}, Found{Cases: inApp, Functions: functions, Skipped: skipped, Directories: []string{"app", "app/deep", "app/deep/er"}}, ""},
		"as a pattern of Go":           {[]string{"./app/..."}, Found{Cases: inApp, Functions: functions, Skipped: skipped, Directories: []string{"app", "app/deep", "app/deep/er"}}, ""},
		"below a folder":               {[]string{"app/deep/"}, Found{Cases: []string{"app/deep/er/c_test.yaml"}, Directories: []string{"app/deep", "app/deep/er"}}, ""},
		"each once":                    {[]string{"app/deep", "app/deep/er/c_test.yaml"}, Found{Cases: []string{"app/deep/er/c_test.yaml"}, Directories: []string{"app/deep", "app/deep/er"}}, ""},
		"a file with another name":     {[]string{"named.yaml"}, Found{Cases: []string{"named.yaml"}}, ""},
		"a hidden folder if named":     {[]string{".git"}, Found{Cases: []string{".git/d_test.yaml"}, Directories: []string{".git"}}, ""},
		"a test of functions, named":   {[]string{"app/a.test.ts"}, Found{Functions: []string{"app/a.test.ts"}}, ""},
		"a named file that is no test": {[]string{"app/b.yaml"}, Found{}, "app/b.yaml is no test: it has no kind: ControllerTest"},
		"nothing of that name":         {[]string{"absent"}, Found{}, "stat absent: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Find(registry, c.paths...)
			if c.failed != "" {
				if err == nil || err.Error() != c.failed {
					t.Errorf("%v, want %s", err, c.failed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	testFindLinks(t)
	all, err := Find(registry, ".", "...")
	if err != nil || len(all.Cases) != 6 || all.Cases[0] != "a_test.yaml" {
		t.Errorf("the present folder has %v: %v", all, err)
	}
}

// testFindLinks checks that a link to a folder is followed if it is named, and that no other link ends the search.
func testFindLinks(t *testing.T) {
	t.Helper()
	registry := newRegistry(t)
	for link, target := range map[string]string{"link": "app/deep", "app/deep/loop": "..", "app/deep/gone_test.yaml": "nowhere", "app/deep/.#c_test.yaml": "editor@host"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Find(registry, "link")
	want := &Found{
		Cases: []string{"link/er/c_test.yaml"}, Directories: []string{"link", "link/er"},
		Skipped: []string{"link/gone_test.yaml: left out: it is a link to nothing, or was just removed"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if _, err := Find(registry, "app/deep/gone_test.yaml"); err == nil {
		t.Error("a link to nothing that is named is no error")
	}
}

func TestDependOn(t *testing.T) {
	inputs := Inputs{"app/a_test.yaml": false, "app": false, "app/hooks": true, "base/k.yaml": false}
	for name, want := range map[string]bool{
		"app/a_test.yaml":     true,  // the test
		"app/new.yaml":        true,  // a manifest in the folder of the definition
		"app/b_test.yaml":     false, // another test
		"app/a.golden.txt":    false, // no manifest
		"app/hooks/sync.js":   true,  // a script
		"app/hooks/.sync.swp": false, // an editor's
		"app/hooks/sync.js~":  false, // an editor's
		"app/hooks/lib/a.js":  false, // scripts are those in the folder itself
		"base/k.yaml":         true,  // a file that was read
		"base/l.yaml":         false, // beside it
	} {
		if got := inputs.DependOn(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// decorator has a script of an engine of these tests.
const decorator = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: a}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  hooks: {sync: {script: {engine: JavaScript, inline: "anything"}}}
`

const pod = "given: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}]\n"

// fakeEngine counts what it compiles. Its programs do as their text says.
type fakeEngine struct {
	compiled atomic.Int32
	run      func(context.Context, engines.Call) (engines.Response, error)
}

func (e *fakeEngine) Compile(context.Context, engines.Source) (engines.Program, error) {
	e.compiled.Add(1)
	return fakeProgram{run: e.run}, nil
}

type fakeProgram struct {
	engines.ProgramBase
	run func(context.Context, engines.Call) (engines.Response, error)
}

func (p fakeProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	return p.run(ctx, call)
}

// run runs the tests of the working directory with a fake engine.
func run(t *testing.T, e *fakeEngine, o Options) (ids []string, results []controllertest.Result, summary *Summary) {
	t.Helper()
	if e.run == nil {
		e.run = func(context.Context, engines.Call) (engines.Response, error) {
			return engines.Response{Body: map[string]any{}}, nil
		}
	}
	var err error
	o.Engines, err = engines.NewRegistry(engines.Config{}, engines.Definition{
		Name: "JavaScript", Extensions: []string{".js"}, New: func(engines.Config) (engines.Engine, error) { return e, nil },
		Tests: &engines.TestFiles{Endings: []string{".test.js", "_test.jsonnet"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := Find(o.Engines, ".")
	if err != nil {
		t.Fatal(err)
	}
	o.Cases, o.Functions = found.Cases, found.Functions
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	o.Report = func(r controllertest.Result) {
		ids = append(ids, fmt.Sprintf("%s %s", r.Outcome, r.ID()))
		results = append(results, r)
	}
	summary, err = Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return ids, results, summary
}

// TestOrder checks that results come in the order of the files and cases, however many are run at once, and that a definition is
// compiled once for all files that test it.
func TestOrder(t *testing.T) {
	files := map[string]string{"a.yaml": decorator}
	var want []string
	for _, file := range []string{"a_test.yaml", "b_test.yaml", "c_test.yaml"} {
		text := header + pod + "cases:\n"
		for i := range 20 {
			text += fmt.Sprintf("- name: case %d\n", i)
			want = append(want, fmt.Sprintf("passed %s: case %d", file, i))
		}
		files[file] = text
	}
	place(t, files)
	for _, parallel := range []int{1, 8} {
		e := &fakeEngine{}
		got, _, summary := run(t, e, Options{Parallel: parallel})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d at once, -want +got:\n%s", parallel, diff)
		}
		if n := e.compiled.Load(); n != 1 {
			t.Errorf("compiled %d times", n)
		}
		if summary.Total() != len(want) || summary.Counts[controllertest.Passed] != len(want) {
			t.Errorf("%+v", summary)
		}
	}
	first, _, _ := run(t, &fakeEngine{}, Options{Parallel: 1, Shuffle: 4})
	second, _, _ := run(t, &fakeEngine{}, Options{Parallel: 8, Shuffle: 4})
	other, _, _ := run(t, &fakeEngine{}, Options{Parallel: 8, Shuffle: 5})
	if !cmp.Equal(first, second) || cmp.Equal(first, other) || cmp.Equal(first, want) || len(first) != len(want) {
		t.Errorf("shuffled: %v and %v and %v", first, second, other)
	}
}

// TestScriptsDirInputs checks that results depend on the directories below --scripts-dir, even if the scripts do not load.
func TestScriptsDirInputs(t *testing.T) {
	const named = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: a}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  scriptSources: [{directory: {path: hooks}}]
  hooks: {sync: {script: {path: sync.js}}}
`
	place(t, map[string]string{"a.yaml": named, "a_test.yaml": header + pod + "cases: [{name: a}]\n", "dir/hooks/lib/a.js": "", "dir/other/a.js": ""})
	for _, want := range []controllertest.Outcome{controllertest.Errored, controllertest.Passed} {
		_, results, summary := run(t, &fakeEngine{}, Options{Parallel: 1, ScriptsDir: "dir"})
		if results[0].Outcome != want {
			t.Errorf("%+v, want it %s", results[0], want)
		}
		inputs := summary.Inputs["a_test.yaml"]
		for name, want := range map[string]bool{"dir/hooks/sync.js": true, "dir/hooks/lib/b.js": true, "dir/other/a.js": false, "dir/hooks": true} {
			if got := inputs.DependOn(name); got != want {
				t.Errorf("depends on %s: %v, want %v", name, got, want)
			}
		}
		if err := os.WriteFile("dir/hooks/sync.js", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailFast checks that nothing is reported after the first failure, and that cases that run then are stopped.
func TestFailFast(t *testing.T) {
	place(t, map[string]string{
		"a.yaml":      decorator,
		"a_test.yaml": header + pod + "cases:\n- {name: a}\n- {name: b, want: {status: {x: 1}}}\n" + strings.Repeat("- {name: c, each: [{x: 1}, {x: 2}]}\n", 1),
	})
	got, _, summary := run(t, &fakeEngine{}, Options{Parallel: 2, FailFast: true})
	if want := []string{"passed a_test.yaml: a", "failed a_test.yaml: b"}; !cmp.Equal(want, got) || summary.NotRun != 2 {
		t.Errorf("%v, %+v", got, summary)
	}
}

// TestTimeout checks that a case that takes too long fails with the limit as its reason.
func TestTimeout(t *testing.T) {
	place(t, map[string]string{"a.yaml": decorator, "a_test.yaml": header + pod + "cases: [{name: a}]\n"})
	e := &fakeEngine{run: func(ctx context.Context, _ engines.Call) (engines.Response, error) {
		<-ctx.Done()
		return engines.Response{}, engines.Ended(ctx)
	}}
	_, results, _ := run(t, e, Options{Parallel: 1, Timeout: 50 * time.Millisecond})
	const want = "it took longer than 50ms, which is what a case may take (--timeout)"
	if r := results[0]; r.Outcome != controllertest.Failed || len(r.Failures) != 1 || r.Failures[0].Message != want {
		t.Errorf("%+v", r)
	}
}

// TestWaitingCase checks that a case may wait for a worker for longer than it may take.
func TestWaitingCase(t *testing.T) {
	place(t, map[string]string{"a.yaml": decorator, "a_test.yaml": header + pod + "cases: [{name: a}]\n"})
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEngine{run: func(ctx context.Context, _ engines.Call) (engines.Response, error) {
			defer engines.PauseBudget(ctx)()
			time.Sleep(time.Hour)
			return engines.Response{Body: map[string]any{}}, nil
		}}
		if got, _, _ := run(t, e, Options{Parallel: 1, Timeout: time.Second}); !cmp.Equal(got, []string{"passed a_test.yaml: a"}) {
			t.Errorf("%v", got)
		}
	})
}

// TestStopped checks that the error of a context ends a run, whose results are then not complete.
func TestStopped(t *testing.T) {
	place(t, map[string]string{"a.yaml": decorator, "a_test.yaml": header + pod + "cases: [{name: a}, {name: b}]\n"})
	ctx, cancel := context.WithCancel(t.Context())
	e := &fakeEngine{run: func(ctx context.Context, _ engines.Call) (engines.Response, error) {
		cancel()
		<-ctx.Done()
		return engines.Response{}, engines.Ended(ctx)
	}}
	registry, err := engines.NewRegistry(engines.Config{}, engines.Definition{
		Name: "JavaScript", New: func(engines.Config) (engines.Engine, error) { return e, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := Run(ctx, Options{
		Cases: []string{"a_test.yaml"}, Engines: registry, Parallel: 1, Timeout: time.Minute,
		Report: func(r controllertest.Result) { t.Errorf("reported %+v", r) },
	})
	if !errors.Is(err, context.Canceled) || summary.Total() != 0 {
		t.Errorf("%v, %+v", err, summary)
	}
}

// TestFunctions checks how the runner of functions is called.
func TestFunctions(t *testing.T) {
	place(t, map[string]string{"a.test.js": "", "b_test.jsonnet": ""})
	var warned []string
	run(t, &fakeEngine{}, Options{Warn: func(text string) { warned = append(warned, text) }})
	if len(warned) != 2 {
		t.Errorf("without a runner: %v", warned)
	}
	second := make(chan struct{})
	functions := func(ctx context.Context, file string) ([]controllertest.Result, error) {
		if file == "a.test.js" {
			<-second // The files run at the same time.
		} else {
			close(second)
		}
		return []controllertest.Result{{File: file, Name: "adds", Outcome: controllertest.Failed}}, nil
	}
	got, _, _ := run(t, &fakeEngine{}, Options{RunFunctions: functions, Parallel: 2})
	if want := []string{"failed a.test.js: adds", "failed b_test.jsonnet: adds"}; !cmp.Equal(want, got) {
		t.Errorf("%v", got)
	}
	stopped := func(ctx context.Context, file string) ([]controllertest.Result, error) {
		if file == "a.test.js" {
			return []controllertest.Result{{File: file, Name: "adds", Outcome: controllertest.Failed}}, nil
		}
		<-ctx.Done() // A file that never ends does not hold up --fail-fast.
		return nil, ctx.Err()
	}
	if got, _, _ := run(t, &fakeEngine{}, Options{RunFunctions: stopped, Parallel: 2, FailFast: true}); len(got) != 1 {
		t.Errorf("%v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := func(ctx context.Context, file string) ([]controllertest.Result, error) {
		cancel()
		return []controllertest.Result{{File: file, Name: "adds", Outcome: controllertest.Failed}}, ctx.Err()
	}
	report := func(r controllertest.Result) { t.Errorf("a test that was stopped is reported: %+v", r) }
	if _, err := Run(ctx, Options{Functions: []string{"a.test.js"}, RunFunctions: interrupted, Report: report}); !errors.Is(err, context.Canceled) {
		t.Errorf("of a run that was stopped: %v", err)
	}
	broken := func(_ context.Context, file string) ([]controllertest.Result, error) {
		return nil, errors.New("unreadable")
	}
	if _, err := Run(t.Context(), Options{Functions: []string{"a.test.js", "b_test.jsonnet"}, RunFunctions: broken, Parallel: 1}); err == nil {
		t.Error("an unreadable file is no error")
	}
}

// TestWriteGolden checks that golden files are written below the folder of the test file only, and not touched if they are the same.
func TestWriteGolden(t *testing.T) {
	place(t, map[string]string{"app/a_test.yaml": header, "app/same.yaml": "text"})
	if err := os.Symlink("..", "app/out"); err != nil {
		t.Fatal(err)
	}
	f := &testFile{name: "app/a_test.yaml", inputs: Inputs{}}
	if changed, err := f.write("testdata/deep/a.yaml", []byte("text")); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if text, err := os.ReadFile("app/testdata/deep/a.yaml"); err != nil || string(text) != "text" {
		t.Errorf("%q %v", text, err)
	}
	before, err := os.Stat("app/same.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("app/same.yaml", 0o400); err != nil {
		t.Fatal(err)
	}
	if changed, err := f.write("same.yaml", []byte("text")); err != nil || changed {
		t.Fatal(changed, err)
	}
	if after, err := os.Stat("app/same.yaml"); err != nil || after.ModTime() != before.ModTime() {
		t.Errorf("a file that is the same was written: %v", err)
	}
	if _, err := f.write("same.yaml", []byte("other")); err == nil || !strings.Contains(err.Error(), "same golden file") {
		t.Errorf("two cases record different things in one file: %v", err)
	}
	if text, err := os.ReadFile("app/same.yaml"); err != nil || string(text) != "text" {
		t.Errorf("what the first one recorded is gone: %q %v", text, err)
	}
	for _, name := range []string{"../a.yaml", "/tmp/a.yaml", "out/a.yaml"} {
		if _, err := f.write(name, []byte("text")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if _, err := os.Stat("a.yaml"); err == nil {
		t.Error("a file outside was written")
	}
}
