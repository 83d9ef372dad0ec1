package archive

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// TestList lists revisions from the newest to the oldest, without parts and what belongs to others.
func TestList(t *testing.T) {
	part := func(o *appsv1.ControllerRevision) { o.Labels[PartLabel], o.Name = "a", location().partName(idOf(7)) }
	foreign := func(o *appsv1.ControllerRevision) { o.OwnerReferences[0].UID = "another" }
	misnamed := func(o *appsv1.ControllerRevision) { o.Name = "composite-c-none" + o.Name[len(o.Name)-16:] }
	tested := func(o *appsv1.ControllerRevision) { o.Annotations[testsAnnotation] = idOf(2) }
	h, _ := newHistory(t, []*appsv1.ControllerRevision{
		stored(1, "1", "a"), stored(3, "3", "c"), stored(2, "2", "b", tested), stored(4, "none", "d"),
		stored(5, "5", "e", foreign), stored(6, "6", "f", misnamed), stored(7, "0", "g", part),
	})
	got, err := h.List(t.Context())
	want := []Entry{
		{ID: ShortID(idOf(3)), Number: 3, Created: time.Unix(3, 0)},
		{ID: ShortID(idOf(2)), Number: 2, Created: time.Unix(2, 0), TestsPassed: true},
		{ID: ShortID(idOf(1)), Number: 1, Created: time.Unix(1, 0)},
		{ID: ShortID(idOf(4)), Created: time.Unix(4, 0)},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
