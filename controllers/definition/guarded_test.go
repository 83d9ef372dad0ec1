package definition

import (
	"encoding/json"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
)

// TestPatchGuard stores what was counted for a definition. One that was deleted and created again meanwhile has no part in it.
func TestPatchGuard(t *testing.T) {
	resource := v1alpha1.DefinitionResource(v1alpha1.GroupVersion.WithKind(v1alpha1.CompositeControllerKind))
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	stored := 0
	client.PrependReactor("patch", resource.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		var patch unstructured.Unstructured
		if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &patch.Object); err != nil {
			return true, nil, err
		}
		if patch.GetUID() != "new" { // As the API server does.
			return true, nil, apierrors.NewConflict(resource.GroupResource(), "a", errors.New("the UID in the precondition is another one"))
		}
		if guard, _, _ := unstructured.NestedMap(patch.Object, "status", "deletionGuard"); guard != nil {
			stored++
		}
		return true, &patch, nil
	})
	for uid, want := range map[types.UID]int{"old": 0, "new": 1} {
		stored = 0
		record := rollout.Record{Edit: rollout.Edit{Revision: "two"}, Since: metav1.Unix(1000, 0).Time}
		if err := patchGuard(t.Context(), client.Resource(resource), "a", uid, record); err != nil {
			t.Errorf("UID %s: %v", uid, err)
		}
		if stored != want {
			t.Errorf("a record of the definition with UID %s was stored %d times, want %d", uid, stored, want)
		}
	}
}

// TestGuardOfAnotherDefinition has a definition deleted and created again, without the deletion being seen: it gets a guard of its own.
func TestGuardOfAnotherDefinition(t *testing.T) {
	r := &Reconciler{}
	s := &runtimeState{object: &unstructured.Unstructured{}}
	guardOf := func(uid types.UID) *rollout.Guard {
		s.object.SetUID(uid)
		return r.guardOf(s, func() {})
	}
	first := guardOf("old")
	if again := guardOf("old"); again != first {
		t.Error("another instance of the same definition has a guard of its own")
	}
	if other := guardOf("new"); other == first {
		t.Error("another definition of the same name has the guard of the one before")
	}
}
