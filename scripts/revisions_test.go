package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// inline returns an archived spec with one inline script, and parameters that a fake program does not read.
func inline(text string, parameters any) scripts.Spec {
	spec := kept("")
	spec.Hooks = map[string]scripts.Hook{"sync": {Inline: text, Engine: "Fake", Parameters: parameters}}
	return spec
}

// textOf returns what the sync hook of a revision was compiled from.
func textOf(t *testing.T, r *scripts.Revision) string {
	t.Helper()
	response, err := r.Programs["sync"].Run(context.Background(), engines.Call{})
	if err != nil {
		t.Fatal(err)
	}
	return response.Body.(string)
}

// edited makes n edits, and returns the IDs by the text.
func edited(w *env, n int) map[string]scripts.RevisionID {
	ids := map[string]scripts.RevisionID{}
	for i := range n {
		text := fmt.Sprint(i)
		sync(text)(w)
		pass(w)
		ids[text] = w.tree.Current().ID
	}
	return ids
}

// TestRevision asks for revisions after twelve edits: some are in memory, others in the archive, and the first is in neither.
func TestRevision(t *testing.T) {
	unknown := scripts.RevisionID(strings.Repeat("ab", 32))
	cases := map[string]struct {
		reason   string
		id       func(map[string]scripts.RevisionID) scripts.RevisionID
		do       step
		restart  bool
		requests bool
		want     string // the text, or the error after the revision was loaded
	}{
		"Serves":   {reason: "what serves is in memory", id: of("11"), want: "11"},
		"Former":   {reason: "so is what served before, for a rollback", id: of("10"), want: "10"},
		"Retained": {reason: "so is what is in use, however old", id: of("5"), want: "5"},
		"Short":    {reason: "people write 16 digits", id: shortOf("10"), want: "10"},
		"Archived": {reason: "what is neither is loaded", id: of("7"), requests: true, want: "7"},
		"ArchivedShort": {
			reason: "under its first digits too", id: shortOf("7"), requests: true, want: "7",
		},
		"Restarted":     {reason: "a process that has just begun has nothing in memory", id: of("10"), restart: true, requests: true, want: "10"},
		"RetainedByAll": {reason: "the archive keeps what is in use", id: of("0"), restart: true, requests: true, want: "0"},
		"Pruned":        {reason: "what was deleted is reported", id: of("1"), requests: true, want: "no such revision is kept: no ControllerRevision a/composite-c-"},
		"Unknown":       {reason: "so is what never was", id: func(map[string]scripts.RevisionID) scripts.RevisionID { return unknown }, requests: true, want: "revision abababababababab can't be had: no such revision is kept"},
		"NoID":          {reason: "a mistyped ID is no request", id: func(map[string]scripts.RevisionID) scripts.RevisionID { return "latest" }, want: `revision "latest": an ID has 64 hexadecimal digits`},
		"OtherDigits": {
			reason: "the digits in the name are not the revision", requests: true,
			id: func(ids map[string]scripts.RevisionID) scripts.RevisionID {
				return scripts.RevisionID(ids["7"].Short() + strings.Repeat("0", 48))
			},
			want: "has other files, or the hooks had other settings then",
		},
		"Unavailable": {reason: "a request that fails is reported", id: of("7"), do: failOnce("get"), requests: true, want: "boom: it is tried again after 1m0s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				var retained []scripts.RevisionID
				spec := kept("", "one")
				spec.Retained = func() []scripts.RevisionID { return retained }
				w.play(spec, sync("0"), pass)
				retained = append(retained, w.tree.Current().ID)
				ids := map[string]scripts.RevisionID{}
				for i := range 12 {
					text := fmt.Sprint(i)
					sync(text)(w)
					pass(w)
					ids[text] = w.tree.Current().ID
					if text == "5" {
						retained = append(retained, ids[text])
					}
				}
				if tc.restart {
					w.restart(spec)
				}
				if tc.do != nil {
					tc.do(w)
				}
				w.client.ClearActions()
				id := tc.id(ids)
				r, err := w.tree.Revision(id)
				if loads := errors.Is(err, scripts.ErrLoading); loads != tc.requests {
					t.Fatalf("%s: loaded %t, error %v", tc.reason, loads, err)
				}
				if tc.requests {
					another(w)
					r, err = w.tree.Revision(id)
				}
				synctest.Wait()
				if n := w.requests("get"); n > 1 || (n == 1) != tc.requests {
					t.Errorf("%s: %d requests", tc.reason, n)
				}
				if got := fmt.Sprint(err); err != nil && !strings.Contains(got, tc.want) || err == nil && textOf(t, r) != tc.want {
					t.Errorf("%s: revision %v, error %v, want %q", tc.reason, r, err, tc.want)
				}
			})
		})
	}
}

