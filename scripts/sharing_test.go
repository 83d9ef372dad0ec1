package scripts_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// openWatches keeps the field selectors of the watches that are open.
type openWatches struct {
	watch.Interface
	selector string
	open     *[]string
}

func (o openWatches) Stop() {
	*o.open = slices.DeleteFunc(*o.open, func(s string) bool { return s == o.selector })
	o.Interface.Stop()
}

// countWatches makes a list of the watches that are open on the API server.
func countWatches(w *env) *[]string {
	open := &[]string{}
	w.client.PrependWatchReactor("configmaps", func(action clienttesting.Action) (bool, watch.Interface, error) {
		request := action.(clienttesting.WatchActionImpl)
		stream, err := w.client.Tracker().Watch(request.GetResource(), request.GetNamespace(), request.ListOptions)
		selector := request.GetNamespace() + " " + request.ListOptions.FieldSelector
		*open = append(*open, selector)
		return true, openWatches{stream, selector, open}, err
	})
	return open
}

func TestOneWatchForEachConfigMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		open := countWatches(w)
		expect := func(reason string, want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, slices.Sorted(slices.Values(*open))); diff != "" {
				t.Errorf("%s: open watches: -want, +got:\n%s", reason, diff)
			}
		}
		first, second := w.open(from("one")), w.open(from("two", "one"))
		expect("each ConfigMap is watched once, by its name", "a metadata.name=one", "a metadata.name=two")
		second.Close()
		expect("a watch ends with the last tree that names it", "a metadata.name=one")
		sync("1")(w)
		expect("a tree goes on when another one closes", "a metadata.name=one")
		if first.Current() == nil {
			t.Error("a tree goes on when another one closes: nothing loaded")
		}
		first.Close()
		first.Close()
		expect("no tree, no watch")
	})
}

func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(from("one"), sync("1"), func(w *env) { w.tree.Close() }, sync("2"))
		if diff := cmp.Diff("1", w.text()); diff != "" {
			t.Errorf("a closed tree keeps what it had: -want, +got:\n%s", diff)
		}
		if diff := cmp.Diff(2, len(w.changes)); diff != "" {
			t.Errorf("a closed tree tells of no change: -want, +got:\n%s", diff)
		}
	})
}

func TestRevisionIdentity(t *testing.T) {
	base := scripts.Hook{Path: "sync.fake", Parameters: map[string]any{"a": int64(1)}}
	cases := map[string]struct {
		reason string
		edit   func(*scripts.Spec)
		data   map[string]string
		same   bool
		// foreign is set if the revision is the same, and the programs are not.
		foreign bool
	}{
		"Same": {
			reason: "definitions with equal files and hooks share a revision",
			data:   map[string]string{"sync.fake": "1", "lib": "x"}, same: true,
		},
		"Namespace": {
			reason: "the same text is the same revision in another namespace, and runs apart",
			edit:   func(s *scripts.Spec) { s.Sources[0].ConfigMap.Namespace = "b" },
			data:   map[string]string{"sync.fake": "1", "lib": "x"}, same: true, foreign: true,
		},
		"Content": {
			reason: "another content is another revision, even of a file that no hook names",
			data:   map[string]string{"sync.fake": "1", "lib": "y"},
		},
		"Path": {
			reason: "another path is another revision",
			data:   map[string]string{"sync.fake": "1", "libx": ""},
		},
		"Function": {
			reason: "another function is another program",
			edit:   func(s *scripts.Spec) { h := base; h.Function = "other"; s.Hooks = map[string]scripts.Hook{"sync": h} },
			data:   map[string]string{"sync.fake": "1", "lib": "x"},
		},
		"Signature": {
			reason: "another signature is another program",
			edit: func(s *scripts.Spec) {
				h := base
				h.Signature = engines.HTTPContext
				s.Hooks = map[string]scripts.Hook{"sync": h}
			},
			data: map[string]string{"sync.fake": "1", "lib": "x"},
		},
		"Parameters": {
			reason: "other parameters may give another answer",
			edit:   func(s *scripts.Spec) { h := base; h.Parameters = nil; s.Hooks = map[string]scripts.Hook{"sync": h} },
			data:   map[string]string{"sync.fake": "1", "lib": "x"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				put("one", map[string]string{"sync.fake": "1", "lib": "x"})(w)
				put("two", tc.data)(w)
				putIn("b", "two", tc.data)(w)
				one, two := from("one"), from("two")
				one.Hooks = map[string]scripts.Hook{"sync": base}
				two.Hooks = one.Hooks
				if tc.edit != nil {
					tc.edit(&two)
				}
				first, second := w.open(one).Current(), w.open(two).Current()
				if same := first.ID == second.ID; same != tc.same {
					t.Errorf("%s: IDs %s and %s", tc.reason, first.ID, second.ID)
				}
				if shared := first == second; shared != (tc.same && !tc.foreign) {
					t.Errorf("%s: programs shared: %v", tc.reason, shared)
				}
			})
		})
	}
}
