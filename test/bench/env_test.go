package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

var (
	webs       = resource("example.com", "Web", "webs", true)
	pods       = resource("", "Pod", "pods", true)
	configMaps = resource("", "ConfigMap", "configmaps", true)
	namespaces = resource("", "Namespace", "namespaces", false)
)

func resource(group, kind, plural string, namespaced bool) discovery.Resource {
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	return discovery.Resource{GroupVersionResource: gv.WithResource(plural), Kind: gv.WithKind(kind), Namespaced: namespaced, HasStatus: true, Custom: group != ""}
}

func find(apiVersion, plural string) (discovery.Resource, error) {
	for _, r := range []discovery.Resource{webs, pods, configMaps, namespaces} {
		if r.GroupVersion().String() == apiVersion && r.GroupVersionResource.Resource == plural {
			return r, nil
		}
	}
	return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: plural}
}

// composite is a definition whose parents are webs and whose children are pods.
const composite = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: webs}
spec:
  parentResource: {apiVersion: example.com/v1, resource: webs}
  childResources:
  - {apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}}
  hooks:
    sync: {version: v2, webhook: {url: "http://unused"}}
`

// withCustomize is composite with related objects.
const withCustomize = composite + `
    customize: {version: v2, webhook: {url: "http://unused"}}
`

// hook answers a request.
type hook func(request map[string]any) map[string]any

// CircuitOpen implements engines.Program.
func (h hook) CircuitOpen() *engines.Error { return nil }

func (h hook) Files() []engines.UsedFile { return nil }

// Warnings implements engines.Program.
func (h hook) Warnings() []*engines.Error { return nil }

// CoveragePoints implements engines.Program.
func (h hook) CoveragePoints() []engines.CoveragePoint { return nil }

// Outline implements engines.Program.
func (h hook) Outline() *engines.Outline { return nil }

// Run implements engines.Program.
func (h hook) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	return engines.Response{Body: h(call.Request)}, nil
}

// testEnv is a definition that runs.
type testEnv struct {
	server     *apiServer
	reconciler *parent.Reconciler
	revision   string // of the scripts
}

// start has a definition work on what the server has, and returns when its caches
// hold it. Without a queue events are dropped.
func start(tb testing.TB, text string, server dynamic.Interface, hooks map[string]engines.Program, queue parent.Queue) *testEnv {
	tb.Helper()
	plan, refusal := plan.Planner{Find: find}.Plan(read(tb, text))
	if refusal != nil {
		tb.Fatal(refusal.Err)
	}
	e := &testEnv{}
	e.server, _ = server.(*apiServer)
	config := plan.Config
	config.Programs = func(*unstructured.Unstructured) parent.Programs {
		return parent.Programs{Revision: e.revision, ByHook: hooks}
	}
	config.Changed = func() {}
	ctx, cancel := context.WithCancel(context.Background())
	reconciler, err := parent.New(config, parent.Environment{
		Client: server, Pool: informer.NewPool(ctx, server, logr.Discard()), Events: parent.Recorders{Rare: &record.FakeRecorder{}},
		Clock: clock.RealClock{}, Log: logr.Discard(), Writes: 8, Calls: 8,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { reconciler.Close(); cancel() })
	if queue != nil {
		if err := reconciler.Watch(queue); err != nil {
			tb.Fatal(err)
		}
	}
	if !reconciler.WaitForSync(ctx) {
		tb.Fatal("the caches are not filled")
	}
	e.reconciler = reconciler
	return e
}

// reconcile reconciles once, which must succeed.
func (e *testEnv) reconcile(tb testing.TB, key controller.Key) {
	_, err := e.reconciler.Reconcile(tb.Context(), key)
	if err != nil {
		tb.Fatal(err)
	}
}

// settle makes passes until one does not ask for another because of a cache that
// is still being filled.
func (e *testEnv) settle(tb testing.TB, key controller.Key) {
	tb.Helper()
	poll(tb, time.Millisecond, time.Minute, func() (bool, error) {
		_, err := e.reconciler.Reconcile(tb.Context(), key)
		if err != nil && !errors.Is(err, controller.ErrLater) {
			tb.Fatal(err)
		}
		return err == nil, err
	})
}

func read(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		tb.Fatal(err)
	}
	return object
}

// web is a parent that selects what has the label app of its own name, and that
// has a status that the hook would not change.
func web(tb testing.TB, namespace, name string) *unstructured.Unstructured {
	return read(tb, fmt.Sprintf(`
apiVersion: example.com/v1
kind: Web
metadata: {namespace: %[1]s, name: %[2]s, uid: uid-of-%[2]s, resourceVersion: "7", generation: 1}
spec: {replicas: 3, selector: {matchLabels: {app: %[2]s}}}
status: {observedGeneration: 1}
`, namespace, name))
}

func keyOf(web *unstructured.Unstructured) controller.Key {
	return controller.Key{Kind: webs.Kind, Namespace: web.GetNamespace(), Name: web.GetName()}
}
