package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/scripts"
)

// fakeTester ends as the text of x_test.yaml says.
type fakeTester struct {
	runs, running, most atomic.Int64
	deaf                chan struct{} // closed to let go of tests that do not listen to their context
	mended              atomic.Bool   // what tests depend on besides the text
}

func (f *fakeTester) Test(ctx context.Context, text scripts.TestedText) (scripts.TestReport, error) {
	f.runs.Add(1)
	f.most.Store(max(f.most.Load(), f.running.Add(1)))
	defer f.running.Add(-1)
	failure := func(message string) scripts.TestReport {
		return scripts.TestReport{Failures: []scripts.TestFailure{{Location: engines.Location{File: "x_test.yaml", Line: 3, Column: 5}, Message: message}}}
	}
	switch words := text.Files["x_test.yaml"]; {
	case words == "fail", words == "unless mended" && !f.mended.Load():
		return failure("case one: differs"), nil
	case words == "fail twice":
		report := failure("case one: differs")
		report.Failures = append(report.Failures, failure(strings.Repeat("long", 1000)).Failures...)
		return report, nil
	case words == "panic":
		panic("boom")
	case words == "busy" && f.runs.Load() == 1:
		return scripts.TestReport{}, errors.New("the API server is away")
	case words == "starved" && f.runs.Load() == 1:
		<-ctx.Done()
		return scripts.TestReport{}, errors.New("the workers were busy")
	case words == "no worker" && f.runs.Load() <= 3, words == "never a worker":
		resume := engines.PauseBudget(ctx)
		<-time.After(time.Minute)
		resume()
		return scripts.TestReport{}, fmt.Errorf("busy: %w", engines.ErrNoWorker)
	case words == "waiting": // For a worker.
		resume := engines.PauseBudget(ctx)
		<-time.After(5 * time.Minute)
		resume()
	case words == "endless":
		<-ctx.Done()
		return scripts.TestReport{}, context.Cause(ctx)
	case words == "deaf":
		<-f.deaf
	case strings.HasPrefix(words, "slow"):
		select {
		case <-ctx.Done():
			return scripts.TestReport{}, context.Cause(ctx)
		case <-time.After(5 * time.Second):
		}
	}
	return scripts.TestReport{Passed: 2, Skipped: []string{"one: needs a file"}}, nil
}

// newTested returns an env whose library has a fake Tester.
func newTested(t *testing.T) (*env, *fakeTester) {
	t.Helper()
	w := newEnv(t)
	tester := &fakeTester{deaf: make(chan struct{})}
	w.library.Tester = tester
	return w, tester
}

// both writes a script and its tests.
func both(text, tests string) step {
	return put("one", map[string]string{"sync.fake": text, "x_test.yaml": tests})
}

// wait lets that time pass.
func wait(d time.Duration) step { return func(*env) { <-time.After(d) } }

