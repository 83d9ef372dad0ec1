package scripts_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// settleTime is that of the specs in these tests.
const settleTime = time.Second

// moment is a part of settleTime.
const moment = 400 * time.Millisecond

// previewByText holds what begins with harm, and destroys something with what begins with trim.
func previewByText(ctx context.Context, r *scripts.Revision) scripts.Preview {
	response, err := r.Programs["sync"].Run(ctx, engines.Call{})
	if err != nil {
		panic(err)
	}
	text := response.Body.(string)
	if strings.HasPrefix(text, "harm") {
		return scripts.Preview{Held: "it would delete all"}
	}
	return scripts.Preview{Destroys: strings.HasPrefix(text, "trim")}
}

func suspend(w *env) { w.tree.Suspend(true) }

// TestSettling edits a text while the spec may change as well, and the spec while the text may.
func TestSettling(t *testing.T) {
	type want struct {
		Text    string // of the sync hook that serves
		Held    bool
		Message string // of the problems
	}
	const bad = "ConfigMap a/one: sync.fake:1:4: bad"
	for name, c := range map[string]struct {
		reason string
		await  bool // The spec has changed, and serves no text yet.
		steps  []step
		want   want
	}{
		"harmless":                    {reason: "an edit that does no harm is not delayed", steps: []step{sync("1"), sync("2")}, want: want{Text: "2"}},
		"the first one":               {reason: "nor is the first text", steps: []step{sync("1")}, want: want{Text: "1"}},
		"harm":                        {reason: "the spec may change at once", steps: []step{sync("1"), sync("harm"), wait(moment)}, want: want{Text: "1"}},
		"harm that stays":             {reason: "it did not", steps: []step{sync("1"), sync("harm"), wait(settleTime)}, want: want{Text: "1", Held: true}},
		"trimmed":                     {reason: "what deletes a child waits as well", steps: []step{sync("1"), sync("trim"), wait(moment)}, want: want{Text: "1"}},
		"trimmed, and that stays":     {reason: "and then takes over", steps: []step{sync("1"), sync("trim"), wait(settleTime)}, want: want{Text: "trim"}},
		"does not load":               {reason: "that is not reported at once either", steps: []step{sync("1"), sync("bad"), wait(moment)}, want: want{Text: "1"}},
		"does not load for long":      {reason: "but in the end", steps: []step{sync("1"), sync("bad"), wait(settleTime)}, want: want{Text: "1", Message: bad}},
		"a first one that is bad":     {reason: "a ConfigMap may be about to follow", steps: []step{sync("bad"), wait(moment)}},
		"a first one that stays bad":  {reason: "it did not", steps: []step{sync("bad"), wait(settleTime)}, want: want{Message: bad}},
		"bad and mended":              {reason: "nothing is reported of the moment", steps: []step{sync("1"), sync("bad"), wait(moment), sync("2")}, want: want{Text: "2"}},
		"bad in one way, then others": {reason: "edits without a pause delay no longer", steps: []step{sync("1"), sync("harm"), wait(moment), sync("bad one"), wait(moment), sync("bad"), wait(moment)}, want: want{Text: "1", Message: bad}},
		"bad again": {
			reason: "another edit has a time of its own", want: want{Text: "1", Message: bad + " 1"},
			steps: []step{sync("1"), sync("bad 1"), wait(settleTime), sync("bad 2"), wait(moment)},
		},
		"a new spec": {reason: "the text may change at once", await: true, steps: []step{wait(moment)}},
		"a new spec alone": {
			reason: "it did not", await: true, steps: []step{wait(settleTime)}, want: want{Text: "0"},
		},
		"a new spec and its text": {reason: "there is no more to wait for", await: true, steps: []step{wait(moment), sync("1")}, want: want{Text: "1"}},
		"a new spec and a text that does harm": {
			reason: "the spec may be corrected", await: true, steps: []step{wait(moment), sync("harm"), wait(moment)},
		},
		"a touch of the ConfigMap": {reason: "that is no edit", await: true, steps: []step{label, wait(moment)}},
		"suspended": {
			reason: "a newer spec waits for the text", steps: []step{sync("1"), suspend, sync("2"), wait(time.Hour)}, want: want{Text: "1"},
		},
		"suspended while it waits": {
			reason: "nothing is reported of what the newer spec is to load", steps: []step{sync("1"), sync("harm"), suspend, wait(time.Hour)}, want: want{Text: "1"},
		},
		"no longer suspended": {
			reason: "there is no newer spec any more", want: want{Text: "2"},
			steps: []step{sync("1"), suspend, sync("2"), func(w *env) { w.tree.Suspend(false) }},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, spec := newEnv(t), from("one")
				spec.Preview, spec.SettleTime, spec.AwaitEdit = previewByText, settleTime, c.await
				if c.await {
					sync("0")(w)
				}
				w.play(spec, c.steps...)
				state := w.tree.State()
				if diff := cmp.Diff(c.want, want{w.text(), state.Held != "", state.Message()}); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
				}
			})
		})
	}
}

// TestSettlingCost compiles and previews a text once, however long it waits.
func TestSettlingCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakePreviewer{}
		w, spec := newEnv(t), from("one")
		sync("1")(w)
		spec.Preview, spec.SettleTime, spec.AwaitEdit = f.preview, settleTime, true
		w.play(spec, label, wait(settleTime))
		if w.text() != "1" || w.engine.compiled.Load() != 1 || f.runs.Load() != 1 {
			t.Errorf("%q serves after %d compilations and %d previews, want one of each", w.text(), w.engine.compiled.Load(), f.runs.Load())
		}
	})
}

// TestSettlingAfterRestart tells at once what does not load when a process starts, and restores what served.
func TestSettlingAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(kept("", "one"), sync("1"), pass)
		served := w.tree.State().Loaded
		w.tree.Close()
		sync("bad")(w)
		spec := kept("", "one")
		spec.SettleTime = settleTime
		w.restartWith(spec, served)
		if state := w.tree.State(); w.text() != "1" || len(state.Problems) != 1 {
			t.Errorf("%q serves with %d problems, want what was archived, and why", w.text(), len(state.Problems))
		}
	})
}

// TestEditedSince knows edits of the text, and nothing else.
func TestEditedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		began := time.Now()
		w.play(from("one"), sync("1"), wait(moment), label)
		if !w.tree.EditedSince(began.Add(-moment)) || w.tree.EditedSince(began.Add(moment/2)) {
			t.Error("want the text edited when it was, and not by a label")
		}
	})
}
