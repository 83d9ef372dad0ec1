package discovery

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clientgofake "k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"
)

const thingCRD = `
metadata: {name: things.example.com, annotations: {big: text}, managedFields: [{manager: somebody}]}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - {name: v1, served: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v0, served: false}
status: {conditions: [{type: Established, status: "True"}]}
`

func crd(t *testing.T, edit func(map[string]any)) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(thingCRD), &u.Object); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(u.Object)
	}
	return u
}

func set(t *testing.T, value any, path ...string) func(map[string]any) {
	return func(object map[string]any) {
		if err := unstructured.SetNestedField(object, value, path...); err != nil {
			t.Fatal(err)
		}
	}
}

var thing = Resource{
	GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"},
	Kind:                 schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"},
	Namespaced:           true, HasStatus: true, Custom: true,
}

// newTestDiscovery returns a Discovery whose API server serves these lists.
func newTestDiscovery(lists ...*metav1.APIResourceList) (*Discovery, *clocktesting.FakeClock, *clientgofake.Clientset) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	api := clientgofake.NewClientset()
	api.Resources = lists
	return New(Config{
		API: api.Discovery(), Client: fake.NewSimpleDynamicClient(runtime.NewScheme()), Interval: time.Minute, Clock: clock, Log: logr.Discard(),
	}), clock, api
}

func TestCustomResourcesAreFollowed(t *testing.T) {
	changes := 0
	d, _, _ := newTestDiscovery()
	d.Listen(func() { changes++ })
	stop := d.Listen(func() { t.Error("a function that listens no more is called") })
	stop()
	step := func(reason string, event func(), found bool, wantChanges int) {
		t.Helper()
		event()
		got, err := d.Find("example.com/v1", "things")
		if (err == nil) != found {
			t.Errorf("%s: found %v, error %v", reason, got, err)
		}
		if changes != wantChanges {
			t.Errorf("%s: %d notifications, want %d", reason, changes, wantChanges)
		}
	}
	step("before anything", func() {}, false, 0)
	step("not established", func() { d.onCRDUpdate(crd(t, set(t, []any{}, "status", "conditions"))) }, false, 1)
	step("established", func() { d.onCRDUpdate(crd(t, nil)) }, true, 2)
	step("a change of something else", func() { d.onCRDUpdate(crd(t, set(t, "x", "metadata", "resourceVersion"))) }, true, 2)
	step("being deleted", func() { d.onCRDUpdate(crd(t, set(t, "2026-01-02T03:04:05Z", "metadata", "deletionTimestamp"))) }, true, 2)
	step("deleted", func() { d.onCRDDelete(crd(t, nil)) }, false, 3)
}

func TestVersionsOfACustomResource(t *testing.T) {
	d, _, _ := newTestDiscovery()
	d.onCRDUpdate(crd(t, nil))
	got, err := d.Find("example.com/v1", "things")
	if diff := cmp.Diff(thing, got); diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
	if got, err := d.Find("example.com/v2", "things"); err != nil || got.HasStatus {
		t.Errorf("version without status subresource: %v, %v", got, err)
	}
	_, err = d.Find("example.com/v0", "things")
	var missing *NotFoundError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), `no resource "things" in "example.com/v0"`) {
		t.Errorf("a version that is not served: %v", err)
	}
}

func TestDeletedCustomResourceStaysGone(t *testing.T) {
	list := &metav1.APIResourceList{
		GroupVersion: "example.com/v1",
		APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing", Namespaced: true}},
	}
	d, clock, _ := newTestDiscovery(list)
	d.onCRDUpdate(crd(t, nil))
	d.onCRDDelete(crd(t, nil))
	if err := d.refresh(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Find("example.com/v1", "things"); err == nil {
		t.Error("the API server's discovery, which lags, brought a deleted resource back")
	}
	// Later the same resource may be served by an aggregated API.
	clock.Step(deletedTTL + time.Second)
	if err := d.refresh(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Find("example.com/v1", "things"); err != nil {
		t.Errorf("a resource that is served again is not found: %v", err)
	}
}

func TestBuiltInResources(t *testing.T) {
	d, _, _ := newTestDiscovery(&metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods", Kind: "Pod", Namespaced: true}, {Name: "pods/status", Kind: "Pod", Namespaced: true},
		{Name: "pods/log", Kind: "Pod", Namespaced: true}, {Name: "namespaces", Kind: "Namespace"},
	}})
	if err := d.refresh(); err != nil {
		t.Fatal(err)
	}
	pods, err := d.Find("v1", "pods")
	if err != nil || !pods.HasStatus || !pods.Namespaced || pods.Custom || pods.Kind.Kind != "Pod" {
		t.Errorf("pods: %v, %v", pods, err)
	}
	namespaces, err := d.Find("v1", "namespaces")
	if err != nil || namespaces.HasStatus || namespaces.Namespaced {
		t.Errorf("namespaces: %v, %v", namespaces, err)
	}
	if _, err := d.Find("v1", "pods/log"); err == nil {
		t.Error("a subresource is found as a resource")
	}
}

// TestWithoutDefinitions polls for all resources, as a host does that may not watch CustomResourceDefinitions.
func TestWithoutDefinitions(t *testing.T) {
	listed, clock, api := newTestDiscovery(&metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod"}}})
	config := listed.config
	config.Client = nil
	d := New(config)
	if d.Synced() == nil {
		t.Error("it knows the resources before it has asked")
	}
	changed := make(chan struct{}, 1)
	d.Listen(func() { changed <- struct{}{} })
	if err := d.Start(t.Context()); err != nil || d.Synced() != nil {
		t.Fatal(err, d.Synced())
	}
	<-changed
	if pods, err := d.Find("v1", "pods"); err != nil || pods.Custom {
		t.Errorf("pods: %v, %v", pods, err)
	}
	api.Resources = append(api.Resources, &metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing"}}})
	for done := false; !done; { // Once the ticker is there.
		clock.Step(time.Minute)
		select {
		case <-changed:
			done = true
		case <-time.After(time.Millisecond):
		}
	}
	if things, err := d.Find("example.com/v1", "things"); err != nil || !things.Custom || d.DefinitionVersion(things.GroupResource()) != "" {
		t.Errorf("things: %v, %v", things, err)
	}
}

func TestSchemasAreNotKept(t *testing.T) {
	trimmed, err := dropSchemas(crd(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	text, err := trimmed.(*unstructured.Unstructured).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, dropped := range []string{"openAPIV3Schema", "managedFields", "annotations"} {
		if strings.Contains(string(text), dropped) {
			t.Errorf("%s is still in\n%s", dropped, text)
		}
	}
}
