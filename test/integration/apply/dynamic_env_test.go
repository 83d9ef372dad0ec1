package apply

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kube "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// soon is how long anything may take that is expected to happen at once.
const soon = 30 * time.Second

// dynamicEnv is a namespace with an owner, in which objects are synced.
type dynamicEnv struct {
	t         *testing.T
	client    dynamic.Interface
	namespace string
	owner     metav1.OwnerReference
	// schemas are what the API server tells, or nil.
	schemas *schema.Source
}

func newDynamicEnv(t *testing.T) *dynamicEnv {
	t.Helper()
	c := cluster.Get(t)
	env.NoError(t, c.ApplyFiles(t.Context(), testdata+"kinds.yaml"))
	quiet := rest.CopyConfig(c.Config)
	quiet.WarningHandlerWithContext = rest.NoWarnings{} // There are many, about fields that are not known.
	client, err := dynamic.NewForConfig(quiet)
	env.NoError(t, err)
	b := &dynamicEnv{t: t, client: client, namespace: c.Namespace(t), schemas: newSource(t, c)}
	b.owner = b.makeOwner()
	b.awaitSchemas()
	return b
}

func newSource(t *testing.T, c *cluster.Cluster) *schema.Source {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	env.NoError(t, err)
	return schema.New(schema.Config{
		API: schema.Over(client.RESTClient()), Interval: time.Hour, Timeout: soon, Clock: clock.RealClock{}, Log: testr.New(t),
	})
}

// makeOwner makes an object that owns what is synced.
func (b *dynamicEnv) makeOwner() metav1.OwnerReference {
	b.t.Helper()
	maps := b.client.Resource(kube.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(b.namespace)
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "owner"}}}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	made, err := maps.Create(b.t.Context(), object, metav1.CreateOptions{})
	env.NoError(b.t, err)
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: made.GetUID()}
}

// awaitSchemas waits until the API server publishes the schemas of the kinds that were made just now.
func (b *dynamicEnv) awaitSchemas() {
	b.t.Helper()
	kind := kube.GroupVersionKind{Group: "apply.example.com", Version: "v1", Kind: "Typed"}
	cluster.Eventually(b.t, soon, func() error {
		b.schemas.Changed()
		if b.schemas.For(b.t.Context(), kind) == nil {
			return fmt.Errorf("no schema of %s", kind)
		}
		return nil
	})
}

// elsewhere returns the same dynamicEnv in a namespace of its own.
func (b *dynamicEnv) elsewhere() *dynamicEnv {
	b.t.Helper()
	other := *b
	other.namespace = cluster.Get(b.t).Namespace(b.t)
	other.owner = other.makeOwner()
	return &other
}

// in returns the same dynamicEnv for a subtest.
func (b *dynamicEnv) in(t *testing.T) *dynamicEnv {
	other := *b
	other.t = t
	return &other
}

// rule updates objects of a kind in place.
func (b *dynamicEnv) rule(object *unstructured.Unstructured) apply.Rule {
	kind := object.GroupVersionKind()
	resource := strings.ToLower(kind.Kind) + "s"
	if stem, ok := strings.CutSuffix(resource, "ys"); ok {
		resource = stem + "ies"
	} else if strings.HasSuffix(resource, "ss") {
		resource = strings.TrimSuffix(resource, "s") + "es"
	}
	rule := apply.Rule{Kind: kind, Resource: kind.GroupVersion().WithResource(resource), Namespaced: true, Method: apply.InPlace}
	if b.schemas != nil {
		if rule.Schema = b.schemas.For(b.t.Context(), kind); rule.Schema == nil {
			b.t.Fatalf("no schema of %s", kind)
		}
	}
	return rule
}

func (b *dynamicEnv) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	rule := b.rule(object)
	return b.client.Resource(rule.Resource).Namespace(b.namespace)
}

// find returns the stored object, or nil.
func (b *dynamicEnv) find(object *unstructured.Unstructured) *unstructured.Unstructured {
	b.t.Helper()
	live, err := b.resource(object).Get(b.t.Context(), object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	env.NoError(b.t, err)
	return live
}

// diff compares what is there with what is desired.
func (b *dynamicEnv) diff(desired *unstructured.Unstructured) []apply.Change {
	b.t.Helper()
	in := apply.Input{Owner: b.owner, Rules: []apply.Rule{b.rule(desired)}, Desired: []*unstructured.Unstructured{desired}}
	if live := b.find(desired); live != nil {
		in.Observed = append(in.Observed, live)
	}
	changes, err := apply.Diff(in)
	env.NoError(b.t, err)
	return changes
}

// sync compares and writes, and retries conflicts.
func (b *dynamicEnv) sync(desired *unstructured.Unstructured) error {
	b.t.Helper()
	var refused error
	cluster.Eventually(b.t, soon, func() error {
		changes := b.diff(desired)
		if len(changes) == 0 {
			return nil
		}
		outcome := apply.Execute(b.t.Context(), b.client, changes, apply.Options{FieldManager: "libretto"})[0]
		if apply.Classify(outcome.Err) == apply.FailureInvalid {
			refused = outcome.Err
			return nil
		}
		return outcome.Err
	})
	return refused
}

const (
	// resyncs is how often it is looked whether there is still anything to write.
	resyncs = 10
	// touchEvery is how often in these another writer makes a new version of the object.
	touchEvery = 5
)

// settles syncs twice, and then as often as resyncs says. An error says that these are
// not without a write.
func (b *dynamicEnv) settles(desired *unstructured.Unstructured) error {
	b.t.Helper()
	for range 2 {
		if err := b.sync(desired); err != nil {
			return err
		}
	}
	for n := range resyncs {
		if n%touchEvery == 0 {
			b.touch(desired, n)
		}
		for _, change := range b.diff(desired) {
			return fmt.Errorf("resync %d wants to write: %s %v", n, change.Action, fielddiff.Describe(nil, change.Observed, change.Object))
		}
	}
	return nil
}

// touch makes a new version of an object.
func (b *dynamicEnv) touch(object *unstructured.Unstructured, n int) {
	b.t.Helper()
	patch := fmt.Sprintf(`{"metadata": {"labels": {"touched": "%d"}}}`, n)
	if _, err := b.resource(object).Patch(b.t.Context(), object.GetName(), types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		b.t.Fatal(err)
	}
}

// delete removes an object and waits until it is gone.
func (b *dynamicEnv) delete(object *unstructured.Unstructured) {
	b.t.Helper()
	now, background := int64(0), metav1.DeletePropagationBackground
	patch := []byte(`{"metadata": {"finalizers": null}}`)
	if _, err := b.resource(object).Patch(b.t.Context(), object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
	env.NoError(b.t, b.resource(object).Delete(b.t.Context(), object.GetName(),
		metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background}))
	cluster.Eventually(b.t, soon, func() error {
		if b.find(object) != nil {
			return fmt.Errorf("%s is still there", apply.KeyOf(object))
		}
		return nil
	})
}
