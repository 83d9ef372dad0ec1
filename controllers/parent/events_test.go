package parent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
)

// childChange returns a change of a child, which is named by its kind, its resource, its namespace and its name.
func childChange(kind, resource, namespace, name string) apply.Change {
	return apply.Change{
		Key:      apply.Key{Kind: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: namespace, Name: name},
		Resource: schema.GroupVersionResource{Version: "v1", Resource: resource},
	}
}

// TestDescribeChildren checks what an event says of children.
func TestDescribeChildren(t *testing.T) {
	var pods, kinds []apply.Change
	for i := range 1000 {
		pods = append(pods, childChange("Pod", "pods", "here", fmt.Sprint("p", i)))
	}
	for i := range 7 {
		kinds = append(kinds, childChange(fmt.Sprint("Kind", i), fmt.Sprintf("kind%ds", i), "here", "a"))
	}
	cases := map[string]struct {
		reason   string
		children []apply.Change
		want     string
	}{
		"Few":   {"All are named.", pods[:3], "3 Pods: p0, p1, p2"},
		"Many":  {"A long list is cut.", pods, "1000 Pods: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 and 990 more"},
		"Kinds": {"So are many kinds.", kinds, "1 Kind0: a; 1 Kind1: a; 1 Kind2: a; 1 Kind3: a; 1 Kind4: a; and 2 more kinds"},
		"Namespaces": {
			"A namespace is named if it is not the parent's.",
			[]apply.Change{childChange("Pod", "pods", "there", "a"), childChange("Namespace", "namespaces", "", "b")}, "1 Pod: there/a; 1 Namespace: b",
		},
		"Plurals": {
			"The plural is the resource's, with the capitals of the kind.",
			[]apply.Change{childChange("Ingress", "ingresses", "here", "a"), childChange("NetworkPolicy", "networkpolicies", "here", "b"),
				childChange("Ingress", "ingresses", "here", "c"), childChange("NetworkPolicy", "networkpolicies", "here", "d")},
			"2 Ingresses: a, c; 2 NetworkPolicies: b, d",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := describeChildren("here", tc.children); got != tc.want {
				t.Errorf("%s\n%q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestChildEvents checks that a pass has one event for each verb, whatever it writes, and none if nobody wants them.
func TestChildEvents(t *testing.T) {
	recorder := record.NewFakeRecorder(10)
	p := &pass{parent: parenttest.ParentOf("1", 0), shared: &shared{
		problems: newProblems(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), EventLimits{}), env: Environment{ChildEvents: recorder},
	}}
	for i, action := range []apply.Action{apply.ActionDelete, apply.ActionCreate, apply.ActionUpdate, apply.ActionRecreate, apply.ActionCreate} {
		change := childChange("Pod", "pods", "", fmt.Sprint("p", i))
		change.Action = action
		p.noteChanged(change)
	}
	p.emitChildEvents()
	close(recorder.Events)
	var got []string
	for event := range recorder.Events {
		got = append(got, event)
	}
	want := "Normal Created Created 2 Pods: p1, p4\nNormal Recreated Recreating 1 Pod: p3\nNormal Deleted Deleted 1 Pod: p0"
	if strings.Join(got, "\n") != want {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	quiet := &pass{shared: &shared{}}
	quiet.noteChanged(childChange("Pod", "pods", "", "a"))
	if quiet.emitChildEvents(); quiet.changed != nil {
		t.Error("children are kept for events that are not emitted")
	}
}
