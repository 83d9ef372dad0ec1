// Package finalizers knows of which resources objects may have finalizers of definitions, and removes those of definitions that are gone.
package finalizers

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
)

// Record is a ConfigMap that names the resources of which objects may have a finalizer of a definition, so that a start need not
// search all others. A resource is in it before the first of its objects gets one. As long as there is no record, each start searches
// all resources; so does one that finds it a week old, for finalizers that another program has added meanwhile.
type Record struct {
	client          dynamic.ResourceInterface
	namespace, name string
	// namespaces are those that the host looks at, or none for all.
	namespaces []string
	clock      clock.PassiveClock

	mu sync.Mutex
	// isRead is set once object is what is stored, or nil if there is none.
	isRead bool
	object *unstructured.Unstructured
	// added are the resources that were added while there was no record.
	added sets.Set[string]
}

const (
	recordName = "libretto-finalizers"
	// recordResources is the key with the resources, one a line, and recordSearched that with the time of the last search of all.
	recordResources, recordSearched = "resources", "searched"
	// maxRecordAge is how old a search of all resources may be before a start makes another one.
	maxRecordAge = 7 * 24 * time.Hour
	// maxRecordConflicts is how often a write is tried again.
	maxRecordConflicts = 5
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// NewRecord returns the record of a host. Hosts for other definitions have others: of those that share one, one leads.
func NewRecord(
	client dynamic.Interface, namespace string, target labels.Selector, namespaces []string, clock clock.PassiveClock,
) *Record {
	name := recordName
	if !target.Empty() || len(namespaces) > 0 {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(strings.Join(append([]string{target.String()}, namespaces...), "\n"))) // It never fails.
		name += fmt.Sprintf("-%08x", hash.Sum32())
	}
	return &Record{
		client: client.Resource(configMaps).Namespace(namespace), namespace: namespace, name: name, namespaces: namespaces, clock: clock,
		added: sets.New[string](),
	}
}

// read reads what is stored, once.
func (r *Record) read(ctx context.Context) error {
	if r.isRead {
		return nil
	}
	object, err := r.client.Get(ctx, r.name, metav1.GetOptions{})
	switch {
	case err == nil:
		r.object = object
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // One that can't be read is as good as none.
		r.object = nil
	default:
		return err
	}
	r.isRead = true
	return nil
}

// stored returns the resources in the record, and when all were searched. Without a time that can be read it counts as none.
func (r *Record) stored() (resources sets.Set[string], searched time.Time) {
	if r.object == nil {
		return nil, time.Time{}
	}
	data, _, _ := unstructured.NestedStringMap(r.object.Object, "data")
	searched, _ = time.Parse(time.RFC3339, data[recordSearched])
	return sets.New(strings.Fields(data[recordResources])...), searched
}

// resources returns those that a start has to search. It returns false if these are all.
func (r *Record) resources(ctx context.Context) (sets.Set[string], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read(ctx) != nil || r.object == nil {
		return nil, false
	}
	resources, searched := r.stored()
	return resources, r.clock.Since(searched) < maxRecordAge
}

// add sees to it that resources are in the record. Without a record it remembers them for the first one.
func (r *Record) add(ctx context.Context, resources []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.added.HasAll(resources...) {
		return nil
	}
	err := r.writeLatest(ctx, func(known sets.Set[string], searched time.Time) (sets.Set[string], time.Time) {
		if r.object == nil || known.HasAll(resources...) {
			return nil, searched
		}
		return known.Insert(resources...), searched
	})
	if err == nil {
		r.added.Insert(resources...)
	}
	return err
}

// writeLatest stores what change makes of the newest record, unless that is nil.
func (r *Record) writeLatest(
	ctx context.Context, change func(known sets.Set[string], searched time.Time) (sets.Set[string], time.Time),
) error {
	var err error
	for range maxRecordConflicts {
		if err = r.read(ctx); err != nil {
			return err
		}
		resources, searched := change(r.stored())
		if resources == nil {
			return nil
		}
		if err = r.write(ctx, resources, searched); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
		r.isRead = false
	}
	return err
}

// finish notes that all resources were searched, and which of them have finalizers of definitions.
func (r *Record) finish(ctx context.Context, resources []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writeLatest(ctx, func(sets.Set[string], time.Time) (sets.Set[string], time.Time) {
		return sets.New(resources...).Union(r.added), r.clock.Now()
	})
}

// write stores the record, and keeps what is stored then.
func (r *Record) write(ctx context.Context, resources sets.Set[string], searched time.Time) (err error) {
	next := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{
		recordResources: strings.Join(sets.List(resources), "\n"), recordSearched: searched.UTC().Format(time.RFC3339),
	}}}
	next.SetAPIVersion("v1")
	next.SetKind("ConfigMap")
	next.SetName(r.name)
	if r.object == nil {
		next, err = r.client.Create(ctx, next, metav1.CreateOptions{})
	} else {
		next.SetResourceVersion(r.object.GetResourceVersion())
		next.SetLabels(r.object.GetLabels())
		next.SetAnnotations(r.object.GetAnnotations())
		next, err = r.client.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err == nil {
		r.object = next
	}
	return err
}

// reasonNotRecorded is the reason of the condition Accepted of a definition whose finalizers a later start might not find.
const reasonNotRecorded = "FinalizersNotRecorded"

// Include sees to it that the resources are in the record of which objects will get the finalizer of a definition, or returns why the
// definition is refused. A nil record includes all.
func (r *Record) Include(ctx context.Context, p *plan.Plan) *plan.Refusal {
	if !p.Config.Finalizing.Enabled || r == nil {
		return nil
	}
	var resources []string
	for _, rule := range p.Config.Parents {
		resources = append(resources, rule.GroupResource().String())
	}
	if err := r.add(ctx, resources); err != nil {
		return &plan.Refusal{Reason: reasonNotRecorded, Err: fmt.Errorf(
			"ConfigMap %s/%s, which has to name %s before the first finalizer is added, can't be written: %w: "+
				"grant the host get, create and update of it, or delete it", r.namespace, r.name, strings.Join(slices.Compact(resources), ", "), err)}
	}
	return nil
}
