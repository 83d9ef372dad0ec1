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
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

var errBoom = errors.New("boom")

// metadataOf lists the metadata of client's ControllerRevisions.
func metadataOf(t *testing.T, client *fake.Clientset) metadata.Interface {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := metadatafake.NewSimpleMetadataClient(scheme)
	m.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		selector := action.(clienttesting.ListAction).GetListRestrictions().Labels.String()
		list, err := client.AppsV1().ControllerRevisions(action.GetNamespace()).List(context.Background(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return true, nil, err
		}
		found := &metav1.List{}
		for _, item := range list.Items {
			found.Items = append(found.Items, runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: item.ObjectMeta}})
		}
		return true, found, nil
	})
	return m
}

// kept returns from with an archive, beginning with the revision serving.
func kept(serving scripts.RevisionID, names ...string) scripts.Spec {
	spec := from(names...)
	yes := true
	spec.Archive = &archive.Location{Namespace: "a", Owner: metav1.OwnerReference{
		APIVersion: "metacontroller.k8s.io/v1alpha1", Kind: "CompositeController", Name: "c", UID: "uid", Controller: &yes,
	}}
	spec.Serving = serving
	return spec
}

// revisions returns the numbers and contents that are kept, by name.
func (w *env) revisions() map[string]string {
	w.t.Helper()
	list, err := w.client.AppsV1().ControllerRevisions("a").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	found := map[string]string{}
	for _, item := range list.Items {
		found[item.Name] = fmt.Sprintf("%d %s", item.Revision, item.Data.Raw)
	}
	return found
}

// requests counts what has been asked about ControllerRevisions.
func (w *env) requests(verb string) int {
	count := 0
	for _, action := range w.client.Actions() {
		if action.Matches(verb, "controllerrevisions") {
			count++
		}
	}
	return count
}

// restart closes the tree and opens one of spec, which begins with what served.
func (w *env) restart(spec scripts.Spec) {
	w.t.Helper()
	w.restartWith(spec, w.tree.State().Loaded)
}

// restartWith is restart with another revision in the status.
func (w *env) restartWith(spec scripts.Spec, served scripts.RevisionID) {
	w.t.Helper()
	spec.Serving = served
	w.tree.Close()
	w.tree = w.open(spec)
	synctest.Wait()
}

// pass lets time pass.
func pass(w *env) { <-time.After(2 * time.Second); synctest.Wait() }

// hooksOfSync is what is archived of the hooks of from.
const hooksOfSync = `"hooks":{"sync":{"Path":"sync.fake","Inline":"","Engine":"","Function":"","Signature":"","Parameters":null,"MemoryBytes":0}}`

func TestArchived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(kept("", "one"), sync("1"), pass)
		first := w.tree.Current().ID.Short()
		want := map[string]string{"composite-c-" + first: `1 {"files":{"sync.fake":"1"},` + hooksOfSync + `}`}
		if diff := cmp.Diff(want, w.revisions()); diff != "" {
			t.Fatalf("what loads is kept: -want, +got:\n%s", diff)
		}
		w.restart(kept("", "one"))
		sync("bad")(w)
		pass(w)
		label(w)
		pass(w)
		if diff := cmp.Diff(1, w.requests("create")); diff != "" {
			t.Errorf("neither a restart nor what does not load is kept: creations: -want, +got:\n%s", diff)
		}
		for n := range 20 {
			sync(fmt.Sprint("edit ", n))(w)
			pass(w)
		}
		got := w.revisions()
		if len(got) != archive.Limit || got["composite-c-"+w.tree.Current().ID.Short()] != `21 {"files":{"sync.fake":"edit 19"},`+hooksOfSync+`}` {
			t.Errorf("the newest %d are kept, got %d:\n%v", archive.Limit, len(got), got)
		}
		lists := w.requests("list")
		sync("edit 12")(w)
		pass(w)
		if w.requests("create") != 21 || w.requests("list") != lists {
			t.Errorf("what is kept already costs nothing: %d creations, %d lists", w.requests("create"), w.requests("list")-lists)
		}
	})
}

