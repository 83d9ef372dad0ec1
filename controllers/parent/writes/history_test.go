package writes

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
)

func conflictingUpdate(value string) apply.Change {
	object := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": value}, "metadata": map[string]any{"name": "a"}}}
	return apply.Change{
		Action: apply.ActionUpdate, Key: apply.Key{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "a"},
		Object: object, ServerSide: &apply.ServerSide{Manager: "libretto/composite/web"},
	}
}

func TestConflictBackoff(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	h := NewHistory(clock)
	conflict := apply.Result{Change: conflictingUpdate("1"), Err: apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl" using v1`, Field: ".data.a"},
	}, "")}
	if err := h.Conflict(conflictingUpdate("1")); err != nil {
		t.Errorf("a change without a conflict is in backoff: %v", err)
	}
	h.Note(conflict)
	const message = "FieldConflict: ConfigMap a is left as it is: kubectl holds data.a"
	if err := h.Conflict(conflictingUpdate("1")); err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("%v", err)
	}
	if err := h.Conflict(conflictingUpdate("2")); err != nil {
		t.Errorf("another desired state is in backoff: %v", err)
	}
	for wait := minConflictBackoff; wait < 4*maxConflictBackoff; wait *= 2 {
		clock.Step(min(wait, maxConflictBackoff) - 1)
		if h.Conflict(conflictingUpdate("1")) == nil {
			t.Errorf("the backoff ends before %s", wait)
		}
		clock.Step(1)
		if err := h.Conflict(conflictingUpdate("1")); err != nil {
			t.Errorf("the backoff lasts longer than %s: %v", wait, err)
		}
		h.Note(conflict)
	}
	h.Note(apply.Result{Change: conflictingUpdate("2")})
	if err := h.Conflict(conflictingUpdate("1")); err != nil {
		t.Errorf("the backoff lasts after a success: %v", err)
	}
	h.Note(conflict)
	h.Forget(conflict.Change.Key)
	if err := h.Conflict(conflictingUpdate("1")); err != nil {
		t.Errorf("the backoff outlives the child: %v", err)
	}
}

// TestConflictNamesNoKey checks that the message about a Secret has none of its keys.
func TestConflictNamesNoKey(t *testing.T) {
	change := conflictingUpdate("1")
	change.Key.Kind.Kind = "Secret"
	err := FieldConflictError(apply.Result{Change: change, Err: apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl" using v1`, Field: ".data.password"},
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl" using v1`, Field: ".data.user"},
	}, "")})
	const message = "FieldConflict: Secret a is left as it is: kubectl holds data: let go"
	if !strings.HasPrefix(err.Error(), message) {
		t.Errorf("%v, want %s", err, message)
	}
}