func TestTestsOfScripts(t *testing.T) {
	ignoring := kept("", "one")
	ignoring.IgnoreTests = true
	type want struct {
		Text    string // of the sync hook that serves
		Message string
		Testing bool
		Tested  string
		Runs    int64
	}
	const failed = "ConfigMap a/one: x_test.yaml:3:5: case one: differs"
	const passed = "2 of its tests passed, and 1 were skipped: one: needs a file"
	cases := map[string]struct {
		reason string
		spec   scripts.Spec
		before step
		steps  []step
		want   want
	}{
		"Passed": {
			reason: "a text whose tests pass serves, and they are run once",
			spec:   kept("", "one"), steps: []step{both("1", "pass"), label},
			want: want{Text: "1", Tested: passed, Runs: 1},
		},
		"None": {
			reason: "a text without tests costs no run",
			spec:   kept("", "one"), steps: []step{sync("1"), sync("2")},
			want: want{Text: "2"},
		},
		"FailedAtFirst": {
			reason: "nothing serves if the first text fails",
			spec:   kept("", "one"), steps: []step{both("1", "fail"), label, wait(time.Hour)},
			want: want{Message: failed, Runs: 1},
		},
		"FailedEdit": {
			reason: "the last good text goes on serving",
			spec:   kept("", "one"), steps: []step{both("1", "pass"), both("2", "fail"), label, wait(time.Hour)},
			want: want{Text: "1", Message: failed, Runs: 2},
		},
		"Mended": {
			reason: "an edit whose tests pass takes over",
			spec:   kept("", "one"), steps: []step{both("1", "pass"), both("2", "fail"), both("3", "pass")},
			want: want{Text: "3", Tested: passed, Runs: 3},
		},
		"TestsMended": {
			reason: "tests are a part of the text",
			spec:   kept("", "one"), steps: []step{both("1", "fail"), both("1", "pass")},
			want: want{Text: "1", Tested: passed, Runs: 2},
		},
		"Reverted": {
			reason: "the text that serves is not tested again",
			spec:   kept("", "one"), steps: []step{both("1", "pass"), both("2", "fail"), both("1", "pass")},
			want: want{Text: "1", Tested: passed, Runs: 2},
		},
		"RolledBack": {
			reason: "the verdict on an earlier text is known",
			spec:   kept("", "one"), steps: []step{both("1", "pass"), both("2", "pass"), both("1", "pass")},
			want: want{Text: "1", Runs: 2},
		},
		"Several": {
			reason: "all failures are reported, each bounded",
			spec:   kept("", "one"), steps: []step{both("1", "fail twice")},
			want: want{Message: failed + "\n" + engines.Truncate("ConfigMap a/one: x_test.yaml:3:5: "+strings.Repeat("long", 1000), 1000), Runs: 1},
		},
		"Ignored": {
			reason: "whoever ignores them is not held back",
			spec:   ignoring, steps: []step{both("1", "fail"), both("2", "fail")},
			want: want{Text: "2"},
		},
		"NotCompiled": {
			reason: "what does not compile is not tested",
			spec:   kept("", "one"), steps: []step{both("bad", "fail")},
			want: want{Message: "ConfigMap a/one: sync.fake:1:4: bad"},
		},
		"Panic": {
			reason: "a panic is a failure, not the process's end",
			spec:   kept("", "one"), steps: []step{both("1", "panic")},
			want: want{Message: "ConfigMap a/one: the tests panicked: boom", Runs: 1},
		},
		"Busy": {
			reason: "tests that could not be run are run again without an edit",
			spec:   kept("", "one"), steps: []step{both("1", "busy"), wait(2 * time.Minute)},
			want: want{Text: "1", Tested: passed, Runs: 2},
		},
		"NotRun": {
			reason: "what could not be tested does not serve",
			spec:   kept("", "one"), steps: []step{both("1", "busy")},
			want: want{Message: "ConfigMap a/one: the tests could not be run: the API server is away: it is tried again every 1m0s", Runs: 1},
		},
		"Starved": {
			reason: "so are those that could not be run until their time was over",
			spec:   kept("", "one"), steps: []step{both("1", "starved"), wait(2 * time.Minute)},
			want: want{Text: "1", Tested: passed, Runs: 2},
		},
		"Slow": {
			reason: "that tests run is reported after a second, while the last good text serves",
			spec:   kept("", "one"), steps: []step{both("1", "pass"), both("2", "slow"), wait(2 * time.Second)},
			want: want{Text: "1", Testing: true, Tested: passed, Runs: 2},
		},
		"SlowAfterBad": {
			reason: "what is known of an earlier text stays meanwhile",
			spec:   kept("", "one"), steps: []step{both("1", "fail"), both("2", "slow"), wait(2 * time.Second)},
			want: want{Message: failed, Testing: true, Runs: 2},
		},
		"Endless": {
			reason: "tests end after 30 seconds, and are not run again without an edit",
			spec:   kept("", "one"), steps: []step{both("1", "endless"), wait(31 * time.Second), wait(time.Hour)},
			want: want{Message: "ConfigMap a/one: the tests did not end within 30s", Runs: 1},
		},
		"Waiting": {
			reason: "what they wait for a worker is not their time",
			spec:   kept("", "one"), steps: []step{both("1", "waiting"), wait(6 * time.Minute)},
			want: want{Text: "1", Tested: passed, Runs: 1},
		},
		"NoWorker": {
			reason: "those for which there is no worker are run again at once, and have not failed",
			spec:   kept("", "one"), steps: []step{both("1", "no worker"), wait(2 * time.Minute), wait(3 * time.Minute)},
			want: want{Text: "1", Tested: passed, Runs: 4},
		},
		"NeverAWorker": {
			reason: "if there is none for many minutes, that is reported",
			spec:   kept("", "one"), steps: []step{both("1", "never a worker"), wait(11*time.Minute + time.Second)},
			want: want{Message: "ConfigMap a/one: the tests could not be run: busy: no worker was free: it is tried again every 1m0s", Runs: 11},
		},
		"Newer": {
			reason: "a newer text ends the tests of the one before, and wins",
			spec:   kept("", "one"), steps: []step{both("1", "pass"), both("2", "endless"), both("3", "pass")},
			want: want{Text: "3", Tested: passed, Runs: 3},
		},
		"Touched": {
			reason: "what does not change the text does not end its tests",
			spec:   kept("", "one"), steps: []step{both("1", "slow"), label, wait(4 * time.Second), label, wait(2 * time.Second)},
			want: want{Text: "1", Tested: passed, Runs: 1},
		},
		"Deleted": {
			reason: "a source that goes ends the tests of its text",
			spec:   kept("", "one"), steps: []step{both("1", "endless"), remove},
			want: want{Message: missing, Runs: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, tester := newTested(t)
				w.play(tc.spec, tc.steps...)
				state := w.tree.State()
				got := want{w.text(), state.Message(), state.Testing != "", state.Tested, tester.runs.Load()}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
				}
				if reason := "TestsFailed"; strings.Contains(got.Message, "test") && state.Problems[0].Reason() != reason {
					t.Errorf("%s: reason %s, want %s", tc.reason, state.Problems[0].Reason(), reason)
				}
			})
		})
	}
}

