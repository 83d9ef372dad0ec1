package scripts_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/scripts"
)

const missing = "ConfigMap a/one: not found: create it, or correct the name in scriptSources"

func TestReload(t *testing.T) {
	// refused lets the API server refuse the first requests to list.
	refused := func(w *env) {
		left := 2
		w.client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			left--
			return left >= 0, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "one", nil)
		})
	}
	type want struct {
		Text     string // of the sync hook that serves
		Settled  bool   // what serves is what the sources hold
		Message  string
		Warnings string
		Compiled int64
		Changes  int // calls of changed
	}
	cases := map[string]struct {
		reason string
		before step
		spec   scripts.Spec
		steps  []step
		want   want
	}{
		"First": {
			reason: "a ConfigMap that is there is loaded",
			before: sync("1"), spec: from("one"),
			want: want{Text: "1", Settled: true, Compiled: 1, Changes: 1},
		},
		"Inline": {
			reason: "a tree without sources loads at once",
			spec:   scripts.Spec{Hooks: map[string]scripts.Hook{"sync": {Inline: "1", Engine: "Fake"}}},
			want:   want{Text: "1", Settled: true, Compiled: 1, Changes: 1},
		},
		"Missing": {
			reason: "a ConfigMap that is not there is a problem",
			spec:   from("one"),
			want:   want{Message: missing, Settled: true, Changes: 1},
		},
		"Appears": {
			reason: "a ConfigMap that appears later mends the problem",
			spec:   from("one"), steps: []step{sync("1")},
			want: want{Text: "1", Settled: true, Compiled: 1, Changes: 2},
		},
		"Edit": {
			reason: "an edit is a new revision",
			before: sync("1"), spec: from("one"), steps: []step{sync("2")},
			want: want{Text: "2", Settled: true, Compiled: 2, Changes: 2},
		},
		"Touched": {
			reason: "what does not change the files changes nothing",
			before: sync("1"), spec: from("one"), steps: []step{label, sync("1"), label},
			want: want{Text: "1", Settled: true, Compiled: 1, Changes: 1},
		},
		"BadEdit": {
			reason: "what does not load leaves the last good revision, and is compiled once",
			before: sync("1"), spec: from("one"), steps: []step{sync("bad"), label},
			want: want{Text: "1", Message: "ConfigMap a/one: sync.fake:1:4: bad", Compiled: 2, Changes: 2},
		},
		"Warned": {
			reason: "what loads with a warning serves, with the place in its own source",
			before: sync("1"), spec: from("one"), steps: []step{sync("odd")},
			want: want{Text: "odd", Settled: true, Warnings: "ConfigMap a/one: sync.fake:1: odd", Compiled: 2, Changes: 2},
		},
		"WarnedBefore": {
			reason: "what goes on serving is not warned of beside an error",
			before: sync("odd"), spec: from("one"), steps: []step{sync("bad")},
			want: want{Text: "odd", Message: "ConfigMap a/one: sync.fake:1:4: bad", Compiled: 2, Changes: 2},
		},
		"Mended": {
			reason: "an edit that loads ends the problem",
			before: sync("1"), spec: from("one"), steps: []step{sync("bad"), sync("2")},
			want: want{Text: "2", Settled: true, Compiled: 3, Changes: 3},
		},
		"Reverted": {
			reason: "an edit back to what serves has nothing to load",
			before: sync("1"), spec: from("one"), steps: []step{sync("bad"), sync("1")},
			want: want{Text: "1", Settled: true, Compiled: 2, Changes: 3},
		},
		"Deleted": {
			reason: "deleting the ConfigMap is not an edit",
			before: sync("1"), spec: from("one"), steps: []step{remove},
			want: want{Text: "1", Message: missing, Compiled: 1, Changes: 2},
		},
		"Recreated": {
			reason: "the same files again are no new revision",
			before: sync("1"), spec: from("one"), steps: []step{remove, sync("1")},
			want: want{Text: "1", Settled: true, Compiled: 1, Changes: 3},
		},
		"OneOfTwoMissing": {
			reason: "half a tree is not loaded",
			before: put("two", map[string]string{"sync.fake": "1"}), spec: from("one", "two"), steps: []step{changed},
			want: want{Message: missing, Settled: true},
		},
		"Forbidden": {
			reason: "a refusal is reported",
			before: refused, spec: from("one"),
			want: want{Message: `ConfigMap a/one: configmaps "one" is forbidden: <nil>: libretto rbac -f FILES --host prints what the host needs`, Settled: true, Changes: 1},
		},
		"ForbiddenTwice": {
			reason: "a refusal that is repeated is no news",
			before: func(w *env) {
				refusals := 3
				w.client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
					if refusals == 0 {
						return false, nil, nil
					}
					refusals--
					return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "one", errors.New("no"))
				})
				sync("1")(w)
			},
			spec: from("one"), steps: []step{changed, changed},
			want: want{Text: "1", Settled: true, Compiled: 1},
		},
		"Allowed": {
			reason: "a right that is given later mends the problem",
			before: func(w *env) { sync("1")(w); refused(w) }, spec: from("one"), steps: []step{another},
			want: want{Text: "1", Settled: true, Compiled: 1},
		},
		"Panic": {
			reason: "a panic of the engine is the script's error, not the process's end",
			before: sync("1"), spec: from("one"), steps: []step{sync("panic")},
			want: want{Text: "1", Message: "ConfigMap a/one: sync.fake: the engine panicked on it: boom", Compiled: 2, Changes: 2},
		},
		"Passing": {
			reason: "what fails without being invalid is tried again without an edit",
			before: sync("busy"), spec: from("one"), steps: []step{another},
			want: want{Text: "busy", Settled: true, Compiled: 2},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				if tc.before != nil {
					tc.before(w)
				}
				w.play(tc.spec, tc.steps...)
				state := w.tree.State()
				got := want{
					Text: w.text(), Settled: state.Loaded == state.Desired, Message: state.Message(), Warnings: state.Warnings,
					Compiled: w.engine.compiled.Load(), Changes: len(w.changes),
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// An engine that ignores its deadline must not keep the next edit from loading.
func TestDeafEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		hold := make(chan struct{})
		defer close(hold)
		w.engine.deaf = hold
		w.play(from("one"), sync("deaf"), another, another) // That it takes long is reported before.
		want := "ConfigMap a/one: sync.fake: did not load within 10s: it is tried again every 1m0s"
		if diff := cmp.Diff(want, w.tree.State().Message()); diff != "" {
			t.Errorf("after the deadline: -want, +got:\n%s", diff)
		}
		sync("2")(w)
		synctest.Wait()
		if diff := cmp.Diff("2", w.text()); diff != "" {
			t.Errorf("after the next edit: -want, +got:\n%s", diff)
		}
	})
}