// A burst of edits is no burst of writes, and ends with the last kept.
func TestArchivedAfterBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		w.play(kept("", "one"), sync("0"))
		for n := range 100 {
			sync(fmt.Sprint(n))(w)
			synctest.Wait()
		}
		pass(w)
		if got := w.requests("create"); got > 3 {
			t.Errorf("100 edits at once were kept %d times, want 3 at most", got)
		}
		if w.revisions()["composite-c-"+w.tree.Current().ID.Short()] == "" {
			t.Errorf("the last edit is not kept, only %v", w.revisions())
		}
	})
}

func TestRestore(t *testing.T) {
	const broken = "ConfigMap a/one: sync.fake:1:4: bad"
	edit := func(change func(*appsv1.ControllerRevision)) step {
		return func(w *env) {
			name := "composite-c-" + w.tree.Current().ID.Short()
			found, err := w.client.AppsV1().ControllerRevisions("a").Get(context.Background(), name, metav1.GetOptions{})
			if err != nil {
				w.t.Fatal(err)
			}
			change(found)
			if _, err := w.client.AppsV1().ControllerRevisions("a").Update(context.Background(), found, metav1.UpdateOptions{}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	type want struct{ Text, Message, NoEarlier string }
	cases := map[string]struct {
		reason string
		before []step // while the first process runs "1"
		spec   func(*scripts.Spec)
		served func(scripts.RevisionID) scripts.RevisionID // what the status has; nil is all
		after  []step
		want   want
	}{
		"Broken": {
			reason: "what served goes on after a restart, though the text does not load any more",
			before: []step{sync("bad")},
			want:   want{Text: "1", Message: broken},
		},
		"Deleted": {
			reason: "so it does without the ConfigMap",
			before: []step{remove},
			want:   want{Text: "1", Message: missing},
		},
		"Mended": {
			reason: "an edit that loads takes over",
			before: []step{sync("bad")}, after: []step{sync("2")},
			want: want{Text: "2"},
		},
		"Loads": {
			reason: "a text that loads has no need of it",
			before: []step{sync("2"), pass},
			want:   want{Text: "2"},
		},
		"Forged": {
			reason: "other files than those that served are not believed, whoever wrote them",
			before: []step{sync("bad"), edit(func(r *appsv1.ControllerRevision) {
				r.Data.Raw = []byte(`{"files":{"sync.fake":"evil"},` + hooksOfSync + `}`)
			})},
			want: want{Message: broken, NoEarlier: "no such revision is kept: what is kept of revision ID has other files, or the hooks had other settings then"},
		},
		"ForgedToTheDigits": {
			reason: "files are not believed for the digits in their name: the hash in the status counts in full",
			before: []step{sync("bad")},
			served: func(id scripts.RevisionID) scripts.RevisionID {
				return scripts.RevisionID(id.Short() + strings.Repeat("0", 48))
			},
			want: want{Message: broken, NoEarlier: "no such revision is kept: what is kept of revision ID has other files, or the hooks had other settings then"},
		},
		"Foreign": {
			reason: "what belongs to another definition of that name is not believed",
			before: []step{sync("bad"), edit(func(r *appsv1.ControllerRevision) { r.OwnerReferences[0].UID = "other" })},
			want:   want{Message: broken, NoEarlier: "no such revision is kept: ControllerRevision a/composite-c-ID belongs to somebody else"},
		},
		"OtherHooks": {
			reason: "what served is restored with the settings that the hooks had",
			before: []step{sync("bad")},
			spec: func(s *scripts.Spec) {
				s.Hooks = map[string]scripts.Hook{"sync": {Path: "sync.fake", Function: "other"}}
			},
			want: want{Text: "1", Message: broken},
		},
		"ForgedHooks": {
			reason: "the hash in the status covers the hooks",
			before: []step{sync("bad"), edit(func(r *appsv1.ControllerRevision) {
				r.Data.Raw = []byte(`{"files":{"sync.fake":"1"},` + strings.Replace(hooksOfSync, "null", `{"namespace":"kube-system"}`, 1) + `}`)
			})},
			want: want{Message: broken, NoEarlier: "no such revision is kept: what is kept of revision ID has other files, or the hooks had other settings then"},
		},
		"Gone": {
			reason: "somebody may have deleted it",
			before: []step{sync("bad"), func(w *env) {
				err := w.client.AppsV1().ControllerRevisions("a").Delete(context.Background(), "composite-c-"+w.tree.Current().ID.Short(), metav1.DeleteOptions{})
				if err != nil {
					w.t.Fatal(err)
				}
			}},
			want: want{Message: broken, NoEarlier: "no such revision is kept: no ControllerRevision a/composite-c-ID"},
		},
		"Unavailable": {
			reason: "an API server that does not answer is asked again",
			before: []step{sync("bad"), failOnce("get")}, after: []step{func(w *env) { <-time.After(2 * time.Minute) }},
			want: want{Text: "1", Message: broken},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				w.play(kept("", "one"), sync("1"), pass)
				for _, do := range tc.before {
					do(w)
					synctest.Wait()
				}
				id := w.tree.Current().ID.Short()
				spec := kept("", "one")
				if tc.spec != nil {
					tc.spec(&spec)
				}
				served := w.tree.State().Loaded
				if tc.served != nil {
					served = tc.served(served)
				}
				w.restartWith(spec, served)
				for _, do := range tc.after {
					do(w)
					synctest.Wait()
				}
				state := w.tree.State()
				tc.want.NoEarlier = strings.ReplaceAll(tc.want.NoEarlier, "ID", id)
				if diff := cmp.Diff(tc.want, want{w.text(), state.Message(), state.NotRestored}); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
				}
				if back := tc.want.Text == "1"; back && len(state.Loaded) != 64 {
					t.Errorf("%s: the revision is %q, want the whole hash", tc.reason, state.Loaded)
				} else if back != (state.RestoredFrom == "a/composite-c-"+id) {
					t.Errorf("%s: reported as restored from %q", tc.reason, state.RestoredFrom)
				}
			})
		})
	}
}

