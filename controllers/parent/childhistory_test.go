package parent

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

func standing(value string) apply.Change {
	object := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": value}, "metadata": map[string]any{"name": "a"}}}
	return apply.Change{
		Action: apply.ActionUpdate, Key: apply.Key{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "a"},
		Object: object, ServerSide: &apply.ServerSide{Manager: "libretto/composite/web"},
	}
}

func TestConflictBackoff(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	s := newChildHistory(clock)
	contested := apply.Outcome{Change: standing("1"), Err: apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl" using v1`, Field: ".data.a"},
	}, "")}
	if err := s.conflict(standing("1")); err != nil {
		t.Errorf("what was never asked for lasts: %v", err)
	}
	s.note(contested)
	if err := s.conflict(standing("1")); err == nil || !strings.Contains(err.Error(), "FieldConflict: ConfigMap a is left as it is: kubectl holds data.a") {
		t.Errorf("%v", err)
	}
	if err := s.conflict(standing("2")); err != nil {
		t.Errorf("another wish has to wait: %v", err)
	}
	for wait := minConflictBackoff; wait < 4*maxConflictBackoff; wait *= 2 {
		clock.Step(min(wait, maxConflictBackoff) - 1)
		if s.conflict(standing("1")) == nil {
			t.Errorf("it is over before %s", wait)
		}
		clock.Step(1)
		if err := s.conflict(standing("1")); err != nil {
			t.Errorf("it lasts longer than %s: %v", wait, err)
		}
		s.note(contested)
	}
	s.note(apply.Outcome{Change: standing("2")})
	if err := s.conflict(standing("1")); err != nil {
		t.Errorf("it lasts after a success: %v", err)
	}
	s.note(contested)
	s.forget(contested.Change.Key)
	if err := s.conflict(standing("1")); err != nil {
		t.Errorf("it outlives the child: %v", err)
	}
}
