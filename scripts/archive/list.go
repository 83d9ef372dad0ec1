package archive

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Entry is an archived revision without its content.
type Entry struct {
	// ID has the first digits of the revision's ID, which are in the object's name.
	ID string
	// Number is higher for revisions that were archived later.
	Number int64
	// Created is when it was archived.
	Created time.Time
	// TestsPassed reports whether the tests among its files passed. It may be forged, as all of an Entry.
	TestsPassed bool
}

// List returns all archived revisions, the newest first. It makes one request, and reads no content.
func (h *History) List(ctx context.Context) ([]Entry, error) {
	resource := appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	list, err := h.Metadata.Resource(resource).Namespace(h.Namespace).List(ctx, metav1.ListOptions{LabelSelector: h.labels().String()})
	if err != nil {
		return nil, err
	}
	var all []Entry
	for i := range list.Items {
		object := &list.Items[i]
		id := object.Name[strings.LastIndex(object.Name, "-")+1:]
		if _, isPart := object.Labels[PartLabel]; isPart || !h.owns(object) || object.Name != h.Name(id) {
			continue
		}
		known := entryOf(object)
		all = append(all, Entry{
			ID: id, Number: known.number, Created: known.created, TestsPassed: ShortID(object.Annotations[testsAnnotation]) == id,
		})
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return all, nil
}