// A Tester that ignores its deadline must not keep the next edit from loading, and keeps the slot of its trust domain alone.
func TestDeafTests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, tester := newTested(t)
		w.play(kept("", "one"), both("1", "deaf"), wait(40*time.Second))
		if diff := cmp.Diff("ConfigMap a/one: the tests did not end within 30s", w.tree.State().Message()); diff != "" {
			t.Errorf("after the deadline: -want, +got:\n%s", diff)
		}
		sync("2")(w)
		synctest.Wait()
		if diff := cmp.Diff("2", w.text()); diff != "" {
			t.Errorf("after the next edit, which has no tests: -want, +got:\n%s", diff)
		}
		putIn("b", "one", map[string]string{"sync.fake": "1", "x_test.yaml": "pass"})(w)
		spec := from("one")
		spec.Sources[0].ConfigMap.Namespace = "b"
		if w.open(spec).Current() == nil {
			t.Error("the tests of another trust domain did not run")
		}
		both("3", "pass")(w)
		wait(11 * time.Minute)(w)
		want := "ConfigMap a/one: the tests could not be run: the tests of other scripts have not ended: it is tried again every 1m0s"
		if diff := cmp.Diff(want, w.tree.State().Message()); diff != "" {
			t.Errorf("while the slot is taken: -want, +got:\n%s", diff)
		}
		close(tester.deaf)
		wait(2 * time.Minute)(w)
		synctest.Wait()
		if diff := cmp.Diff("3", w.text()); diff != "" {
			t.Errorf("once the slot is free: -want, +got:\n%s", diff)
		}
	})
}

// What served is not tested when the process starts, whatever tests would say now.
func TestTestsAndRestart(t *testing.T) {
	edited := func(spec *scripts.Spec) {
		spec.Hooks = map[string]scripts.Hook{"sync": {Path: "sync.fake", Function: "other"}}
	}
	cases := map[string]struct {
		reason   string
		before   []step
		spec     func(*scripts.Spec)
		after    []step
		text     string
		message  string
		restored bool
		runs     int64 // after the restart
	}{
		"Served": {
			reason: "the text that served goes on serving, untested",
			before: []step{both("1", "pass")}, text: "1",
		},
		"ServedUnderOtherSettings": {
			reason: "so it does if the hooks have other settings now",
			before: []step{both("1", "pass")}, spec: edited, text: "1",
		},
		"RolledBack": {
			reason: "a revision that is archived has passed",
			before: []step{both("1", "pass"), pass, both("2", "pass")}, after: []step{both("1", "pass")}, text: "1",
		},
		"Failed": {
			reason: "while a text that failed is tested again, what served serves",
			before: []step{both("1", "pass"), both("2", "fail")}, text: "1", restored: true,
			message: "ConfigMap a/one: x_test.yaml:3:5: case one: differs", runs: 1,
		},
		"EditedMeanwhile": {
			reason: "a text that is new is tested, and serves then",
			before: []step{both("1", "pass"), both("2", "endless")}, after: []step{both("3", "pass")}, text: "3", runs: 2,
		},
		"StillTested": {
			reason: "what served serves until tests that were interrupted have ended",
			before: []step{both("1", "pass"), both("2", "endless")}, text: "1", restored: true, runs: 1,
		},
		"IgnoredBefore": {
			reason: "a revision that was not tested has not passed",
			before: []step{both("1", "pass"), func(w *env) {
				spec := kept("", "one")
				spec.IgnoreTests = true
				w.restart(spec)
			}, both("2", "fail"), pass, both("3", "pass")},
			after: []step{both("2", "fail")}, text: "3", message: "ConfigMap a/one: x_test.yaml:3:5: case one: differs", runs: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, tester := newTested(t)
				w.play(kept("", "one"), tc.before...)
				pass(w)
				tester.runs.Store(0)
				spec := kept("", "one")
				if tc.spec != nil {
					tc.spec(&spec)
				}
				w.restart(spec)
				for _, do := range tc.after {
					do(w)
					synctest.Wait()
				}
				state := w.tree.State()
				if w.text() != tc.text || state.Message() != tc.message || tester.runs.Load() != tc.runs || (state.RestoredFrom != "") != tc.restored {
					t.Errorf("%s: %q serves with %q after %d runs, restored from %q, want %q, %q, %d, restored %v", tc.reason,
						w.text(), state.Message(), tester.runs.Load(), state.RestoredFrom, tc.text, tc.message, tc.runs, tc.restored)
				}
			})
		})
	}
}

