package scripts_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// fakePreviewer previews revisions as their text says.
type fakePreviewer struct {
	runs       atomic.Int64
	ready      atomic.Bool
	noBaseline bool          // parents have children
	compared   bool          // with what serves for another spec
	end        chan struct{} // of the first preview that waits
}

func (f *fakePreviewer) preview(ctx context.Context, r *scripts.Revision) scripts.Preview {
	f.runs.Add(1)
	response, err := r.Programs["sync"].Run(ctx, engines.Call{})
	if err != nil {
		panic(err)
	}
	switch text := response.Body.(string); {
	case strings.HasPrefix(text, "harm"):
		return scripts.Preview{Held: "it would delete all", Compared: f.compared}
	case strings.HasPrefix(text, "fails") && !f.ready.Load():
		return scripts.Preview{Held: "a parent would fail", RepeatAfter: scripts.PreviewInterval}
	case text == "later" && !f.ready.Load():
		return scripts.Preview{Later: true}
	case text == "explode":
		panic("boom")
	case text == "waits" && !f.ready.Load():
		<-f.end
	case text == "endless":
		<-ctx.Done()
	}
	return scripts.Preview{Summary: "previewed", NoBaseline: f.noBaseline, Compared: f.compared}
}

// ofConfigMaps lets annotations of ConfigMaps approve.
func ofConfigMaps(w *env) { w.tree.SetPreviewInputs("", scripts.Approvals{OfConfigMaps: true}) }

// approve names the revision that is held on ConfigMap a/one, in full or by its first digits.
func approve(short bool) step {
	return approveAs(func(id scripts.RevisionID) string {
		if short {
			return id.Short()
		}
		return string(id)
	})
}

