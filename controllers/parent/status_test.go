package parent

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// TestRefusedStatus checks what becomes of a status that the API server does not take.
func TestRefusedStatus(t *testing.T) {
	things := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	cases := map[string]struct {
		reason string
		err    error
		later  bool
	}{
		"conflict":  {"the next version is on its way", apierrors.NewConflict(things.GroupResource(), "a", errors.New("newer")), true},
		"not found": {"it is gone, or its status is not served yet", apierrors.NewNotFound(things.GroupResource(), "a"), true},
		"forbidden": {"only somebody else can mend it", apierrors.NewForbidden(things.GroupResource(), "a", errors.New("no right")), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
			client.PrependReactor("update", "things", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}}}
			written, err := NewStatusWriter(client, clock.RealClock{}).Write(t.Context(), things, object, map[string]any{"count": int64(1)})
			if written != nil || !errors.Is(err, tc.err) || errors.Is(err, controller.ErrLater) != tc.later {
				t.Errorf("%s: it gives %v and %v", tc.reason, written, err)
			}
		})
	}
}

// TestRefusedStatusIsNoLoop has the API server refuse a status more often than it may be written in a minute.
func TestRefusedStatusIsNoLoop(t *testing.T) {
	things := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	parent := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}}}
	client, asked := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), 0
	client.PrependReactor("update", "things", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		return true, nil, apierrors.NewConflict(things.GroupResource(), "a", errors.New("newer"))
	})
	events := record.NewFakeRecorder(10)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &Reconciler{env: Environment{Events: events}, pace: newPace(clock), memory: newMemory(), status: NewStatusWriter(client, clock)}
	source := &parentSource{ParentRule: ParentRule{Resource: discovery.Resource{GroupVersionResource: things, HasStatus: true}}}
	for range 2 * statusWrites {
		p := &pass{Reconciler: r, source: source, parent: parent, observed: Observed{Parent: parent}}
		if err := p.writeStatus(t.Context(), Desired{Status: map[string]any{"count": int64(1)}}); !errors.Is(err, controller.ErrLater) {
			t.Fatalf("it gives %v", err)
		}
	}
	if asked != 2*statusWrites || len(events.Events) > 0 {
		t.Errorf("%d of %d were sent, and %d events told", asked, 2*statusWrites, len(events.Events))
	}
}
