package test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/render"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command, check.Command, render.Command}

// times are the parts of a transcript that are never the same.
var times = regexp.MustCompile(`(?m)^ {3,}\d+(\.\d+)? m?s\b|\b\d+(\.\d+)? m?s\b|( time=)"[\d.]+"|("durationSeconds": )[\d.e-]+`)

// TestTest runs the commands of each case in a folder with its files, each time in a new one.
func TestTest(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "transcripts", "*.txtar"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, want, at := clitest.Unpack(t, path)
			got := testTranscriptOf(t, string(archive.Comment))
			if *clitest.Update {
				clitest.Rewrite(t, path, archive, at, got)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", archive.Comment, diff)
			}
		})
	}
}

// testTranscriptOf runs the commands of a comment, and those that show a file.
func testTranscriptOf(t *testing.T, comment string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(comment) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "$ cat "); is {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "$ cat %s\n%s", name, text)
			continue
		}
		if command, file, redirected := strings.Cut(strings.TrimSpace(line), " > "); redirected {
			code, stdout, stderr := program.Run(t, "", clitest.ShellWords(strings.TrimPrefix(command, "$ libretto "))...)
			if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s > %s\n[exit %d]\n%s", command, file, code, stderr)
			continue
		}
		out.WriteString(program.Transcript(t, line, "no examples"))
	}
	return times.ReplaceAllString(out.String(), "${3}${4}TIME")
}

// watchedOutput is what a command that goes on has printed.
type watchedOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (w *watchedOutput) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.text.Write(text)
}

// waitFor returns what was printed up to a text, and takes it away.
func (w *watchedOutput) waitFor(t *testing.T, text string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		w.mu.Lock()
		before, after, found := strings.Cut(w.text.String(), text)
		if found {
			w.text.Reset()
			w.text.WriteString(after)
			w.mu.Unlock()
			return before
		}
		w.mu.Unlock()
		select {
		case <-w.more:
		case <-limit:
			t.Fatalf("%q was not printed: %s", text, before)
		}
	}
}

