package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
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
	Log      logr.Logger

	entries map[string]entry // by name; nil until it was listed
}

// entry is an archived ControllerRevision, and its place in the history.
type entry struct {
	uid     types.UID
	number  int64
	created time.Time
	// id is that of its files, or empty if they were not read or written by this process.
	id string
}

// Revision is what is archived under an ID.
type Revision struct {
	Files map[string]string
	// TestsPassed reports whether the tests among the files passed. It may be forged: it is no more than a reason not to run them again.
	TestsPassed bool
}

// Load returns the revision that is archived under an ID. A retry does not help with ErrNone;
// any other error may be transient.
func (h *History) Load(ctx context.Context, id string) (Revision, error) {
	name := h.Name(id)
	found, err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Revision{}, fmt.Errorf("%w: no ControllerRevision %s/%s", ErrNone, h.Namespace, name)
	case err != nil:
		return Revision{}, err
	case !h.owns(found):
		return Revision{}, fmt.Errorf("%w: ControllerRevision %s/%s belongs to somebody else", ErrNone, h.Namespace, name)
	}
	files, err := decode(found.Data.Raw)
	if err != nil {
		return Revision{}, fmt.Errorf("%w: ControllerRevision %s/%s: %w", ErrNone, h.Namespace, name, err)
	}
	return Revision{Files: files, TestsPassed: found.Annotations[testsAnnotation] == id}, nil
}

// Keep archives a revision under an ID unless its files are archived, and deletes the oldest of more than
// Limit. An object that has their name already is read once, and replaced if it has other files. After
// that, archived files cost no request.
func (h *History) Keep(ctx context.Context, id string, r Revision) error {
	if err := h.list(ctx); err != nil {
		return err
	}
	name := h.Name(id)
	known, exists := h.entries[name]
	var err error
	if !exists {
		err = h.create(ctx, id, r)
	}
	if exists && known.id != id || apierrors.IsAlreadyExists(err) {
		err = h.ensureFiles(ctx, id, r)
	}
	if err != nil {
		return err
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
			kept[object.Name] = entryOf(object)
		}
	}
	h.entries = kept
	return nil
}

func (h *History) create(ctx context.Context, id string, r Revision) error {
	data, err := encode(r.Files)
	if err != nil {
		return err
	}
	name, number := h.Name(id), min(h.newest()+1, maxNumber)
	annotations := map[string]string{numberAnnotation: strconv.FormatInt(number, 10)}
	if r.TestsPassed {
		annotations[testsAnnotation] = id
	}
	created, err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: h.labels(), OwnerReferences: []metav1.OwnerReference{h.Owner},
			Annotations: annotations,
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	h.entries[name] = entry{uid: created.UID, number: number, created: created.CreationTimestamp.Time, id: id}
	return nil
}

// ensureFiles reads the object of an ID's name, and replaces one of the definition that has other
// files. Such an object was forged: names have only a part of the ID, and can be foreseen.
func (h *History) ensureFiles(ctx context.Context, id string, r Revision) error {
	name := h.Name(id)
	found, err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		delete(h.entries, name)
		return h.create(ctx, id, r)
	}
	if err != nil {
		return err
	}
	switch {
	case !h.owns(found):
		return fmt.Errorf("ControllerRevision %s/%s is there already and belongs to somebody else: delete it", h.Namespace, name)
	case found.DeletionTimestamp != nil:
		return fmt.Errorf("ControllerRevision %s/%s is being deleted, and waits for its finalizers %q", h.Namespace, name, found.Finalizers)
	}
	if kept, err := decode(found.Data.Raw); err == nil && maps.Equal(kept, r.Files) {
		known := entryOf(found)
		known.id = id
		h.entries[name] = known
		return nil
	}
	h.Log.Info("the archived scripts had other files than those of their revision, and are written again",
		"controllerRevision", h.Namespace+"/"+name)
	if err := h.remove(ctx, name, found.UID); err != nil {
		return err
	}
	delete(h.entries, name)
	return h.create(ctx, id, r)
}

// prune deletes the oldest of too many, but not the one that serves.
func (h *History) prune(ctx context.Context, serving string) error {
	for len(h.entries) > Limit {
		name := h.oldest(serving)
		if err := h.remove(ctx, name, h.entries[name].uid); err != nil {
			return fmt.Errorf("old revisions stay: %w", err)
		}
		delete(h.entries, name)
	}
	return nil
}

// remove deletes an object unless it is gone or another one has its name.
func (h *History) remove(ctx context.Context, name string, uid types.UID) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Delete(ctx, name, options)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
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
	return slices.MinFunc(names, func(a, b string) int {
		x, y := h.entries[a], h.entries[b]
		return cmp.Or(cmp.Compare(x.number, y.number), x.created.Compare(y.created), cmp.Compare(a, b))
	})
}

// testsAnnotation has the whole ID of a revision whose tests passed: the name has only a part of it, which others can share.
const testsAnnotation = "metacontroller.k8s.io/script-tests-passed"

// numberAnnotation repeats the field revision, which is not listed with the metadata.
const numberAnnotation = "metacontroller.k8s.io/script-revision-number"

// maxNumber is the highest number that is used. A higher one was forged, and there may be none after it.
// Entries of the same number are ordered by age.
const maxNumber = 1 << 53

func entryOf(object metav1.Object) entry {
	number, err := strconv.ParseInt(object.GetAnnotations()[numberAnnotation], 10, 64)
	if err != nil || number < 0 || number > maxNumber {
		number = 0 // The annotation was removed or forged: the object counts as the oldest.
	}
	return entry{uid: object.GetUID(), number: number, created: object.GetCreationTimestamp().Time}
}