// approveAs writes something of the revision that is held on ConfigMap a/one.
func approveAs(text func(scripts.RevisionID) string) step {
	return func(w *env) {
		id := text(w.tree.State().Desired)
		object, err := w.client.CoreV1().ConfigMaps("a").Get(context.Background(), "one", metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		object = object.DeepCopy()
		object.Annotations = map[string]string{scripts.ApprovalAnnotation: id}
		if _, err := w.client.CoreV1().ConfigMaps("a").Update(context.Background(), object, metav1.UpdateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// reversed returns an ID with the digits of another one in reverse.
func reversed(id scripts.RevisionID) scripts.RevisionID {
	digits := []byte(id)
	slices.Reverse(digits)
	return scripts.RevisionID(digits)
}

func TestPreviewedEdits(t *testing.T) {
	type want struct {
		Text     string // of the sync hook that serves
		Held     string
		Later    bool
		Approved bool
		Runs     int64
	}
	const held, failing = "it would delete all", "a parent would fail"
	for name, c := range map[string]struct {
		reason string
		steps  func(*fakePreviewer) []step
		editID func(scripts.RevisionID) scripts.RevisionID
		want   want
	}{
		"harmless": {
			reason: "it takes over after one preview", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("2"), label} },
			want: want{Text: "2", Runs: 2},
		},
		"harmful": {
			reason: "the last good text goes on, and events that change nothing cost no preview",
			steps:  func(*fakePreviewer) []step { return []step{sync("1"), sync("harm"), label, wait(time.Hour)} },
			want:   want{Text: "1", Held: held, Runs: 2},
		},
		"mended": {
			reason: "a newer edit is previewed anew", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("harm"), sync("harm 2"), sync("3")} },
			want: want{Text: "3", Runs: 4},
		},
		"taken back": {
			reason: "the text that serves needs no preview", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("harm"), sync("1")} },
			want: want{Text: "1", Runs: 2},
		},
		"does not load afterwards": {
			reason: "what does not load is reported, and nothing is held", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("harm"), sync("bad")} },
			want: want{Text: "1", Runs: 2},
		},
		"approved on the ConfigMap": {
			reason: "the whole hash counts", steps: func(*fakePreviewer) []step { return []step{sync("1"), ofConfigMaps, sync("harm"), approve(false)} },
			want: want{Text: "harm", Approved: true, Runs: 2},
		},
		"approved by its first digits": {
			reason: "that is what messages have", steps: func(*fakePreviewer) []step { return []step{sync("1"), ofConfigMaps, sync("harm"), approve(true)} },
			want: want{Text: "harm", Approved: true, Runs: 2},
		},
		"approved as scripts alone": {
			reason: "the spec is edited as well", editID: reversed,
			steps: func(*fakePreviewer) []step { return []step{sync("1"), ofConfigMaps, sync("harm"), approve(false)} },
			want:  want{Text: "1", Held: held, Runs: 2},
		},
		"approved with the spec": {
			reason: "the edit has an ID of its own", editID: reversed,
			steps: func(*fakePreviewer) []step {
				return []step{sync("1"), ofConfigMaps, sync("harm"), approveAs(func(id scripts.RevisionID) string { return string(reversed(id)) })}
			},
			want: want{Text: "harm", Approved: true, Runs: 2},
		},
		"approved in upper case, among spaces": {
			reason: "people copy it from anywhere", steps: func(*fakePreviewer) []step {
				return []step{sync("1"), ofConfigMaps, sync("harm"), approveAs(func(id scripts.RevisionID) string { return " " + strings.ToUpper(string(id)) + "\n" })}
			},
			want: want{Text: "harm", Approved: true, Runs: 2},
		},
		"approved on a ConfigMap that may not": {
			reason: "the definition does not let its ConfigMaps approve", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("harm"), approve(false)} },
			want: want{Text: "1", Held: held, Runs: 2},
		},
		"allowed afterwards": {
			reason: "the annotation counts once the definition lets it", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("harm"), approve(false), ofConfigMaps} },
			want: want{Text: "harm", Approved: true, Runs: 2},
		},
		"another one was approved": {
			reason: "an approval is of one revision", steps: func(*fakePreviewer) []step {
				return []step{sync("1"), ofConfigMaps, sync("harm"), approve(true), sync("harm 2")}
			},
			want: want{Text: "harm", Held: held, Runs: 3},
		},
		"approved by the definition": {
			reason: "the inputs have the definition's annotation, and what the status remembers",
			steps: func(*fakePreviewer) []step {
				return []step{sync("1"), sync("harm"), func(w *env) {
					w.tree.SetPreviewInputs("", scripts.Approvals{Named: []string{"other", w.tree.State().Desired.Short()}})
				}}
			},
			want: want{Text: "harm", Approved: true, Runs: 2},
		},
		"not yet": {
			reason: "the text waits until there can be a preview", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("later"), label} },
			want: want{Text: "1", Later: true, Runs: 3},
		},
		"now": {
			reason: "it is previewed when the inputs change",
			steps: func(f *fakePreviewer) []step {
				return []step{sync("1"), sync("later"), func(w *env) { f.ready.Store(true); w.tree.SetPreviewInputs("ready", scripts.Approvals{}) }}
			},
			want: want{Text: "later", Runs: 3},
		},
		"held, and other inputs": {
			reason: "what is held is previewed again when the inputs change",
			steps: func(*fakePreviewer) []step {
				return []step{sync("1"), sync("harm"), func(w *env) { w.tree.SetPreviewInputs("another spec serves", scripts.Approvals{}) }}
			},
			want: want{Text: "1", Held: held, Runs: 3},
		},
		"for what may pass": {
			reason: "it is previewed again, at an interval",
			steps: func(*fakePreviewer) []step {
				return []step{sync("1"), sync("fails"), label, wait(2*scripts.PreviewInterval + time.Second)}
			},
			want: want{Text: "1", Held: failing, Runs: 4},
		},
		"for what has passed": {
			reason: "it takes over without an edit",
			steps: func(f *fakePreviewer) []step {
				return []step{sync("1"), sync("fails"), func(*env) { f.ready.Store(true) }, wait(scripts.PreviewInterval + time.Second)}
			},
			want: want{Text: "fails", Runs: 3},
		},
		"for what may pass, and other text": {
			reason: "a text that does not load is no reason for a preview, and the earlier one is previewed when it is back",
			steps: func(f *fakePreviewer) []step {
				return []step{
					sync("1"), sync("fails"), sync("bad"), func(*env) { f.ready.Store(true) }, wait(time.Hour), sync("fails"),
					wait(scripts.PreviewInterval + time.Second),
				}
			},
			want: want{Text: "fails", Runs: 3},
		},
		"a newer edit meanwhile": {
			reason: "the preview of the earlier one ends", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("endless"), sync("3")} },
			want: want{Text: "3", Runs: 3},
		},
		"approved before the edit": {
			reason: "an approval may come first",
			steps: func(*fakePreviewer) []step {
				var id scripts.RevisionID
				return []step{
					sync("1"), sync("harm"), func(w *env) { id = w.tree.State().Desired }, sync("1"),
					func(w *env) { w.tree.SetPreviewInputs("", scripts.Approvals{Named: []string{string(id)}}) }, sync("harm"),
				}
			},
			want: want{Text: "harm", Approved: true, Runs: 2},
		},
		"other inputs meanwhile": {
			reason: "a preview by what does not hold any more lets nothing through",
			steps: func(f *fakePreviewer) []step {
				return []step{sync("1"), sync("waits"), func(w *env) {
					w.tree.SetPreviewInputs("other limits", scripts.Approvals{})
					f.ready.Store(true)
					close(f.end)
				}}
			},
			want: want{Text: "waits", Runs: 3},
		},
		"a long preview": {
			reason: "it is reported after a second, and what was held before is held no more",
			steps: func(*fakePreviewer) []step {
				return []step{sync("1"), sync("harm"), sync("endless"), wait(2 * time.Second)}
			},
			want: want{Text: "1", Later: true, Runs: 3},
		},
		"a short preview": {
			reason: "it is not reported", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("endless"), wait(time.Second / 2)} },
			want: want{Text: "1", Runs: 2},
		},
		"a panic": {
			reason: "it stops no host, and lets nothing through", steps: func(*fakePreviewer) []step { return []step{sync("1"), sync("explode")} },
			want: want{Text: "1", Held: "its preview panicked: boom", Runs: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakePreviewer{end: make(chan struct{})}
				w, spec := newEnv(t), kept("", "one")
				spec.Preview, spec.EditID = f.preview, c.editID
				w.play(spec, c.steps(f)...)
				state := w.tree.State()
				got := want{w.text(), state.Held, state.Previewing != "", state.Approved != "", f.runs.Load()}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
				}
			})
		})
	}
}