// TestTestWatch changes files while tests are watched: only the tests that a file concerns run again.
func TestTestWatch(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("testdata", "watch.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Unpack(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	out := &watchedOutput{more: make(chan struct{}, 1)}
	w := cli.Process{Args: strings.Fields("test --watch -v --scripts-dir scripts one two three"), Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: out, Stderr: out}
	ended := make(chan int, 1)
	go func() { ended <- program.Execute(ctx, w) }()
	const end = "waiting for changes: Ctrl-C ends\n"
	if got := out.waitFor(t, end); !strings.Contains(got, "passed one/a_test.yaml") || !strings.Contains(got, "passed two/b_test.yaml") {
		t.Errorf("the first run prints %s", got)
	}
	replace := func(file, from, to string) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// As editors do: another file takes the name.
		if err := os.WriteFile(file+"~", []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+"~", file); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		reason, file, from, to string
		want, without          string
	}{
		{"a script breaks its case", "one/hooks/sync.js", "hello", "bye", "failed one/a_test.yaml", "two/b_test.yaml"},
		{"it is mended", "one/hooks/sync.js", "bye", "hello", "passed one/a_test.yaml", "two/b_test.yaml"},
		{"a definition does not load", "two/b.yaml", "export function sync", "export function sink", "errored two/b_test.yaml", "one/a_test.yaml"},
		{"a given file", "one/parent.yaml", "metadata: {name: a}", "metadata: {name: a, labels: {b: c}}", "passed one/a_test.yaml", "two/b_test.yaml"},
		{"a script below --scripts-dir breaks", "scripts/c/lib/labels.js", "export", "exp0rt", "errored three/c_test.yaml", "one/a_test.yaml"},
		{"its case fails", "scripts/c/lib/labels.js", `exp0rt const labels = { a: "b" }`, "export const labels = {}", "failed three/c_test.yaml", "one/a_test.yaml"},
		{"the test itself", "one/a_test.yaml", "says hello", "still says hello", "still says hello", "two/b_test.yaml"},
	} {
		replace(step.file, step.from, step.to)
		got := out.waitFor(t, end)
		if !strings.Contains(got, step.want) || strings.Contains(got, step.without) {
			t.Errorf("%s: want %q and not %q: %s", step.reason, step.want, step.without, got)
		}
	}
	cancel()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

// TestRenderedTests checks that the test files that render prints for the examples pass as they are.
func TestRenderedTests(t *testing.T) {
	for name, c := range map[string]struct{ args, folder string }{
		"hello":           {"-f hello", "hello"},
		"map":             {"-f map", "map"},
		"decorator":       {"-f decorator -f decorator/statefulset.yaml", "decorator"},
		"catset":          {"-f catset -f catset/catset.yaml", "catset"},
		"none ready":      {"-f catset -f catset/catset.yaml --ready none", "catset"},
		"some ready":      {"-f catset -f catset/catset.yaml --ready Pod/nginx-0,*/nginx-1", "catset"},
		"a time":          {"-f catset -f catset/catset.yaml --now 2027-02-03T04:05:06Z", "catset"},
		"CEL":             {"-f namespacedefaults -f namespacedefaults/namespace.yaml", "namespacedefaults"},
		"Jsonnet":         {"-f previews -f previews/previews.yaml", "previews"},
		"TypeScript":      {"-f indexedjob -f indexedjob/indexedjob.yaml", "indexedjob"},
		"other namespace": {"-f hello/hello.yaml -f hello/greeting.yaml --namespace other", "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS(clitest.Examples)); err != nil {
				t.Fatal(err)
			}
			t.Chdir(root)
			args := append([]string{"render", "--until-settled", "-o", "test"}, strings.Fields(c.args)...)
			code, text, stderr := program.Run(t, "", args...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if !strings.HasPrefix(text, "# A test that passes now: put it into "+c.folder+" with a name that ends in _test.yaml.\n") {
				t.Errorf("the first line: %s", text)
			}
			rendered := filepath.Join(c.folder, "rendered_test.yaml")
			if err := os.WriteFile(rendered, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, stderr := program.Run(t, "", "test", "-v", rendered)
			if code != 0 || !strings.Contains(out, "1 case: 1 passed") {
				t.Errorf("exit code %d:\n%s%s\n%s", code, out, stderr, text)
			}
		})
	}
}

// TestTestStopped checks that tests that were stopped are no success: not all were run.
func TestTestStopped(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("testdata", "watch.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Unpack(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	w := cli.Process{Args: []string{"test", "one", "two", "--output-file", "report.xml", "-o", "junit"}, Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	code := program.Execute(ctx, w)
	if code != cli.ExitCannot || errs.String() != "libretto: stopped before all cases were run\n" || out.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, out.String(), errs.String())
	}
	if _, err := os.Stat("report.xml"); err == nil {
		t.Error("there is a file that looks like the results")
	}
}

// TestRerun checks that the command that runs a failed case again is the one that the user has, and fails in the same way.
func TestRerun(t *testing.T) {
	r := controllertest.Result{File: "a b_test.yaml", Name: "it's [x]", Location: engines.Location{File: "a b_test.yaml", Line: 3}}
	const word = ` 'a b_test.yaml' --run '^a b_test\.yaml: it'\''s \[x\]$'`
	explored := exploreOptions{explore: true, paths: 7, seed: 3}
	for want, c := range map[string]testRun{
		"libretto test" + word:         {testOptions: &testOptions{}},
		"kubectl libretto test" + word: {testOptions: &testOptions{}, Process: cli.Process{IsPlugin: true}},
		"libretto test" + word + " --scripts-dir a/b --explore --explore-paths 7 --explore-seed 3": {
			testOptions: &testOptions{scriptsDir: "a/b", exploring: explored},
		},
	} {
		if got := c.rerun(r); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