// TestBusyHost has a host that has no worker for a load, three times: that is no problem of the text, which is loaded as soon as there is one.
func TestBusyHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		began := time.Now()
		w.play(from("one"), sync("starved"), another)
		state := w.tree.State()
		if w.text() != "starved" || state.Message() != "" || w.engine.compiled.Load() != 4 || len(w.changes) > 0 {
			t.Errorf("%q serves after %d loads, with %d more changes and the problems %q", w.text(), w.engine.compiled.Load(), len(w.changes), state.Message())
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v, want about the three seconds in which there was no worker", took)
		}
	})
}

// TestLongLoad has a host that is so busy that an edit loads for much longer than it may take of its own time: that is reported, and is no problem.
func TestLongLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(from("one"), sync("1"), changed, sync("queued"))
		wait(20 * time.Second)(w)
		synctest.Wait()
		state := w.tree.State()
		if w.text() != "1" || !state.Undecided() || time.Since(state.LoadingSince) < 19*time.Second || state.Message() != "" {
			t.Errorf("after 20 s %q serves, the other one is loading since %v, with the problems %q", w.text(), state.LoadingSince, state.Message())
		}
		wait(time.Minute)(w)
		synctest.Wait()
		if state := w.tree.State(); w.text() != "queued" || state.Undecided() || state.Message() != "" {
			t.Errorf("in the end %q serves: %+v", w.text(), state)
		}
	})
}

// TestLateLoad has a text that takes all of its time to load: the message has its place, and when it is tried again.
func TestLateLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(from("one"), sync("late"), another)
		want := "ConfigMap a/one: sync.fake:3: did not load within 10s: it is tried again every 1m0s"
		if diff := cmp.Diff(want, w.tree.State().Message()); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	})
}

// Edits that come faster than they compile cost few compilations, and end on the last.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(from("one"), sync("slow"))
		for i := range 200 {
			sync(fmt.Sprint("slow ", i))(w)
		}
		for w.text() != "slow 199" {
			<-w.changes
		}
		// The first text, the first edit, and the last.
		if got := w.engine.compiled.Load(); got > 3 {
			t.Errorf("200 edits: %d compilations, want 3 at most", got)
		}
	})
}

// ConfigMaps that are edited together are never seen half edited.
func TestEditedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		put("one", map[string]string{"sync.fake": "import v1"})(w)
		put("two", map[string]string{"v1": "library"})(w)
		w.play(from("one", "two"), changed,
			put("one", map[string]string{"sync.fake": "import v2"}),
			put("two", map[string]string{"v2": "library"}),
			changed,
		)
		if diff := cmp.Diff("import v2", w.text()); diff != "" {
			t.Errorf("after both edits: -want, +got:\n%s", diff)
		}
		if diff := cmp.Diff(int64(2), w.engine.compiled.Load()); diff != "" {
			t.Errorf("compilations: -want, +got:\n%s", diff)
		}
	})
}