func of(text string) func(map[string]scripts.RevisionID) scripts.RevisionID {
	return func(ids map[string]scripts.RevisionID) scripts.RevisionID { return ids[text] }
}

func shortOf(text string) func(map[string]scripts.RevisionID) scripts.RevisionID {
	return func(ids map[string]scripts.RevisionID) scripts.RevisionID {
		return scripts.RevisionID(ids[text].Short())
	}
}

// TestRevisionRetried asks again for a revision that could not be loaded: after a while it can, and the error stays until then.
func TestRevisionRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(kept("", "one"))
		ids := edited(w, 6)
		failOnce("get")(w)
		if _, err := w.tree.Revision(ids["0"]); !errors.Is(err, scripts.ErrLoading) {
			t.Fatalf("error %v, want %v", err, scripts.ErrLoading)
		}
		another(w)
		_, first := w.tree.Revision(ids["0"])
		synctest.Wait()
		<-time.After(2 * time.Minute)
		_, second := w.tree.Revision(ids["0"])
		if first == nil || second == nil || first.Error() != second.Error() {
			t.Errorf("the error was %v, and is %v while it is tried again", first, second)
		}
		another(w)
		if r, err := w.tree.Revision(ids["0"]); err != nil || textOf(t, r) != "0" {
			t.Errorf("after a while: revision %v, error %v", r, err)
		}
	})
}

// TestRevisionsInMemory counts what stays in memory: what serves, what is retained, and two more.
func TestRevisionsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(kept("", "one"))
		ids := edited(w, 6)
		w.client.ClearActions()
		var inMemory []string
		for _, text := range []string{"5", "4", "3", "2", "1", "0"} {
			if _, err := w.tree.Revision(ids[text]); err == nil {
				inMemory = append(inMemory, text)
			}
			synctest.Wait() // One is loaded after the other.
		}
		if diff := cmp.Diff([]string{"5", "4", "3"}, inMemory); diff != "" {
			t.Errorf("in memory: -want, +got:\n%s", diff)
		}
		for _, text := range []string{"5", "1", "0"} {
			if r, err := w.tree.Revision(ids[text]); err != nil || textOf(t, r) != text {
				t.Errorf("%s is not in memory after it was loaded, or what serves is not: %v", text, err)
			}
		}
	})
}

// TestRevisionOfAnEditedDefinition hands the revision that serves over to the tree of an edited definition, without a request.
func TestRevisionOfAnEditedDefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(inline("1", map[string]any{"replicas": 1}), pass)
		former := w.tree.Current()
		next := w.open(inline("2", map[string]any{"replicas": 2}))
		w.tree.Close()
		w.tree = next
		pass(w)
		w.client.ClearActions()
		r, err := next.Revision(former.ID)
		if err != nil || r != former || w.text() != "2" || w.requests("get") > 0 {
			t.Errorf("revision %v, error %v, %d requests; %q serves", r, err, w.requests("get"), w.text())
		}
	})
}

// TestRestoreInline restarts a host after an edit of what the definition says of its hooks: what served is there, to compare the edit with.
func TestRestoreInline(t *testing.T) {
	cases := map[string]struct {
		reason string
		edited scripts.Spec
	}{
		"Text":       {"another text", inline("2", map[string]any{"replicas": 1.5})},
		"Broken":     {"a text that does not load", inline("bad", map[string]any{"replicas": 1.5})},
		"Parameters": {"other parameters", inline("1", map[string]any{"replicas": 2})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				w.play(inline("1", map[string]any{"replicas": 1.5, "text": "<&>"}), pass)
				served := w.tree.Current().ID
				previewed := 0
				tc.edited.Preview = func(context.Context, *scripts.Revision) scripts.Preview {
					previewed++
					return scripts.Preview{Held: "would delete all"}
				}
				w.restartWith(tc.edited, served)
				state := w.tree.State()
				if w.text() != "1" || state.Loaded != served || (previewed == 1) != (name != "Broken") || state.RestoredFrom == "" {
					t.Errorf("%s: %q serves, %+v, %d previews", tc.reason, w.text(), state, previewed)
				}
			})
		})
	}
}
