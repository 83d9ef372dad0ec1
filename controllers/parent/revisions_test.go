package parent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/test/cluster"
)

func revision(name string, children ...any) *unstructured.Unstructured {
	r := parenttest.Object(name)
	r.Object["children"] = children
	return r
}

func TestRevisionChanges(t *testing.T) {
	same := revision("same")
	cases := map[string]struct {
		reason            string
		observed, desired []*unstructured.Unstructured
		want              []string
	}{
		"Nothing": {
			"The observed object itself is no change.", []*unstructured.Unstructured{same}, []*unstructured.Unstructured{same}, nil,
		},
		"Equal": {
			"Nor is an equal one.", []*unstructured.Unstructured{revision("a", "x")}, []*unstructured.Unstructured{revision("a", "x")},
			nil,
		},
		"New": {
			"A new revision is created with its owner.", nil, []*unstructured.Unstructured{revision("a")}, []string{"Create a owned"},
		},
		"Progress": {
			"A changed revision is updated.", []*unstructured.Unstructured{revision("a", "x")},
			[]*unstructured.Unstructured{revision("a", "y")}, []string{"Update a"},
		},
		"Superfluous": {
			"A revision that is not desired is deleted after the other writes.", []*unstructured.Unstructured{revision("old"), same},
			[]*unstructured.Unstructured{same, revision("new")}, []string{"Create new owned", "Delete old"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changes := revisionChanges(tc.observed, tc.desired, metav1.OwnerReference{UID: "p"}, schema.GroupVersionResource{})
			var got []string
			for _, c := range changes {
				text := string(c.Action) + " " + c.Key.Name
				if c.Action == apply.ActionCreate && len(c.Object.GetOwnerReferences()) == 1 {
					text += " owned"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

var revisionResource = discovery.Resource{
	GroupVersionResource: schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "controllerrevisions"},
	Kind:                 schema.GroupVersionKind{Group: "metacontroller.k8s.io", Version: "v1alpha1", Kind: "ControllerRevision"}, Namespaced: true,
}

// ownedRevision returns a ControllerRevision of the parent "p" of a version, with the labels of one or none.
func ownedRevision(version string, labelled bool) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(revisionResource.Kind)
	o.SetNamespace("here")
	o.SetName("r")
	o.SetUID("r-uid")
	o.SetResourceVersion(version)
	isController := true
	o.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Gadget", Name: "p", UID: "p-uid", Controller: &isController},
	})
	if labelled {
		mark := map[string]string{v1alpha1.RevisionGroupLabel: parenttest.Gadgets.Group, v1alpha1.RevisionResourceLabel: parenttest.Gadgets.Resource}
		o.SetLabels(mark)
	}
	return o
}

// TestBlockingRevision checks what is said of a ControllerRevision of the parent that this pass has not observed.
func TestBlockingRevision(t *testing.T) {
	cases := map[string]struct {
		reason       string
		cached, live *unstructured.Unstructured
		passes       bool
	}{
		"NotCached":   {"The cache is late.", nil, ownedRevision("1", true), true},
		"CachedSince": {"The cache was late, and has a good one now.", ownedRevision("1", true), ownedRevision("1", true), true},
		"Labelled":    {"The cache does not show that it has its labels again.", ownedRevision("1", false), ownedRevision("2", true), true},
		"Foreign":     {"One without the labels stays in the way.", ownedRevision("1", false), ownedRevision("1", false), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := passWithRevisions(t, tc.cached)
			why, passes := p.blockingRevision(tc.live)
			if passes != tc.passes || strings.Contains(why, "delete it") == tc.passes {
				t.Errorf("%s\ngot %q, %v", tc.reason, why, passes)
			}
		})
	}
}

// passWithRevisions returns a pass of the parent "p" whose cache of ControllerRevisions has one, or none for nil.
func passWithRevisions(t *testing.T, cached *unstructured.Unstructured) *pass {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{revisionResource.GroupVersionResource: "ControllerRevisionList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	if cached != nil {
		if err := client.Tracker().Add(cached); err != nil {
			t.Fatal(err)
		}
	}
	cache := informer.NewPool(t.Context(), parenttest.WithoutWatchList{Interface: client}, logr.Discard()).Open(revisionResource.GroupVersionResource)
	t.Cleanup(cache.Close)
	cluster.Eventually(t, 20*time.Second, func() error {
		if !cache.HasSynced() {
			return errors.New("the cache is not synced")
		}
		return nil
	})
	parent := parenttest.Gadget("here", nil)
	parent.SetName("p")
	parent.SetUID("p-uid")
	return &pass{parent: parent, source: &sources.Parent{ParentRule: variant.ParentRule{Resource: parenttest.Gadgets}}, shared: &shared{
		sources:  sources.Sources{Revisions: &sources.Child{ChildRule: variant.ChildRule{Resource: revisionResource}, Cache: cache}},
		memories: memories{pendingWrites: writes.NewPending(clocktesting.NewFakeClock(time.Unix(0, 0)))},
	}}
}