// TestRepeatAfter checks how often what takes long is previewed again.
func TestRepeatAfter(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: 30 * time.Second, 3 * time.Second: 30 * time.Second, 4 * time.Second: time.Minute, 30 * time.Second: 8 * time.Minute,
		5 * time.Minute: 64 * time.Minute,
	} {
		if got := scripts.RepeatAfter(took); got != want {
			t.Errorf("what took %s is previewed again after %s, want %s", took, got, want)
		}
	}
}

// TestPreviewsAndRestart checks what serves when a process starts.
func TestPreviewsAndRestart(t *testing.T) {
	const gone = "0123456789abcdef"
	nowhere := "revision " + gone + " served before, and can't be restored: no such revision is kept: no ControllerRevision a/composite-c-" + gone
	lost := func(scripts.RevisionID) scripts.RevisionID { return gone }
	for name, c := range map[string]struct {
		reason           string
		after            step // while no process runs
		serving          func(scripts.RevisionID) scripts.RevisionID
		noBaseline       bool
		compared         bool
		heldOnce         bool // the previous process reported that the edit was held
		text             string
		held             string
		noBaselineReason string
		runs             int64
	}{
		"the text that served": {reason: "it goes on without a preview", text: "1"},
		"a harmful edit":       {reason: "the archived text serves, and the edit is held", after: sync("harm"), text: "1", held: "it would delete all", runs: 1},
		"a harmless edit":      {reason: "it takes over once it is previewed", after: sync("2"), text: "2", runs: 1},
		"the first one": {
			reason: "nothing has served before", after: sync("2"),
			serving: func(scripts.RevisionID) scripts.RevisionID { return "" }, text: "2", runs: 1,
		},
		"the first one with children": {
			reason: "something has made them, so that it is reported", after: sync("2"), noBaseline: true,
			serving: func(scripts.RevisionID) scripts.RevisionID { return "" }, text: "2", noBaselineReason: "nothing tells which revision served before", runs: 1,
		},
		"a harmful edit, and nothing can be restored": {
			reason: "nothing serves rather than that", after: sync("harm"), serving: lost, noBaseline: true, runs: 1,
			held: "it would delete all; there was nothing to compare it with: " + nowhere,
		},
		"a harmful edit of the definition": {
			reason: "its tree is new, and another one serves: it was compared with that", after: sync("harm"), noBaseline: true, compared: true,
			serving: func(scripts.RevisionID) scripts.RevisionID { return "" }, held: "it would delete all", runs: 1,
		},
		"a harmless edit, and nothing can be restored": {
			reason: "it takes over, and that is reported", after: sync("2"), serving: lost, noBaseline: true, text: "2", noBaselineReason: nowhere, runs: 1,
		},
		"held before, and nothing can be restored": {
			reason: "rather nothing serves than what was held", after: sync("harm"), heldOnce: true, serving: lost, runs: 1,
			held: "it would delete all; there was nothing to compare it with: " + nowhere,
		},
		"held before, and harmless by itself": {
			reason: "it was held for what only a comparison tells", after: sync("2"), heldOnce: true, serving: lost, runs: 1,
			held: "it was held when the host was restarted; there was nothing to compare it with: " + nowhere,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				w.play(kept("", "one"), sync("1"), pass)
				served := w.tree.State().Loaded
				if c.serving != nil {
					served = c.serving(served)
				}
				spec := kept("", "one")
				if c.heldOnce {
					c.after(w)
					synctest.Wait()
					spec.HeldBefore = w.tree.State().Desired
				}
				w.tree.Close()
				if c.after != nil {
					c.after(w)
				}
				f := &fakePreviewer{noBaseline: c.noBaseline, compared: c.compared}
				spec.Preview = f.preview
				w.restartWith(spec, served)
				pass(w)
				type reported struct {
					Text, Held, NoBaselineReason string
					Runs                         int64
				}
				state := w.tree.State()
				if diff := cmp.Diff(reported{c.text, c.held, c.noBaselineReason, c.runs}, reported{w.text(), state.Held, state.NoBaselineReason, f.runs.Load()}); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
				}
			})
		})
	}
}

