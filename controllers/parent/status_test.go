package parent

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/controller"
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
