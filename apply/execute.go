package apply

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Options say how Execute writes.
type Options struct {
	// Parallel is how many writes may be under way at once. Less than one means one.
	Parallel int
	// FieldManager names the writer in managedFields. Empty leaves it to the API server.
	FieldManager string
	// Renew makes a change anew for the same object as it is now, if the object is no longer
	// as it was observed: read just now, in full. It returns nil if
	// there is nothing to change, or the object is no longer the writer's. The change is
	// then tried once more. It is called by several goroutines. If Renew is nil, such a
	// change fails.
	Renew func(change Change, live *unstructured.Unstructured) (*Change, error)
	// MayDelete returns why the object of a deletion or a recreation must not be deleted, or nil. It is called before the request, by
	// several goroutines. A nil function allows everything.
	MayDelete func(ctx context.Context, change Change) error
}

// Execute writes changes and returns an outcome for each, in the order of changes.
// The client may answer creations, updates and applies by the metadata of the object alone
// (Outcome.Partial), but not what is read or patched otherwise.
//
// Adoptions and releases go first, then deletions, then the rest; Namespaces and
// CustomResourceDefinitions are created before what stands for permissions, and
// that before everything else, and all this is deleted in reverse. Within such a
// phase, changes are begun in their order and run in parallel. A change that fails
// does not stop the others, except that nothing else is done to an object that
// could not be adopted. When ctx ends, no further change is begun; those that are
// under way end as the client's own timeout has it, since the API server may have done a request that is given up.
func Execute(ctx context.Context, client dynamic.Interface, changes []Change, o Options) []Result {
	e := execution{
		client:  client,
		options: o,
		results: make([]Result, len(changes)),
		adopted: map[types.UID]*Result{},
	}
	for i, c := range changes {
		e.results[i].Change = c
	}
	for p := range phases {
		e.run(ctx, e.inPhase(p))
		if p == adopting {
			e.remember()
		}
	}
	return e.results
}

// execution is one call of Execute.
type execution struct {
	client  dynamic.Interface
	options Options
	results []Result
	// adopted holds the outcomes of adoptions. It is written between two phases.
	adopted map[types.UID]*Result
}

// inPhase returns the outcomes that a phase has to find out.
func (e *execution) inPhase(p phase) []*Result {
	var in []*Result
	for i := range e.results {
		if o := &e.results[i]; phaseOf(o.Change) == p {
			in = append(in, o)
		}
	}
	return in
}

// run writes changes in parallel and waits for all of them.
func (e *execution) run(ctx context.Context, results []*Result) {
	if len(results) == 0 {
		return
	}
	free := make(chan struct{}, max(1, e.options.Parallel))
	var all sync.WaitGroup
	for _, o := range results {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			unknown := &unknownFields{}
			o.Change, o.Object, o.Err = e.write(context.WithValue(ctx, unknownFieldsKey{}, unknown), o.Change)
			o.Unknown = unknown.paths
			o.resolvePartial()
			if o.Gone = errors.Is(o.Err, errGone); o.Gone {
				o.Err = nil
			}
		})
	}
	all.Wait()
}

// remember records the results of the adoptions.
func (e *execution) remember() {
	for i := range e.results {
		if o := &e.results[i]; o.Change.Action == ActionAdopt {
			e.adopted[o.Change.Observed.GetUID()] = o
		}
	}
}

// write does one change, and returns it as it was made anew if it was. A panic on the way
// is an error of this change alone.
func (e *execution) write(ctx context.Context, given Change) (written Change, object *unstructured.Unstructured, err error) {
	written = given
	defer func() {
		if r := recover(); r != nil {
			object, err = nil, fmt.Errorf("%s: %s: panic: %v\n%s", given.Key, verb(given.Action), r, debug.Stack())
		}
	}()
	c, err := e.afterAdoption(given)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		c, object, err = e.perform(context.WithoutCancel(ctx), c)
	}
	if c.renewed {
		written = c
	}
	if err != nil {
		return written, nil, fmt.Errorf("%s: %s: %w", c.Key, verb(c.Action), c.withoutSecrets(c.explained(err)))
	}
	return written, object, nil
}

// afterAdoption returns the change as it is to be written now that its object has
// been adopted, if it has. Adopting is a write too: the object has a new resource
// version, and the new owner reference must not be lost.
func (e *execution) afterAdoption(c Change) (Change, error) {
	if len(e.adopted) == 0 || c.Observed == nil || c.Action == ActionAdopt {
		return c, nil
	}
	adoption, ok := e.adopted[c.Observed.GetUID()]
	switch {
	case !ok:
		return c, nil
	case adoption.Err != nil:
		return c, fmt.Errorf("not adopted: %w", adoption.Err)
	case adoption.Change.renewed:
		return e.renew(c, adoption.Object) // It was adopted in a version that c knows nothing of.
	case c.Action == ActionDelete, c.Action == ActionRecreate:
		c.Observed = adoption.Object
		return c, nil
	case c.Action != ActionUpdate:
		return c, nil
	}
	if c.ServerSide != nil {
		c.Object = ofVersion(c.Object, adoption.Object.GetResourceVersion())
		return c, nil
	}
	now := jsonvalue.ObjectIn(adoption.Object.Object, "metadata")
	meta := jsonvalue.With(jsonvalue.ObjectIn(c.Object.Object, "metadata"), "resourceVersion", now["resourceVersion"])
	meta["ownerReferences"] = now["ownerReferences"]
	c.Object = &unstructured.Unstructured{Object: jsonvalue.With(c.Object.Object, "metadata", meta)}
	return c, nil
}
