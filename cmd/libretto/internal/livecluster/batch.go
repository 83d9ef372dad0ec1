package livecluster

import (
	"context"
	"hash/fnv"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// Query selects parents.
type Query struct {
	Plan *plan.Plan
	// Namespace is that of the parents. Empty means any.
	Namespace string
	// Selector matches the labels of the parents. Nil means all.
	Selector labels.Selector
	// Name is that of the parent. Empty means any.
	Name string
	// MaxParents limits how many parents there are: the first by namespace and name. Zero means all.
	MaxParents int
	// NotSelected is called for each object of the parents' kinds that is none. It may be nil.
	NotSelected func(*unstructured.Unstructured)
}

// Batch is some parents and what passes over them read.
type Batch struct {
	Parents, Objects []*unstructured.Unstructured
	// Total is how many parents there are in all.
	Total int
	// Existing returns an object of a child's kind that is in the cluster and not in the batch, or nil. It makes a request only if
	// there is one.
	Existing func(memcluster.Resource, types.NamespacedName) (*unstructured.Unstructured, error)
	// Again returns the batch once more, with other copies of the objects.
	Again func() (Batch, error)
}

// Limits of memory. Texts of objects are without managedFields; decoded they take several times as much.
const (
	// maxHeld is how many bytes of texts are held. The parents are done in as many rounds of lists as that takes.
	maxHeld = 64 << 20
	// maxBatchBytes and maxBatch bound one batch, unless one parent takes more.
	maxBatchBytes, maxBatch = 4 << 20, 100
)

// Batches calls do for all parents, some at a time. Each resource is listed once, or several times if all objects together are too large
// to be held: there is no request for each parent.
func (r *Reader) Batches(ctx context.Context, q Query, do func(Batch) error) error {
	return r.batches(ctx, q, maxHeld, do)
}

func (r *Reader) batches(ctx context.Context, q Query, held int, do func(Batch) error) error {
	for low := uint64(0); ; {
		l := &load{
			Reader: r, Query: q, low: low, high: math.MaxUint64, max: held, members: map[types.UID]*member{}, names: map[uint64]bool{},
		}
		if err := l.read(ctx); err != nil {
			return err
		}
		if err := l.each(ctx, do); err != nil {
			return err
		}
		if l.high == math.MaxUint64 {
			return nil
		}
		low = l.high + 1
	}
}

// load is what one round of lists brings: the parents whose UIDs have hashes from low to high, and what is theirs.
type load struct {
	*Reader
	Query
	low, high  uint64
	max, bytes int
	total      int
	order      []*member
	members    map[types.UID]*member
	// byNamespace are the members that select objects by label, by their namespace, or "" for those of the cluster.
	byNamespace map[string][]*member
	// names are hashes of the names of all objects of the children's kinds.
	names      map[uint64]bool
	namespaces [][]byte
}

// member is a parent and what is its own, as texts.
type member struct {
	uid       types.UID
	namespace string
	text      []byte
	owned     [][]byte
	bytes     int
	// orphans and inputs select what a composite adopts and a map maps. They may be nil.
	orphans, inputs labels.Selector
}

func hash(parts ...string) uint64 {
	h := fnv.New64a()
	for _, part := range parts {
		_, _ = h.Write([]byte(part)) // It never fails.
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// read lists everything.
func (l *load) read(ctx context.Context) error {
	config := l.Plan.Config
	for _, rule := range config.Parents {
		if l.isFull() {
			break
		}
		selector := ""
		if l.Selector != nil {
			selector = l.Selector.String()
		}
		var failed error
		parents := listing{resource: rule.Resource, namespace: l.scope(rule.Resource), selector: selector}
		err := l.list(ctx, parents, func(o *unstructured.Unstructured) bool {
			if l.Name != "" && o.GetName() != l.Name {
				return true
			}
			if !rule.Selects(o) && !hasFinalizer(o, config.Finalizing.Name) {
				if l.NotSelected != nil {
					l.NotSelected(o)
				}
				return true
			}
			if l.total++; hash(string(o.GetUID())) >= l.low && hash(string(o.GetUID())) <= l.high {
				failed = l.addParent(o)
			}
			return failed == nil && !l.isFull()
		})
		if err != nil || failed != nil {
			return firstOf(err, failed)
		}
	}
	if len(l.order) == 0 {
		return nil
	}
	for _, rule := range config.Children {
		if err := l.readOwned(ctx, rule.Resource, true); err != nil {
			return err
		}
	}
	if config.Revisions.Resource != nil {
		if err := l.readOwned(ctx, *config.Revisions.Resource, false); err != nil {
			return err
		}
	}
	return l.readInputs(ctx)
}

// isFull reports whether there are as many parents as are asked for.
func (l *load) isFull() bool { return l.MaxParents > 0 && l.total >= l.MaxParents }

func hasFinalizer(o *unstructured.Unstructured, name string) bool {
	return slices.Contains(o.GetFinalizers(), name)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// scope returns the namespace in which a resource is listed.
func (l *load) scope(resource discovery.Resource) string {
	if !resource.Namespaced {
		return ""
	}
	return l.Namespace
}

// ownScope is scope for what parents own: that is in their namespace, if they all have the same.
func (l *load) ownScope(resource discovery.Resource) string {
	if !resource.Namespaced || len(l.order) == 0 {
		return ""
	}
	for _, m := range l.order {
		if m.namespace != l.order[0].namespace {
			return l.Namespace
		}
	}
	return l.order[0].namespace
}

func (l *load) addParent(o *unstructured.Unstructured) error {
	text, err := objectjson.Marshal(o.Object)
	if err != nil {
		return err
	}
	m := &member{uid: o.GetUID(), namespace: o.GetNamespace(), text: text}
	// The pass reports what is wrong with a parent.
	if claim, err := l.Plan.Config.Variant.Claim(o); err == nil {
		m.orphans = claim.Selector
	}
	if l.Plan.Config.Selector != nil && len(l.Plan.Config.Inputs) > 0 {
		if selector, err := l.Plan.Config.Selector(o); err == nil {
			m.inputs = selector
		}
	}
	if m.orphans != nil || m.inputs != nil {
		if l.byNamespace == nil {
			l.byNamespace = map[string][]*member{}
		}
		l.byNamespace[m.namespace] = append(l.byNamespace[m.namespace], m)
	}
	l.order, l.members[m.uid] = append(l.order, m), m
	l.hold(m, text)
	return nil
}

// hold counts a text, and lets go of parents while there is too much.
func (l *load) hold(m *member, text []byte) {
	m.bytes += len(text)
	l.bytes += len(text)
	for l.bytes > l.max && len(l.order) > 1 && l.high > l.low {
		l.high = l.low + (l.high-l.low)/2
		kept := l.order[:0]
		for _, m := range l.order {
			if hash(string(m.uid)) <= l.high {
				kept = append(kept, m)
				continue
			}
			delete(l.members, m.uid)
			l.bytes -= m.bytes
			m.text, m.owned = nil, nil // byNamespace still has the member.
		}
		clear(l.order[len(kept):])
		l.order = kept
	}
}

// give adds an object to what a parent reads, if the parent is held.
func (l *load) give(m *member, text []byte) {
	if m != nil && l.members[m.uid] == m {
		m.owned = append(m.owned, text)
		l.hold(m, text)
	}
}

// readOwned lists a resource of children.
func (l *load) readOwned(ctx context.Context, resource discovery.Resource, named bool) error {
	var failed error
	err := l.list(ctx, listing{resource: resource, namespace: l.ownScope(resource)}, func(o *unstructured.Unstructured) bool {
		if named {
			l.names[hash(resource.Kind.Kind, resource.Group, o.GetNamespace(), o.GetName())] = true
		}
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
			if m := l.members[owner.UID]; m != nil {
				failed = l.giveObject(o, m)
			}
			return failed == nil
		}
		failed = l.giveObject(o, l.selecting(o, func(m *member) labels.Selector { return m.orphans })...)
		return failed == nil
	})
	return firstOf(err, failed)
}

func (l *load) giveObject(o *unstructured.Unstructured, to ...*member) error {
	if len(to) == 0 {
		return nil
	}
	text, err := objectjson.Marshal(o.Object)
	for _, m := range to {
		l.give(m, text)
	}
	return err
}

// selecting returns the parents that select an object by its labels.
func (l *load) selecting(o *unstructured.Unstructured, by func(*member) labels.Selector) []*member {
	var found []*member
	set := labels.Set(o.GetLabels())
	add := func(members []*member) {
		for _, m := range members {
			if selector := by(m); selector != nil && selector.Matches(set) {
				found = append(found, m)
			}
		}
	}
	if add(l.byNamespace[""]); o.GetNamespace() != "" {
		add(l.byNamespace[o.GetNamespace()])
	}
	return found
}

// readInputs lists the inputs of maps.
func (l *load) readInputs(ctx context.Context) error {
	for _, rule := range l.Plan.Config.Inputs {
		var failed error
		err := l.list(ctx, listing{resource: rule.Resource, namespace: l.ownScope(rule.Resource)}, func(o *unstructured.Unstructured) bool {
			failed = l.giveObject(o, l.selecting(o, func(m *member) labels.Selector { return m.inputs })...)
			return failed == nil
		})
		if err == nil && failed == nil && rule.ByNamespace && l.namespaces == nil {
			err = l.list(ctx, listing{resource: namespaces}, func(o *unstructured.Unstructured) bool {
				var text []byte
				text, failed = objectjson.Marshal(o.Object)
				l.namespaces = append(l.namespaces, text)
				return failed == nil
			})
		}
		if err != nil || failed != nil {
			return firstOf(err, failed)
		}
	}
	return nil
}

// each calls do for the parents that are held.
func (l *load) each(ctx context.Context, do func(Batch) error) error {
	for len(l.order) > 0 && ctx.Err() == nil {
		n, bytes := 0, 0
		for n < len(l.order) && (n == 0 || n < maxBatch && bytes+l.order[n].bytes <= maxBatchBytes) {
			bytes += l.order[n].bytes
			n++
		}
		batch, err := l.batch(ctx, slices.Clone(l.order[:n])) // Again needs them.
		if err != nil {
			return err
		}
		clear(l.order[:n])
		l.order = l.order[n:]
		if err := do(batch); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (l *load) batch(ctx context.Context, members []*member) (Batch, error) {
	b := Batch{Total: l.total, Existing: func(resource memcluster.Resource, name types.NamespacedName) (*unstructured.Unstructured, error) {
		if !l.names[hash(resource.Kind.Kind, resource.Group, name.Namespace, name.Name)] {
			return nil, nil
		}
		return l.Get(ctx, resource.Resource, name.Namespace, name.Name)
	}}
	b.Again = func() (Batch, error) { return l.batch(ctx, members) }
	add := func(text []byte) (*unstructured.Unstructured, error) {
		object, err := l.decode(text)
		b.Objects = append(b.Objects, object)
		return object, err
	}
	for _, text := range l.namespaces {
		if _, err := add(text); err != nil {
			return b, err
		}
	}
	for _, m := range members {
		object, err := add(m.text)
		if err != nil {
			return b, err
		}
		b.Parents = append(b.Parents, object)
		for _, text := range m.owned {
			if _, err := add(text); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}
