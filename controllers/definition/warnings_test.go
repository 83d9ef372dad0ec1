package definition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestUnfinalizedWarning(t *testing.T) {
	kind := schema.GroupVersionKind{Kind: "Thing"}
	var held []controller.Key
	for n, want := range []string{"", "Thing a/0", "Thing a/0, Thing a/1", "Thing a/0, Thing a/1, Thing a/2", "Thing a/0, Thing a/1, Thing a/2 and 1 more"} {
		got := plan.Messages(unfinalized(held))
		if (want == "") != (got == "") || !strings.HasSuffix(got, want) {
			t.Errorf("%d parents: %q, want it to end in %q", n, got, want)
		}
		held = append(held, controller.Key{Kind: kind, Namespace: "a", Name: fmt.Sprint(n)})
	}
}

// TestSendWarningEvents checks that each warning has one event, however long it lasts.
func TestSendWarningEvents(t *testing.T) {
	events := record.NewFakeRecorder(10)
	r := &Reconciler{config: Config{Environment: parent.Environment{Events: parent.Recorders{Rare: events}}}}
	checks, status := plan.Warning{Reason: plan.ReasonNoStatusChecks, Message: "checks"}, plan.Warning{Reason: plan.ReasonNoStatusSubresource, Message: "status"}
	held := plan.Warning{Reason: variant.ReasonNotFinalized, Message: "has an event on the parents"}
	var before []plan.Warning
	for _, now := range [][]plan.Warning{{checks}, {checks}, {held, checks, status}, {status}, nil, {status}} {
		r.sendWarningEvents(&unstructured.Unstructured{}, before, now)
		before = now
	}
	close(events.Events)
	var got []string
	for event := range events.Events {
		got = append(got, event)
	}
	want := []string{"Warning NoStatusChecks checks", "Warning NoStatusSubresource status", "Warning NoStatusSubresource status"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}
}
