package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/metadata"
)

// Limit is how many revisions of one definition remain.
const Limit = 10

// ErrNone means that no revision is archived under an ID, or none that can be trusted.
var ErrNone = errors.New("no such revision is kept")

// Client has the client of ControllerRevisions, as a kubernetes.Interface has it.
type Client interface {
	AppsV1() appsv1client.AppsV1Interface
}

// History is the archive of one definition. Load may be called at any time, Keep by
// one goroutine at a time.
type History struct {
	Location
	// Client reads and writes, and Metadata lists: a list
	// does not need the files.
	Client   Client
	Metadata metadata.Interface
	Log      logr.Logger
	// Retained returns the IDs of further revisions that are in use, whole or their first digits: Keep does not delete them. It may be nil.
	Retained func() []string
	// RetainedKnown reports whether Retained returns all of them by now: until then Keep deletes nothing. Nil means that it does.
	RetainedKnown func() bool

	entries map[string]entry      // by name; nil until it was listed
	parts   map[string]storedPart // by name
}

// entry is an archived ControllerRevision, and its place in the history.
type entry struct {
	uid     types.UID
	number  int64
	created time.Time
	// id is that of its files, or empty if they were not read or written by this process.
	id string
	// parts are the sums of its parts, at least their first digits.
	parts []string
}

// Revision is what is archived under an ID.
type Revision struct {
	Files map[string]string
	// Hooks are the settings of the hooks in JSON.
	Hooks []byte
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
	archived, err := decode(found.Data.Raw)
	if err != nil {
		return Revision{}, fmt.Errorf("%w: ControllerRevision %s/%s: %w", ErrNone, h.Namespace, name, err)
	}
	r := Revision{Files: archived.Files, Hooks: archived.Hooks, TestsPassed: found.Annotations[testsAnnotation] == id}
	if archived.Parts != nil {
		if r.Files, err = h.loadParts(ctx, archived.Parts); err != nil {
			return Revision{}, fmt.Errorf("ControllerRevision %s/%s: %w", h.Namespace, name, err)
		}
	}
	if archived.HookParts != nil {
		hooks, err := h.loadParts(ctx, archived.HookParts)
		if err != nil {
			return Revision{}, fmt.Errorf("ControllerRevision %s/%s: hooks: %w", h.Namespace, name, err)
		}
		r.Hooks = []byte(hooks[hooksFile])
	}
	return r, nil
}

// Save archives a revision under an ID unless its files are archived, and deletes the oldest of more than
// Limit. An object that has their name already is read once, and replaced if it has other files. After
// that, archived files cost no request. A large revision that is new costs a list: the parts that it shares may be gone. Its parts are
// written before it and deleted after it, so that a revision that is there is whole, whenever the process ends.
func (h *History) Save(ctx context.Context, id string, r Revision) error {
	name := h.Name(id)
	if known, exists := h.entries[name]; !exists || known.id != id {
		if err := h.ensure(ctx, id, r); err != nil {
			return err
		}
	}
	if err := h.prune(ctx, name); err != nil {
		return err
	}
	return h.collect(ctx, nil)
}

// ensure archives a revision that is not known to be archived.
func (h *History) ensure(ctx context.Context, id string, r Revision) error {
	data, parts, err := encode(r)
	if err != nil {
		return err
	}
	if h.entries == nil || len(parts) > 0 {
		if err := h.list(ctx); err != nil {
			return err
		}
	}
	if err := h.collect(ctx, parts); err != nil {
		h.Log.V(1).Info("parts of revisions that were not archived stay", "reason", err.Error()) // Keep tries it again, and reports it.
	}
	if err := h.ensureParts(ctx, parts); err != nil {
		return err
	}
	_, listed := h.entries[h.Name(id)]
	if !listed {
		err = h.create(ctx, id, r.TestsPassed, data, parts)
	}
	if listed || apierrors.IsAlreadyExists(err) {
		err = h.ensureEntry(ctx, id, r, data, parts)
	}
	return err
}

// list reads which objects there are. What this process knows of their content it keeps.
func (h *History) list(ctx context.Context) error {
	resource := appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	list, err := h.Metadata.Resource(resource).Namespace(h.Namespace).List(ctx, metav1.ListOptions{LabelSelector: h.labels().String()})
	if err != nil {
		return err
	}
	kept, parts := map[string]entry{}, map[string]storedPart{}
	for i := range list.Items {
		object := &list.Items[i]
		_, isPart := object.Labels[PartLabel]
		switch {
		case !h.owns(object):
		case isPart:
			parts[object.Name] = storedPart{uid: object.UID}
			if before := h.parts[object.Name]; before.uid == object.UID {
				parts[object.Name] = before
			}
		default:
			kept[object.Name] = entryOf(object)
			if before, known := h.entries[object.Name]; known && before.uid == object.UID {
				kept[object.Name] = before
			}
		}
	}
	h.entries, h.parts = kept, parts
	return nil
}

