package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// ErrNone means that no revision is archived under an ID, or none that can be trusted.
var ErrNone = errors.New("no such revision is kept")

// History is the archive of one definition. Load may be called at any time, Keep by
// one goroutine at a time.
type History struct {
	Location
	// Client reads and writes, and Metadata lists: a list
	// does not need the files.
	Client   kubernetes.Interface
	Metadata metadata.Interface

	entries map[string]entry // by name; nil until it was listed
}

// entry is an archived ControllerRevision, and its number in the history.
type entry struct {
	uid    types.UID
	number int64
}

// Load returns the files that are archived under an ID. A retry does not help with ErrNone;
// any other error may be transient.
func (h *History) Load(ctx context.Context, id string) (map[string]string, error) {
	name := h.Name(id)
	found, err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: no ControllerRevision %s/%s", ErrNone, h.Namespace, name)
	case err != nil:
		return nil, err
	case !h.owns(found):
		return nil, fmt.Errorf("%w: ControllerRevision %s/%s belongs to somebody else", ErrNone, h.Namespace, name)
	}
	files, err := decode(found.Data.Raw)
	if err != nil {
		return nil, fmt.Errorf("%w: ControllerRevision %s/%s: %w", ErrNone, h.Namespace, name, err)
	}
	return files, nil
}

// Keep archives files under an ID unless they are archived, and deletes the oldest of more than
// Limit. When the history has been listed, archived files cost no request.
func (h *History) Keep(ctx context.Context, id string, files map[string]string) error {
	if err := h.list(ctx); err != nil {
		return err
	}
	name := h.Name(id)
	if _, known := h.entries[name]; !known {
		if err := h.create(ctx, name, files); err != nil {
			return err
		}
	}
	return h.prune(ctx, name)
}

func (h *History) list(ctx context.Context) error {
	if h.entries != nil {
		return nil
	}
	resource := appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	list, err := h.Metadata.Resource(resource).Namespace(h.Namespace).List(ctx, metav1.ListOptions{LabelSelector: h.labels().String()})
	if err != nil {
		return err
	}
	kept := map[string]entry{}
	for i := range list.Items {
		if object := &list.Items[i]; h.owns(object) {
			kept[object.Name] = entry{object.UID, numberOf(object)}
		}
	}
	h.entries = kept
	return nil
}

func (h *History) create(ctx context.Context, name string, files map[string]string) error {
	data, err := encode(files)
	if err != nil {
		return err
	}
	number := h.newest() + 1
	created, err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: h.labels(), OwnerReferences: []metav1.OwnerReference{h.Owner},
			Annotations: map[string]string{numberAnnotation: strconv.FormatInt(number, 10)},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return h.adopt(ctx, name)
	}
	if err != nil {
		return err
	}
	h.entries[name] = entry{created.UID, number}
	return nil
}

// adopt adds an existing object to the entries if it was made for this definition.
func (h *History) adopt(ctx context.Context, name string) error {
	found, err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !h.owns(found) {
		return fmt.Errorf("ControllerRevision %s/%s is there already and belongs to somebody else: delete it", h.Namespace, name)
	}
	h.entries[name] = entry{found.UID, found.Revision}
	return nil
}

// prune deletes the oldest of too many, but not the one that serves.
func (h *History) prune(ctx context.Context, serving string) error {
	for len(h.entries) > Limit {
		name := h.oldest(serving)
		uid := h.entries[name].uid
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
		err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Delete(ctx, name, options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("old revisions stay: %w", err)
		}
		delete(h.entries, name)
	}
	return nil
}

func (h *History) newest() int64 {
	var number int64
	for _, e := range h.entries {
		number = max(number, e.number)
	}
	return number
}

func (h *History) oldest(besides string) string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(h.entries)), func(name string) bool { return name == besides })
	return slices.MinFunc(names, func(a, b string) int { return cmp.Compare(h.entries[a].number, h.entries[b].number) })
}

// numberAnnotation repeats the field revision, which is not listed with the metadata.
const numberAnnotation = "metacontroller.k8s.io/script-revision-number"

func numberOf(object metav1.Object) int64 {
	number, err := strconv.ParseInt(object.GetAnnotations()[numberAnnotation], 10, 64)
	if err != nil {
		return 0 // The annotation was removed: the object counts as the oldest.
	}
	return number
}
