package simulation

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
)

const composite = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: boxes}
spec:
  parentResource: {apiVersion: example.com/v1, resource: boxes}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks: {sync: {webhook: {url: "http://hooks.invalid/sync"}}}
`

const parentBox = `
apiVersion: example.com/v1
kind: Box
metadata: {name: a, namespace: default}
spec: {selector: {matchLabels: {app: a}}, mode: slow}
`

// program returns a ConfigMap with the parent's mode.
type program struct{ engines.ProgramBase }

func (program) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	mode, _, err := unstructured.NestedString(call.Request, "parent", "spec", "mode")
	return engines.Response{Body: map[string]any{"children": []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"mode": mode},
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"app": "a"}},
	}}}}, err
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func run(t testing.TB, definition string) (*Session, error) {
	t.Helper()
	boxes, err := memcluster.Custom("example.com/v1", "Box", "boxes", true, true)
	if err != nil {
		t.Fatal(err)
	}
	return Run(t.Context(), Input{
		Definition: object(t, definition), Objects: []*unstructured.Unstructured{object(t, parentBox)}, Resources: []memcluster.Resource{boxes},
		Programs: map[string]engines.Program{"sync": program{}}, Clock: testclock.NewFakeClock(time.Unix(0, 0)), Log: logr.Discard(),
	})
}

// TestSession makes passes, with an edit and a restart between them.
func TestSession(t *testing.T) {
	session(t, composite, "create ConfigMap a", "update ConfigMap a")
}

// TestServerSideSession does the same with server-side apply.
func TestServerSideSession(t *testing.T) {
	definition := strings.Replace(composite, "resource: configmaps,", "resource: configmaps, applyStrategy: ServerSideApply,", 1)
	session(t, definition, "patch ConfigMap a", "patch ConfigMap a")
}

func session(t *testing.T, definition, creates, updates string) {
	t.Helper()
	s, err := run(t, definition)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	expectPass(t, s, creates, "update status Box a")
	expectPass(t, s)
	err = s.Edit(t.Context(), func(client dynamic.Interface) error {
		at, err := s.Cluster().Endpoint(client, object(t, parentBox))
		if err != nil {
			return err
		}
		_, err = at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"mode":"fast"}}`), metav1.PatchOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Box default/a"}, s.Enqueued()); diff != "" {
		t.Errorf("keys after a change of the parent\n-want +got:\n%s", diff)
	}
	expectPass(t, s, updates, "update status Box a")
	if err := s.Define(t.Context(), object(t, definition), map[string]engines.Program{"sync": program{}}); err != nil {
		t.Fatal(err)
	}
	expectPass(t, s)
}

// stranger is the observer of a host. Its methods are nil: what a session does is none of its business.
type stranger struct{ parent.Observer }

func expectPass(t *testing.T, s *Session, want ...string) {
	t.Helper()
	result, err := s.Reconcile(parent.WithObserver(t.Context(), stranger{}), object(t, parentBox))
	if err = errors.Join(err, result.Err); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range result.Writes {
		got = append(got, strings.Join([]string{string(w.Verb), w.Kind.Kind, w.Name}, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what a pass writes\n-want +got:\n%s", diff)
	}
}

func TestRefused(t *testing.T) {
	_, err := run(t, strings.ReplaceAll(composite, "configmaps", "nonsuches"))
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Reason != "ResourceNotFound" {
		t.Errorf("a definition of an unknown resource: %v", err)
	}
}

func TestNoSuchParent(t *testing.T) {
	s, err := run(t, composite)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Reconcile(t.Context(), object(t, strings.ReplaceAll(parentBox, "Box", "ConfigMap"))); err == nil {
		t.Error("a pass over what is no parent is made")
	}
}

// TestClose checks that all goroutines of a session end.
func TestClose(t *testing.T) {
	s, err := run(t, composite)
	if err != nil {
		t.Fatal(err)
	}
	expectPass(t, s, "create ConfigMap a", "update status Box a")
	s.Close()
	s.Close()
	deadline := time.Now().Add(5 * time.Second)
	for leakedGoroutine() != "" && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if left := leakedGoroutine(); left != "" {
		t.Errorf("a goroutine is left behind:\n%s", left)
	}
}

// leakedGoroutine returns the stack of a goroutine of a cache or cluster, or "".
func leakedGoroutine() string {
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, "tools/cache") || strings.Contains(stack, "memcluster.(*watcher)") {
			return stack
		}
	}
	return ""
}