// TestArchiveUnreadable starts a process with an edited text while the archive can't be read for what may pass: the text waits for half a minute.
func TestArchiveUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		passes time.Duration
		edit   string
		text   string // after two minutes
		held   string
		steps  []step
	}{
		"it passes":           {reason: "the edit is compared with what served", passes: 10 * time.Second, edit: "harm", text: "1", held: "it would delete all"},
		"it does not pass":    {reason: "a harmless edit takes over", passes: time.Hour, edit: "2", text: "2"},
		"it passes late":      {reason: "what served goes on then", passes: 45 * time.Second, edit: "harm", text: "1", held: "it would delete all"},
		"approved meanwhile":  {reason: "an approval waits for nothing", passes: time.Hour, edit: "harm", text: "harm", steps: []step{ofConfigMaps, approve(false)}},
		"inputs change":       {reason: "that is looked at once", passes: time.Hour, edit: "2", text: "2", steps: []step{func(w *env) { w.tree.SetPreviewInputs("other limits", scripts.Approvals{}) }}},
		"edited meanwhile":    {reason: "the newest text counts", passes: time.Hour, edit: "harm", text: "3", steps: []step{sync("3")}},
		"taken back":          {reason: "what served needs no preview", passes: time.Hour, edit: "harm", text: "1", steps: []step{sync("1")}},
		"does not load, then": {reason: "it is no reason to forget what served", passes: 10 * time.Second, edit: "harm", text: "1", steps: []step{sync("bad")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				w.play(kept("", "one"), sync("1"), pass)
				served := w.tree.State().Loaded
				w.tree.Close()
				sync(c.edit)(w)
				began := time.Now()
				w.client.PrependReactor("get", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) {
					return time.Since(began) < c.passes, nil, errBoom
				})
				spec, f := kept("", "one"), &fakePreviewer{noBaseline: true}
				spec.Preview = f.preview
				w.restartWith(spec, served)
				state := w.tree.State()
				if w.text() != "" || f.runs.Load() > 0 || state.Previewing == "" || state.NotRestored != "boom: it is tried again, at least every 1m0s" {
					t.Fatalf("%s: at the start %q serves, after %d previews, and it is reported that %q", c.reason, w.text(), f.runs.Load(), state.NotRestored)
				}
				for _, do := range c.steps {
					do(w)
					synctest.Wait()
				}
				<-time.After(2 * time.Minute)
				synctest.Wait()
				if got := w.tree.State(); w.text() != c.text || got.Held != c.held {
					t.Errorf("%s: %q serves, held %q; want %q, %q", c.reason, w.text(), got.Held, c.text, c.held)
				}
			})
		})
	}
}

// TestPreviewSuspended suspends a tree in the middle of a preview, which then counts for nothing.
func TestPreviewSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, spec, f := newEnv(t), kept("", "one"), &fakePreviewer{}
		spec.Preview = func(ctx context.Context, r *scripts.Revision) scripts.Preview {
			if f.runs.Load() == 1 {
				f.runs.Add(1)
				<-ctx.Done()
				return scripts.Preview{}
			}
			return f.preview(ctx, r)
		}
		w.play(spec, sync("1"), sync("harm"), func(w *env) { w.tree.Suspend(true) }, func(w *env) { w.tree.Suspend(false) })
		if got := w.tree.State(); w.text() != "1" || got.Held != "it would delete all" {
			t.Errorf("after its preview was cut short %q serves, held %q", w.text(), got.Held)
		}
	})
}
