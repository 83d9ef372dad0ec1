package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
	"github.com/libretto-k8s/libretto/test/heapstat"
)

// largeAnswers are answers near the limits on their bytes, their memory, and the objects of a sync.
var largeAnswers = map[string]func() map[string]any{
	"ManyChildren": func() map[string]any {
		return map[string]any{"children": many(29_000, func(i int) any { return podNamed(fmt.Sprint(i), nil) })}
	},
	"Pods": func() map[string]any {
		return map[string]any{"children": many(19_000, func(i int) any {
			return podNamed(fmt.Sprint(i), map[string]any{"containers": []any{map[string]any{"name": "web", "image": fmt.Sprint("web:", i), "env": []any{
				map[string]any{"name": "INDEX", "value": fmt.Sprint(i)}, map[string]any{"name": "MODE", "value": fmt.Sprint("mode-", i)},
			}}}})
		})}
	},
	"NullsInChild": func() map[string]any {
		return map[string]any{"children": []any{podNamed("a", make([]any, 6_000_000))}}
	},
	"ObjectsInChild": func() map[string]any {
		return map[string]any{"children": []any{podNamed("a", many(260_000, func(int) any { return map[string]any{"a": nil} }))}}
	},
	"TextInChild": func() map[string]any {
		return map[string]any{"children": []any{podNamed("a", strings.Repeat("\x01", 8_000_000))}}
	},
	"NullsInStatus": func() map[string]any {
		return map[string]any{"status": map[string]any{"a": make([]any, 6_000_000)}, "children": []any{}}
	},
}

func many(n int, item func(i int) any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = item(i)
	}
	return list
}

func podNamed(name string, spec any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": map[string]any{"name": name, "labels": map[string]any{"app": "web"}},
	}
}

// TestPeakOfSync bounds the heap while a parent is synced whose hook answers as much as it may, from the
// worker's message until all of it is refused by the API server.
func TestPeakOfSync(t *testing.T) {
	const most = 2 * protocol.MaxResponseMemory // Two copies.
	if !heapstat.Collected(t) {
		return
	}
	for name, answer := range largeAnswers {
		t.Run(name, func(t *testing.T) {
			message := protocol.Answer{Response: engines.Response{Body: answer()}}.Append(nil, wire.NewObjects())
			parent, _, _ := family(t, 0)
			server := newAPIServer()
			server.add(webs.GroupVersionResource, parent)
			e := start(t, composite, forbidding{server}, map[string]engines.Program{"sync": messageHook{message: message}}, nil)
			before := heap()
			peak := heapstat.Sample()
			_, err := e.reconciler.Reconcile(t.Context(), keyOf(parent))
			taken := peak() - int64(before)
			if !apierrors.IsForbidden(err) {
				t.Errorf("error %v, want one of the API server: nothing may be refused before", err)
			}
			t.Logf("a message of %d KiB takes %d MiB", len(message)>>10, taken>>20)
			if taken > most {
				t.Errorf("the sync takes %d MiB, want at most %d", taken>>20, most>>20)
			}
			runtime.KeepAlive(message)
		})
	}
}

// messageHook answers what a worker has sent.
type messageHook struct {
	engines.ProgramBase
	message []byte
}

func (h messageHook) Run(context.Context, engines.Call) (engines.Response, error) {
	answer, err := protocol.ReadAnswer(h.message, nil)
	if answer.Err != nil {
		return answer.Response, answer.Err
	}
	return answer.Response, err
}

// forbidding is an apiServer that forbids writes, after it has encoded what is written.
type forbidding struct{ *apiServer }

// Resource returns the endpoint of a resource.
func (s forbidding) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return forbiddingEndpoint{endpoint{server: s.apiServer, resource: resource}}
}

type forbiddingEndpoint struct{ endpoint }

func (e forbiddingEndpoint) Namespace(string) dynamic.ResourceInterface { return e }

func (e forbiddingEndpoint) Create(
	_ context.Context, object *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string,
) (*unstructured.Unstructured, error) {
	return e.forbid(object)
}

func (e forbiddingEndpoint) UpdateStatus(
	_ context.Context, object *unstructured.Unstructured, _ metav1.UpdateOptions,
) (*unstructured.Unstructured, error) {
	return e.forbid(object)
}

func (e forbiddingEndpoint) forbid(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var body bytes.Buffer // As client-go has package objectclient encode it.
	if err := objectjson.Write(&body, object.Object); err != nil {
		return nil, err
	}
	return nil, apierrors.NewForbidden(e.resource.GroupResource(), object.GetName(), errors.New("writes are"))
}
