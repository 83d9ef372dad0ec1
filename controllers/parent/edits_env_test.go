package parent

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

var (
	editedThings = discovery.Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"},
		Kind:                 schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"},
		Namespaced:           true, HasStatus: true, Custom: true,
	}
	editedChildren = discovery.Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind:                 schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespaced: true,
	}
)

// partialClient is a client whose creations and updates are answered by metadata.
type partialClient struct{ dynamic.Interface }

func (c partialClient) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return partialNamespaces{c.Interface.Resource(r)}
}

type partialNamespaces struct {
	dynamic.NamespaceableResourceInterface
}

func (c partialNamespaces) Namespace(namespace string) dynamic.ResourceInterface {
	return partialResource{c.NamespaceableResourceInterface.Namespace(namespace)}
}

type partialResource struct{ dynamic.ResourceInterface }

func (c partialResource) Create(
	ctx context.Context, o *unstructured.Unstructured, options metav1.CreateOptions, sub ...string,
) (*unstructured.Unstructured, error) {
	return metadataOf(c.ResourceInterface.Create(ctx, o, options, sub...))
}

func (c partialResource) Update(
	ctx context.Context, o *unstructured.Unstructured, options metav1.UpdateOptions, sub ...string,
) (*unstructured.Unstructured, error) {
	return metadataOf(c.ResourceInterface.Update(ctx, o, options, sub...))
}

func metadataOf(o *unstructured.Unstructured, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o.Object["metadata"],
	}}, nil
}

// editedVariant has one hook, whose answer has children, a status, and labels for the parent.
type editedVariant struct{}

func (editedVariant) Claim(*unstructured.Unstructured) (variant.Claim, error) {
	return variant.Claim{}, nil
}

func (editedVariant) Calls(o variant.Observed) ([]variant.Call, error) {
	var children []any
	for _, child := range o.Children {
		children = append(children, child.Object)
	}
	request := map[string]any{"parent": o.Parent.Object, "children": children, "finalizing": o.Finalizing}
	return []variant.Call{{Hook: "sync", Request: request}}, nil
}

func (editedVariant) Desired(o variant.Observed, answers []variant.Answer) (variant.Desired, error) {
	if answers[0].Err != nil {
		return variant.Desired{}, answers[0].Err
	}
	body := answers[0].Body.(map[string]any)
	desired := variant.Desired{Finalized: body["finalized"] == true}
	desired.Status, _ = body["status"].(map[string]any)
	for _, fields := range body["children"].([]any) {
		child := &unstructured.Unstructured{Object: fields.(map[string]any)}
		child.SetNamespace(o.Parent.GetNamespace())
		desired.Children = append(desired.Children, child)
	}
	if label, ok := body["label"].(string); ok {
		desired.Labels = map[string]*string{"set": &label}
	}
	return desired, nil
}

// editedProgram is the program of editedVariant's hook.
type editedProgram struct {
	engines.ProgramBase
	answer func(request map[string]any) (engines.Response, error)
}

func (p editedProgram) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	return p.answer(call.Request)
}

// editedQueue is a queue by the clock of the test.
type editedQueue struct {
	clock *clocktesting.FakeClock
	mu    sync.Mutex
	due   map[controller.Key]time.Time
}

func (q *editedQueue) Enqueue(key controller.Key) { q.EnqueueAfter(key, 0) }
func (q *editedQueue) EnqueueSoon(key controller.Key, after time.Duration) {
	q.EnqueueAfter(key, after)
}

func (q *editedQueue) EnqueueAfter(key controller.Key, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.clock.Now().Add(after)
	if due, ok := q.due[key]; !ok || at.Before(due) {
		q.due[key] = at
	}
}

// next takes the key that is due first, and returns in how long it is.
func (q *editedQueue) next(within time.Duration) (first controller.Key, after time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, due := range q.due {
		if in := due.Sub(q.clock.Now()); in <= within && (!ok || in < after) {
			first, after, ok = key, in, true
		}
	}
	delete(q.due, first)
	return first, max(after, 0), ok
}

// editedHost is a process with one definition.
type editedHost struct {
	*Reconciler
	t       testing.TB
	cluster *memcluster.Cluster
	pool    *informer.Pool
	queue   *editedQueue
	stop    context.CancelFunc
}

// startEdited starts a process. A simple one has full answers and leaves no status.
func startEdited(
	t testing.TB, cluster *memcluster.Cluster, clock *clocktesting.FakeClock, hook editedProgram, simple bool, wrote func(memcluster.Write),
) *editedHost {
	ctx, cancel := context.WithCancel(t.Context())
	client := cluster.Client(wrote)
	pool := informer.NewPool(ctx, client, logr.Discard())
	env := Environment{
		Client:      client,
		Children:    partialClient{client},
		Pool:        pool,
		Clock:       clock,
		Log:         logr.Discard(),
		Writes:      2,
		Calls:       1,
		StatusDelay: time.Second,
		Events:      Recorders{Rare: record.NewFakeRecorder(10000)},
	}
	if simple {
		env.Children, env.StatusDelay = nil, 0
	}
	r, err := New(Config{
		Definition: "Test edits", Variant: editedVariant{}, Changed: func() {},
		Parents: []variant.ParentRule{{
			Resource: editedThings, Selects: func(*unstructured.Unstructured) bool { return true },
			IgnoresStatus: func(*unstructured.Unstructured) bool { return false },
		}},
		Children:   []variant.ChildRule{{Resource: editedChildren, Method: apply.InPlace}},
		Finalizing: Finalizing{Name: "example.com/f", Enabled: true},
		Programs: func(*unstructured.Unstructured) Programs {
			return Programs{Revision: "1", ByHook: map[string]engines.Program{"sync": hook}}
		},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	h := &editedHost{r, t, cluster, pool, &editedQueue{clock: clock, due: map[controller.Key]time.Time{}}, cancel}
	if err := r.Watch(h.queue); err != nil {
		t.Fatal(err)
	}
	h.settleEvents()
	return h
}

func (h *editedHost) close() {
	h.Reconciler.Close()
	h.stop()
}

// settleEvents waits until all events that are not held are handled.
func (h *editedHost) settleEvents() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	watched, err := h.cluster.Watched(ctx, h.pool.Len())
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.pool.WaitForHandled(ctx, watched); err != nil {
		h.t.Fatal(err)
	}
}

// pass makes the pass that is due next, if it is within some time, and reports whether there is one.
func (h *editedHost) pass(within time.Duration) bool {
	key, after, ok := h.queue.next(within)
	if !ok {
		return false
	}
	h.queue.clock.Step(after)
	result, err := h.Reconcile(h.t.Context(), key)
	switch {
	case err != nil:
		h.queue.EnqueueAfter(key, 50*time.Millisecond)
	case result.RequeueAfter > 0:
		h.queue.EnqueueAfter(key, result.RequeueAfter)
	}
	return true
}