// failOnce lets the next request of a verb about ControllerRevisions fail.
func failOnce(verb string) step {
	return func(w *env) {
		failed := false
		w.client.PrependReactor(verb, "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) {
			first := !failed
			failed = true
			return first, nil, errBoom
		})
	}
}

// What was made under the name meanwhile is taken for kept if it is the definition's, and for an obstacle if it is not.
func TestArchivedByAnother(t *testing.T) {
	cases := map[string]struct{ reason, uid, notKept string }{
		"Own":   {reason: "the next spec of the same definition may have been quicker", uid: "uid"},
		"Other": {reason: "what a definition of that name has left goes with it", uid: "old", notKept: "ControllerRevision a/composite-c-ID is there already and belongs to somebody else: delete it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				w.play(kept("", "one"), sync("1"), pass, sync("2"), pass)
				id := w.tree.Current().ID.Short()
				made, err := w.client.AppsV1().ControllerRevisions("a").Get(context.Background(), "composite-c-"+id, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				sync("1")(w)
				if err := w.client.AppsV1().ControllerRevisions("a").Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				w.restart(kept("", "one"))
				pass(w)
				made.OwnerReferences[0].UID = types.UID(tc.uid)
				if _, err := w.client.AppsV1().ControllerRevisions("a").Create(context.Background(), made, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				sync("2")(w)
				pass(w)
				if diff := cmp.Diff(strings.ReplaceAll(tc.notKept, "ID", id), w.tree.State().NotArchived); diff != "" {
					t.Errorf("%s: not kept: -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// That a revision can't be archived is reported while it serves, until it can.
func TestNotArchived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		var allowed atomic.Bool
		w.client.PrependReactor("create", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) {
			return !allowed.Load(), nil, apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, "x", errBoom)
		})
		w.play(kept("", "one"), sync("1"))
		if got := w.tree.State().NotArchived; w.text() != "1" || !strings.Contains(got, "forbidden: boom") {
			t.Fatalf("it serves %q and tells %q, want 1 and why it is not kept", w.text(), got)
		}
		allowed.Store(true)
		<-time.After(time.Minute)
		synctest.Wait()
		if got := w.tree.State().NotArchived; got != "" || len(w.revisions()) != 1 {
			t.Errorf("after the right is given it tells %q and keeps %v", got, w.revisions())
		}
	})
}
