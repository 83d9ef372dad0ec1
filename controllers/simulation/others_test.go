package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
)

// withObjects returns a session with objects besides the parent.
func withObjects(t *testing.T, objects ...string) *Session {
	t.Helper()
	boxes, err := memcluster.Custom("example.com/v1", "Box", "boxes", true, true)
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := memcluster.Custom("example.com/v1", "Leaf", "leaves", true, true)
	if err != nil {
		t.Fatal(err)
	}
	all := []*unstructured.Unstructured{object(t, parentBox)}
	for _, text := range objects {
		all = append(all, object(t, text))
	}
	s, err := Run(t.Context(), Input{
		Definition: object(t, composite), Objects: all, Resources: []memcluster.Resource{boxes, leaves},
		Programs: map[string]engines.Program{"sync": program{}}, Clock: testclock.NewFakeClock(time.Unix(0, 0)), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// runOthers returns the names of the objects that other controllers change.
func runOthers(t *testing.T, s *Session, isReady func(*unstructured.Unstructured) bool) []string {
	t.Helper()
	others, err := s.RunOthers(t.Context(), isReady)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, o := range others.Changed {
		names = append(names, o.GetKind()+" "+o.GetName())
	}
	slices.Sort(names)
	return names
}

func everything(*unstructured.Unstructured) bool { return true }

func TestReadyObjects(t *testing.T) {
	s := withObjects(t,
		`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: held}, spec: {containers: [{name: a, image: b}]}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`,
		`{apiVersion: example.com/v1, kind: Leaf, metadata: {name: l}}`,
	)
	isReady := func(o *unstructured.Unstructured) bool { return o.GetName() != "held" }
	if diff := cmp.Diff([]string{"Leaf l", "Pod a"}, runOthers(t, s, isReady)); diff != "" {
		t.Errorf("ready become what has a status and is selected, and no parents: -want +got:\n%s", diff)
	}
	for _, o := range s.Cluster().Objects() {
		if status := readiness.Of(o); o.GetKind() == "Pod" && (status.State == readiness.Ready) != (o.GetName() == "a") {
			t.Errorf("Pod %s is %v", o.GetName(), status)
		}
	}
	if again := runOthers(t, s, isReady); len(again) > 0 {
		t.Errorf("what is ready is written again: %v", again)
	}
}

func TestGarbage(t *testing.T) {
	owned := func(name, owner string) string {
		return strings.NewReplacer("NAME", name, "OWNER", owner).Replace(
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: OWNER}]}}`)
	}
	cases := map[string]struct {
		reason string
		policy metav1.DeletionPropagation
		// first and second are what is changed by the first call, and by those after it.
		first, second []string
		left          []string
	}{
		"Background": {
			reason: "Objects go after their owners, one generation in each call, and those of strangers stay.", policy: metav1.DeletePropagationBackground,
			first: []string{"ConfigMap child"}, second: []string{"ConfigMap grandchild"}, left: []string{"stranger"},
		},
		"Foreground": {
			reason: "The owner goes after its dependents.", policy: metav1.DeletePropagationForeground,
			first: []string{"ConfigMap child"}, second: []string{"ConfigMap grandchild", "ConfigMap owner"}, left: []string{"stranger"},
		},
		"Orphan": {
			reason: "Dependents lose their owner.", policy: metav1.DeletePropagationOrphan,
			first: []string{"ConfigMap child", "ConfigMap owner"}, second: []string{}, left: []string{"child", "grandchild", "stranger"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := withObjects(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}`, owned("child", "configmap.default.owner"),
				owned("grandchild", "configmap.default.child"), owned("stranger", "never-seen"))
			if first := runOthers(t, s, everything); len(first) > 0 {
				t.Fatalf("changed %v before anything is deleted", first)
			}
			err := s.Edit(t.Context(), func(client dynamic.Interface) error {
				at, err := s.Cluster().Endpoint(client, object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, namespace: default}}`))
				if err != nil {
					return err
				}
				return at.Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &tc.policy})
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.first, runOthers(t, s, everything)); diff != "" {
				t.Errorf("%s At first: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.second, runOthers(t, s, everything)); diff != "" {
				t.Errorf("%s Then: -want +got:\n%s", tc.reason, diff)
			}
			if more := runOthers(t, s, everything); len(more) > 0 {
				t.Errorf("%s In the end: %v", tc.reason, more)
			}
			var left []string
			for _, o := range s.Cluster().Objects() {
				if o.GetKind() == "ConfigMap" {
					left = append(left, o.GetName())
				}
			}
			if diff := cmp.Diff(tc.left, left); diff != "" {
				t.Errorf("%s left: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