// A definition whose spec is edited opens another tree: the text that serves is not held back by its tests.
func TestTestsAfterEditOfSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, tester := newTested(t)
		w.play(kept("", "one"), both("1", "unless mended"))
		if w.text() != "" {
			t.Fatal("it serves although its tests fail")
		}
		tester.mended.Store(true)
		label(w)
		synctest.Wait()
		if w.text() != "" || tester.runs.Load() != 1 {
			t.Errorf("%d runs, want one: nothing was edited", tester.runs.Load())
		}
		w.tree.SetTestInputs("1")
		w.tree.SetTestInputs("2")
		synctest.Wait()
		if w.text() != "1" || tester.runs.Load() != 2 {
			t.Errorf("%d runs, want two: the schemas have changed", tester.runs.Load())
		}
		tester.mended.Store(false)
		w.tree.SetTestInputs("3")
		synctest.Wait()
		next := kept("", "one")
		next.Hooks = map[string]scripts.Hook{"sync": {Path: "sync.fake", Function: "other"}}
		if w.open(next).Current() == nil || tester.runs.Load() != 2 {
			t.Errorf("%d runs, want no more: the text serves", tester.runs.Load())
		}
	})
}

// Definitions that share a text are tested each by itself, one at a time for each trust domain.
func TestTestsOfSharedText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, tester := newTested(t)
		both("1", "slow")(w)
		var trees []*scripts.Tree
		for n := range 3 {
			spec := kept("", "one")
			spec.Definition, spec.Archive.Owner.UID = fmt.Sprint(n), "uid"
			trees = append(trees, w.open(spec))
		}
		wait(20 * time.Second)(w)
		for n, tree := range trees {
			if tree.Current() == nil || tree.Current().Programs["sync"] != trees[0].Current().Programs["sync"] {
				t.Errorf("tree %d does not serve, or has programs of its own", n)
			}
		}
		if tester.runs.Load() != 3 || tester.most.Load() != 1 {
			t.Errorf("%d runs, %d at once, want 3 and one", tester.runs.Load(), tester.most.Load())
		}
	})
}

// Tests of many trust domains run a few at a time.
func TestTestsOfManyDomains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, tester := newTested(t)
		for n := range 10 {
			namespace := fmt.Sprint("n", n)
			putIn(namespace, "one", map[string]string{"sync.fake": fmt.Sprint(n), "x_test.yaml": "slow"})(w)
			spec := from("one")
			spec.Sources[0].ConfigMap.Namespace = namespace
			w.open(spec)
		}
		wait(time.Minute)(w)
		if tester.runs.Load() != 10 || tester.most.Load() != 4 {
			t.Errorf("%d runs, %d at once, want 10 and 4", tester.runs.Load(), tester.most.Load())
		}
	})
}

func TestIsTest(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Scripts()...)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{
		"webapp_test.yaml": true, "lib/names.test.js": true, "names.test.ts": true, "lib/names_test.jsonnet": true,
		"webapp.yaml": false, "test.yaml": false, "names_test.js": false, "names.test.jsonnet": false, "test.ts": false, "latest.js": false,
		"names_test.libsonnet": false, "x_test.cel.yaml": false,
		// The tests of libraries are their authors'.
		"vendor/github.com/org/lib/lib_test.jsonnet": false, "lib/node_modules/a/a.test.js": false, "vendored/a.test.js": true, "vendor_test.jsonnet": true,
	} {
		if got := scripts.IsTest(registry, file); got != want {
			t.Errorf("%s is a file of tests: %v, want %v", file, got, want)
		}
	}
}
