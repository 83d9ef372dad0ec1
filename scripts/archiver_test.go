package scripts_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/scripts"
)

// TestArchivedWhileOthersWait makes edits while the archive can't be written. Those that are in use are archived once it can, whatever came after
// them, also if another tree of the definition has taken over.
func TestArchivedWhileOthersWait(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		used    []int // of the edits
		another bool
		late    bool // the first one can be written after the others
		want    int
	}{
		"none in use":              {reason: "only the newest of a burst is archived", want: 1},
		"the first":                {reason: "it may be the stable one of a rollout", used: []int{0}, want: 2},
		"the first, later":         {reason: "it keeps no other from the archive", used: []int{0}, late: true, want: 2},
		"two":                      {reason: "both of a rollout are archived", used: []int{0, 2}, want: 3},
		"two, and a newer spec":    {reason: "its tree archives what the former one has not", used: []int{0, 2}, another: true, want: 3},
		"the newest is one of two": {reason: "it is archived once", used: []int{0, 4}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				var allowed atomic.Bool
				refused := atomic.Pointer[string]{}
				refused.Store(new(string))
				w.client.PrependReactor("create", "controllerrevisions", func(action clienttesting.Action) (bool, runtime.Object, error) {
					made := action.(clienttesting.CreateAction).GetObject().(*appsv1.ControllerRevision)
					return !allowed.Load() || made.Name == *refused.Load(), nil, errBoom
				})
				used := atomic.Pointer[[]scripts.RevisionID]{}
				used.Store(&[]scripts.RevisionID{})
				spec := kept("", "one")
				spec.Retained = func() []scripts.RevisionID { return *used.Load() }
				w.play(spec)
				var ids []scripts.RevisionID
				for n, text := range []string{"0", "1", "2", "3", "4"} {
					sync(text)(w)
					synctest.Wait()
					ids = append(ids, w.tree.Current().ID)
					for _, at := range c.used {
						if at == n {
							all := append([]scripts.RevisionID{ids[n]}, *used.Load()...)
							used.Store(&all)
						}
					}
				}
				newest, first := ids[4], ids[0]
				if w.tree.IsArchived(newest, first) {
					t.Errorf("%s: nothing can be written, and both are reported as archived", c.reason)
				}
				if c.another {
					next := w.open(spec)
					w.tree.Close()
					w.tree = next
				}
				if c.late {
					refused.Store(new("composite-c-" + first.Short()))
				}
				allowed.Store(true)
				<-time.After(2 * time.Minute)
				if c.late && (w.tree.IsArchived(newest, first) || !w.tree.IsArchived(newest, ids[1])) {
					t.Errorf("%s: the first one alone waits", c.reason)
				}
				refused.Store(new(string))
				<-time.After(2 * time.Minute)
				synctest.Wait()
				if !w.tree.IsArchived(newest, first) {
					t.Errorf("%s: they are reported as not archived", c.reason)
				}
				got := w.revisions()
				if diff := cmp.Diff(c.want, len(got)); diff != "" {
					t.Errorf("%s: archived: -want, +got:\n%s\n%v", c.reason, diff, got)
				}
				for _, at := range append([]int{4}, c.used...) {
					if got["composite-c-"+ids[at].Short()] == "" {
						t.Errorf("%s: edit %d is not archived", c.reason, at)
					}
				}
			})
		})
	}
}

// TestNothingToRestore starts a process with the text that served: what is archived is not what serves, and is read once, to see that it is whole.
func TestNothingToRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(kept("", "one"), sync("1"), pass)
		reads, spec := w.requests("get"), kept("", "one")
		spec.Preview = (&fakePreviewer{}).preview
		spec.Retained = func() []scripts.RevisionID { return []scripts.RevisionID{w.tree.State().Loaded} }
		w.restart(spec)
		pass(w)
		if state := w.tree.State(); state.RestoredFrom != "" || w.text() != "1" || w.requests("get")-reads != 1 {
			t.Errorf("%q serves, restored from %q, after %d reads; want 1, from nowhere, after one", w.text(), state.RestoredFrom, w.requests("get")-reads)
		}
	})
}