func (h *History) create(ctx context.Context, id string, testsPassed bool, data []byte, parts []part) error {
	name, number := h.Name(id), min(h.newest()+1, maxNumber)
	annotations := map[string]string{numberAnnotation: strconv.FormatInt(number, 10)}
	if testsPassed {
		annotations[testsAnnotation] = id
	}
	if len(parts) > 0 {
		annotations[partsAnnotation] = shortSums(sumsOf(parts))
	}
	created, err := h.write(ctx, metav1.ObjectMeta{Name: name, Labels: h.labels(), Annotations: annotations}, data, number)
	if err != nil {
		return err
	}
	h.entries[name] = entry{uid: created.UID, number: number, created: created.CreationTimestamp.Time, id: id, parts: sumsOf(parts)}
	return nil
}

// write creates an object of the definition.
func (h *History) write(ctx context.Context, meta metav1.ObjectMeta, data []byte, number int64) (*appsv1.ControllerRevision, error) {
	meta.OwnerReferences = []metav1.OwnerReference{h.Owner}
	object := &appsv1.ControllerRevision{ObjectMeta: meta, Data: runtime.RawExtension{Raw: data}, Revision: number}
	return h.Client.AppsV1().ControllerRevisions(h.Namespace).Create(ctx, object, metav1.CreateOptions{})
}

// ensureEntry reads the object of an ID's name, and replaces one of the definition that has other files.
func (h *History) ensureEntry(ctx context.Context, id string, r Revision, data []byte, parts []part) error {
	name := h.Name(id)
	found, err := h.check(ctx, name, func(o *appsv1.ControllerRevision) bool { return hasContent(o, data, parts) })
	if found != nil {
		known := entryOf(found)
		known.id, known.parts = id, sumsOf(parts)
		h.entries[name] = known
		return nil
	}
	if err != nil {
		return err
	}
	delete(h.entries, name)
	return h.create(ctx, id, r.TestsPassed, data, parts)
}

// hasContent reports whether an object has what encode returned.
func hasContent(object *appsv1.ControllerRevision, data []byte, parts []part) bool {
	found, err := decode(object.Data.Raw)
	if err != nil || len(parts) > 0 && object.Annotations[partsAnnotation] != shortSums(sumsOf(parts)) {
		return false
	}
	want, err := decode(data)
	return err == nil && slices.Equal(found.Parts, want.Parts) && slices.Equal(found.HookParts, want.HookParts) &&
		maps.Equal(found.Files, want.Files) && sameJSON(found.Hooks, want.Hooks)
}

// sameJSON reports whether two texts are the same JSON value, or both empty.
func sameJSON(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// check reads the object of a name, and returns it if it has the right content. It returns nil if there is none, and after it deleted one
// of the definition that has other content. Such an object was forged: names have only a part of a hash, and can be foreseen.
func (h *History) check(
	ctx context.Context, name string, isRight func(*appsv1.ControllerRevision) bool,
) (*appsv1.ControllerRevision, error) {
	found, err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !h.owns(found):
		return nil, fmt.Errorf("ControllerRevision %s/%s is there already and belongs to somebody else: delete it", h.Namespace, name)
	case found.DeletionTimestamp != nil:
		return nil, fmt.Errorf("ControllerRevision %s/%s is being deleted, and waits for its finalizers %q", h.Namespace, name, found.Finalizers)
	case isRight(found):
		return found, nil
	}
	h.Log.Info("the archived scripts had other content than their revision, or were archived without their hooks, and are written again",
		"controllerRevision", h.Namespace+"/"+name)
	return nil, h.remove(ctx, name, found.UID)
}

// prune deletes the oldest of too many, but neither the one that serves nor what is retained.
func (h *History) prune(ctx context.Context, serving string) error {
	if h.RetainedKnown != nil && len(h.entries) > Limit && !h.RetainedKnown() {
		return nil
	}
	used := map[string]bool{serving: true}
	if h.Retained != nil && len(h.entries) > Limit {
		for _, id := range h.Retained() {
			used[h.Name(id)] = true
		}
	}
	for len(h.entries) > Limit {
		name := h.oldest(used)
		if name == "" {
			return nil
		}
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

// oldest returns the name of the oldest revision besides those that are used, or an empty one.
func (h *History) oldest(used map[string]bool) string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(h.entries)), func(name string) bool { return used[name] })
	if len(names) == 0 {
		return ""
	}
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
	e := entry{uid: object.GetUID(), number: number, created: object.GetCreationTimestamp().Time}
	if parts := object.GetAnnotations()[partsAnnotation]; parts != "" {
		e.parts = listedParts(parts)
	}
	return e
}
