package parent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
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
		env:       Environment{Events: Recorders{Children: recorder}},
		inherited: inherited{problems: notices.NewProblems(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), notices.EventLimits{})},
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
	if quiet.emitChildEvents(); quiet.writes.changed != nil {
		t.Error("children are kept for events that are not emitted")
	}
}

// TestHookEventsHaveTheirOwnQueue checks which recorder an event goes to: what hooks ask for must not fill the queue of what the host tells.
func TestHookEventsHaveTheirOwnQueue(t *testing.T) {
	ofHost, ofHooks := record.NewFakeRecorder(10), record.NewFakeRecorder(10)
	p := &pass{parent: parenttest.ParentOf("1", 0), shared: &shared{
		env:       Environment{Events: Recorders{Syncs: ofHost, Hooks: ofHooks}},
		inherited: inherited{hookEvents: notices.NewHookEvents(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), notices.EventLimits{QPS: 1, Burst: 2}, time.Time{})},
	}}
	p.emitEvents(variant.Desired{
		Waiting: &variant.Wait{Reason: "Late", Message: "not yet"}, Events: []variant.Event{{Type: "Normal", Reason: "Said", Message: "a"}},
	}, true)
	close(ofHost.Events)
	close(ofHooks.Events)
	if event := <-ofHooks.Events; event != "Normal Waiting Late: not yet: until then the children stay as they are" {
		t.Errorf("the recorder of hooks has %q", event)
	}
	if event := <-ofHost.Events; !strings.HasPrefix(event, "Warning EventsDropped") {
		t.Errorf("the recorder of the host has %q, want what is dropped", event)
	}
}

// TestWaitEvents checks that the events about waits are by reason.
func TestWaitEvents(t *testing.T) {
	p := &pass{shared: &shared{inherited: inherited{hookEvents: notices.NewHookEvents(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), notices.EventLimits{}, time.Time{})}}}
	describe := func(waits ...variant.Wait) (messages []string, keys []uint64) {
		for _, event := range p.waitEvents(waits) {
			messages, keys = append(messages, event.Message), append(keys, event.Key)
		}
		return messages, keys
	}
	messages, first := describe(variant.Wait{Reason: "Late", Message: "3 are not there"})
	if diff := cmp.Diff([]string{"Late: 3 are not there: until then the children stay as they are"}, messages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, again := describe(variant.Wait{Reason: "Late", Message: "2 are not there"})
	if !cmp.Equal(first, again) {
		t.Error("another message is another event")
	}
	messages, _ = describe(
		variant.Wait{Reason: "Late", Message: "a", Input: "/Secret/x/a"}, variant.Wait{Reason: "Early", Message: "b", Input: "/Secret/x/b"},
		variant.Wait{Reason: "Late", Message: "c", Input: "/Secret/x/c"},
	)
	want := []string{
		"input /Secret/x/a: Late: a (and 1 more inputs): until then the outputs stay as they are",
		"input /Secret/x/b: Early: b: until then the outputs stay as they are",
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
