package archive

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

// idOf returns an ID with the digits of n in the name of its ControllerRevision.
func idOf(n int) string { return fmt.Sprintf("%016x%048d", n, n) }

var present = map[string]string{"sync.js": "present"}

// stored returns a ControllerRevision as a History or a forger creates it. Later ones are younger.
func stored(n int, number, files string, edit ...func(*appsv1.ControllerRevision)) *appsv1.ControllerRevision {
	place := location()
	object := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: place.Namespace, Name: place.Name(idOf(n)), UID: types.UID(fmt.Sprint("u", n)), Labels: place.labels(),
			OwnerReferences: []metav1.OwnerReference{place.Owner}, CreationTimestamp: metav1.NewTime(time.Unix(int64(n), 0)),
			Annotations: map[string]string{numberAnnotation: number},
		},
		Data: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"files":{"sync.js":%q}}`, files)},
	}
	for _, f := range edit {
		f(object)
	}
	return object
}

func location() Location {
	return Location{Namespace: "a", Owner: metav1.OwnerReference{
		APIVersion: "metacontroller.k8s.io/v1alpha1", Kind: "CompositeController", Name: "c", UID: "d", Controller: new(true),
	}}
}

// newHistory returns a History on a cluster with objects. Those of them that are hidden are not listed.
func newHistory(t *testing.T, objects []*appsv1.ControllerRevision, hidden ...*appsv1.ControllerRevision) (*History, *fake.Clientset) {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var all []runtime.Object
	for _, object := range slices.Concat(objects, hidden) {
		all = append(all, object)
	}
	client := fake.NewClientset(all...)
	made := int64(1000)
	client.PrependReactor("create", "controllerrevisions", func(action clienttesting.Action) (bool, runtime.Object, error) {
		made++
		action.(clienttesting.CreateAction).GetObject().(*appsv1.ControllerRevision).CreationTimestamp = metav1.NewTime(time.Unix(made, 0))
		return false, nil, nil
	})
	lists := metadatafake.NewSimpleMetadataClient(scheme)
	lists.PrependReactor("list", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) {
		list, err := metadataOf(client, hidden)
		return true, list, err
	})
	return &History{Location: location(), Client: client, Metadata: lists, Log: logr.Discard()}, client
}

// metadataOf lists what a cluster has now, without the hidden.
func metadataOf(client *fake.Clientset, hidden []*appsv1.ControllerRevision) (*metav1.List, error) {
	version := appsv1.SchemeGroupVersion
	found, err := client.Tracker().List(version.WithResource("controllerrevisions"), version.WithKind("ControllerRevision"), "a")
	if err != nil {
		return nil, err
	}
	list := &metav1.List{}
	for _, object := range found.(*appsv1.ControllerRevisionList).Items {
		if slices.ContainsFunc(hidden, func(o *appsv1.ControllerRevision) bool { return o.Name == object.Name }) {
			continue
		}
		list.Items = append(list.Items, runtime.RawExtension{Object: &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"}, ObjectMeta: object.ObjectMeta,
		}})
	}
	return list, nil
}

// contents returns the numbers and files of what is archived, by the n of idOf.
func contents(t *testing.T, client *fake.Clientset) map[string]string {
	t.Helper()
	list, err := client.AppsV1().ControllerRevisions("a").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, item := range list.Items {
		archived, err := decode(item.Data.Raw)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimLeft(strings.TrimPrefix(item.Name, "composite-c-"), "0")] = item.Annotations[numberAnnotation] + " " + archived.Files["sync.js"]
	}
	return found
}

// TestKeepNumbers checks the number of the next revision, whatever numbers others have written.
func TestKeepNumbers(t *testing.T) {
	cases := map[string]struct {
		reason, forged, want string
	}{
		"None":     {"the next number follows", "", "3"},
		"High":     {"a higher number moves the count on", "7", "8"},
		"Overflow": {"the highest of all does not end the history", "9223372036854775807", "3"},
		"Negative": {"nor does a negative one", "-9223372036854775808", "3"},
		"Beyond":   {"nor the first that does not count", "9007199254740993", "3"},
		"Limit":    {"nor the last that does", "9007199254740992", "9007199254740992"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := []*appsv1.ControllerRevision{stored(1, "1", "one"), stored(2, "2", "two")}
			if tc.forged != "" {
				objects = append(objects, stored(3, tc.forged, "forged"))
			}
			h, client := newHistory(t, objects)
			if err := h.Save(t.Context(), idOf(4), Revision{Files: present}); err != nil {
				t.Fatal(err)
			}
			if got := contents(t, client)["4"]; got != tc.want+" present" {
				t.Errorf("%s: kept as %q, want number %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestKeepGoesOn edits many times after numbers were forged: the newest revisions are kept, and forged ones go.
func TestKeepGoesOn(t *testing.T) {
	for name, forged := range map[string]string{"Overflow": "9223372036854775807", "Limit": "9007199254740992"} {
		t.Run(name, func(t *testing.T) {
			h, client := newHistory(t, []*appsv1.ControllerRevision{stored(1, "1", "one"), stored(2, forged, "forged")})
			var want []string
			for n := range 3 * Limit {
				if err := h.Save(t.Context(), idOf(100+n), Revision{Files: map[string]string{"sync.js": fmt.Sprint(n)}}); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprintf("%x", 100+n))
			}
			want = want[len(want)-Limit:]
			slices.Sort(want)
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(contents(t, client)))); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestKeepReadsWhatIsThere checks how Save handles an object that has the name of a revision already.
func TestKeepReadsWhatIsThere(t *testing.T) {
	foreign := func(r *appsv1.ControllerRevision) { r.OwnerReferences[0].UID = "other" }
	terminating := func(r *appsv1.ControllerRevision) {
		r.Finalizers, r.DeletionTimestamp = []string{"example.com/stay"}, &metav1.Time{Time: time.Unix(5, 0)}
	}
	broken := func(r *appsv1.ControllerRevision) { r.Data.Raw = []byte(`{"files":{"sync.js":1}}`) }
	cases := map[string]struct {
		reason  string
		there   *appsv1.ControllerRevision
		want    string // what is kept
		wantErr string
		writes  int
	}{
		"Same":        {"the same files are not written again", stored(4, "7", "present"), "7 present", "", 0},
		"Forged":      {"other files under the name are replaced", stored(4, "7", "evil"), "3 present", "", 2},
		"Broken":      {"so is what can't be read", stored(4, "7", "", broken), "3 present", "", 2},
		"Terminating": {"what is being deleted is waited for", stored(4, "7", "present", terminating), "7 present", "is being deleted, and waits for its finalizers [\"example.com/stay\"]", 0},
		"Foreign":     {"what is another's is an obstacle", stored(4, "7", "evil", foreign), "7 evil", "belongs to somebody else: delete it", 0},
	}
	for name, tc := range cases {
		for _, listed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/Listed=%v", name, listed), func(t *testing.T) {
				objects, hidden := []*appsv1.ControllerRevision{stored(1, "1", "one"), stored(2, "2", "two")}, []*appsv1.ControllerRevision{tc.there}
				if listed {
					objects, hidden = append(objects, tc.there), nil
				}
				h, client := newHistory(t, objects, hidden...)
				err := h.Save(t.Context(), idOf(4), Revision{Files: present})
				if got := fmt.Sprint(err); tc.wantErr != "" && !strings.Contains(got, tc.wantErr) || tc.wantErr == "" && err != nil {
					t.Errorf("%s: error %v, want %q", tc.reason, err, tc.wantErr)
				}
				if got := contents(t, client)["4"]; got != tc.want {
					t.Errorf("%s: there is %q, want %q", tc.reason, got, tc.want)
				}
				writes := 0
				for _, action := range client.Actions() {
					if verb := action.GetVerb(); verb != "get" && verb != "list" {
						writes++
					}
				}
				if !listed || !h.owns(tc.there) {
					writes-- // The refused creation.
				}
				if writes != tc.writes {
					t.Errorf("%s: %d writes, want %d", tc.reason, writes, tc.writes)
				}
				if tc.wantErr != "" {
					return
				}
				client.ClearActions()
				if err := h.Save(t.Context(), idOf(4), Revision{Files: present}); err != nil || len(client.Actions()) > 0 {
					t.Errorf("%s: the second time costs %d requests, error %v", tc.reason, len(client.Actions()), err)
				}
			})
		}
	}
}

// TestSameDigits checks two revisions whose IDs begin with the same digits: the one that is offered last is kept.
func TestSameDigits(t *testing.T) {
	h, client := newHistory(t, nil)
	for n, text := range []string{"one", "two", "one"} {
		id := idOf(4)[:shortLength] + strings.Repeat(fmt.Sprint(n%2), 48)
		if err := h.Save(t.Context(), id, Revision{Files: map[string]string{"sync.js": text}}); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, client)["4"]; !strings.HasSuffix(got, text) {
			t.Errorf("%q is kept, want %s", got, text)
		}
	}
}
