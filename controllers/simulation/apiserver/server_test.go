package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

const greetingCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: greetings.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Greeting, plural: greetings, singular: greeting, shortNames: [gr], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns:
    - {name: Who, type: string, jsonPath: .spec.who}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [who]
            properties: {who: {type: string, description: Whom to greet.}, replicas: {type: integer, default: 1}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

var (
	greetings  = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "greetings"}
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// start returns a server that runs until the end of the test.
func start(t *testing.T) *Server {
	t.Helper()
	s, err := New(Config{Clock: clock.RealClock{}, Log: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

// must returns the result of a call that must not fail.
func must[T any](t *testing.T) func(T, error) T {
	return func(result T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

// conditionStatus returns the status of a condition of an object, or "".
func conditionStatus(o *unstructured.Unstructured, kind string) string {
	conditions, _ := value(o, "status.conditions").([]any)
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == kind {
			return fmt.Sprint(condition["status"])
		}
	}
	return ""
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// startWithGreetings returns a server with a custom resource, and a client.
func startWithGreetings(t *testing.T) (*Server, *dynamic.DynamicClient) {
	t.Helper()
	s := start(t)
	client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.RESTConfig()))
	must[*unstructured.Unstructured](t)(client.Resource(crds).Create(t.Context(), object(t, greetingCRD), metav1.CreateOptions{}))
	eventually(t, func() error {
		_, err := client.Resource(greetings).List(t.Context(), metav1.ListOptions{})
		return err
	})
	return s, client
}

func greeting(t *testing.T, name string) *unstructured.Unstructured {
	return object(t, `{apiVersion: example.com/v1, kind: Greeting, metadata: {name: `+name+`, namespace: default}, spec: {who: world}}`)
}

func configMap(t *testing.T, name, metadata string) *unstructured.Unstructured {
	return object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, namespace: default`+metadata+`}, data: {a: b}}`)
}

// TestCustomResources follows a custom resource from its CustomResourceDefinition to its end.
func TestCustomResources(t *testing.T) {
	s, client := startWithGreetings(t)
	at := client.Resource(greetings).Namespace("default")
	created := must[*unstructured.Unstructured](t)(at.Create(t.Context(), greeting(t, "a"), metav1.CreateOptions{}))
	if n, _, _ := unstructured.NestedInt64(created.Object, "spec", "replicas"); n != 1 || created.GetGeneration() != 1 {
		t.Errorf("created: %v", created.Object)
	}
	eventually(t, func() error {
		definition, err := client.Resource(crds).Get(t.Context(), "greetings.example.com", metav1.GetOptions{})
		if err == nil && conditionStatus(definition, "Established") != "True" {
			err = fmt.Errorf("status: %v", definition.Object["status"])
		}
		return err
	})
	_, err := at.Create(t.Context(), object(t, `{apiVersion: example.com/v1, kind: Greeting, metadata: {name: b}, spec: {}}`), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("without a required field: %v", err)
	}
	patched := must[*unstructured.Unstructured](t)(at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"who":"you"}}`), metav1.PatchOptions{}))
	if text(patched, "spec.who") != "you" || patched.GetGeneration() != 2 {
		t.Errorf("patched: %v", patched.Object)
	}
	applied := must[*unstructured.Unstructured](t)(at.Apply(t.Context(), "b", greeting(t, "b"), metav1.ApplyOptions{FieldManager: "x"}))
	if len(applied.GetManagedFields()) != 1 {
		t.Errorf("applied: %v", applied.Object)
	}
	scaled := must[*unstructured.Unstructured](t)(at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`),
		metav1.PatchOptions{}, "scale"))
	if n, _, _ := unstructured.NestedInt64(scaled.Object, "spec", "replicas"); n != 3 || scaled.GetKind() != "Scale" {
		t.Errorf("scaled: %v", scaled.Object)
	}
	for _, entry := range must[*unstructured.Unstructured](t)(at.Get(t.Context(), "a", metav1.GetOptions{})).GetManagedFields() {
		if entry.Manager == "" || entry.Subresource == "scale" && entry.FieldsV1.GetRawString() != `{"f:spec":{"f:replicas":{}}}` {
			t.Errorf("managed fields: %v", entry)
		}
	}
	crd := must[*unstructured.Unstructured](t)(client.Resource(crds).Get(t.Context(), "greetings.example.com", metav1.GetOptions{}))
	if len(crd.GetFinalizers()) > 0 {
		t.Errorf("before its deletion the CustomResourceDefinition has the finalizers %v", crd.GetFinalizers())
	}
	if err := client.Resource(crds).Delete(t.Context(), "greetings.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if left := s.all(); len(left) > 0 {
			for _, r := range left {
				if r.GroupVersionResource == greetings {
					return fmt.Errorf("%s is still served", r.Kind)
				}
			}
		}
		return nil
	})
	if _, err := at.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion of the CustomResourceDefinition: %v", err)
	}
}

// TestValidation checks what becomes of fields that a schema does not have, and of writes that are only tried.
func TestValidation(t *testing.T) {
	s, client := startWithGreetings(t)
	at := client.Resource(greetings).Namespace("default")
	unknown := greeting(t, "a")
	unknown.Object["spec"].(map[string]any)["wo"] = "x"
	_, err := at.Create(t.Context(), unknown, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), `unknown field "spec.wo"`) {
		t.Errorf("strict: %v", err)
	}
	if _, err := at.Create(t.Context(), greeting(t, "a"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("dry run: %v", err)
	}
	config := s.RESTConfig()
	warned := &warnings{}
	config.WarningHandler = warned
	warning := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(config)).Resource(greetings).Namespace("default")
	must[*unstructured.Unstructured](t)(warning.Create(t.Context(), unknown, metav1.CreateOptions{}))
	if diff := cmp.Diff([]string{`unknown field "spec.wo"`}, warned.texts); diff != "" {
		t.Error(diff)
	}
	if err := at.Delete(t.Context(), "a", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Error(err)
	}
	must[*unstructured.Unstructured](t)(at.Get(t.Context(), "a", metav1.GetOptions{}))
}

type warnings struct{ texts []string }

// HandleWarningHeader notes a warning.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

var _ rest.WarningHandler = &warnings{}

// TestNamespaces checks that nothing can be without a namespace, or outlive it.
func TestNamespaces(t *testing.T) {
	s := start(t)
	client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.RESTConfig()))
	lost := configMap(t, "a", "")
	lost.SetNamespace("team")
	at := client.Resource(configMaps).Namespace("team")
	if _, err := at.Create(t.Context(), lost, metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("without a namespace: %v", err)
	}
	namespace := object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {kubernetes.io/metadata.name: team}}}`)
	must[*unstructured.Unstructured](t)(client.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{}))
	held := lost.DeepCopy()
	held.SetFinalizers([]string{"example.com/held"})
	must[*unstructured.Unstructured](t)(at.Create(t.Context(), held, metav1.CreateOptions{}))
	eventually(t, func() error {
		_, err := client.Resource(corev1.SchemeGroupVersion.WithResource("serviceaccounts")).Namespace("team").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	if err := client.Resource(namespaces).Delete(t.Context(), "team", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		found, err := at.Get(t.Context(), "a", metav1.GetOptions{})
		if err == nil && found.GetDeletionTimestamp() == nil {
			err = errors.New("it is not being deleted")
		}
		return err
	})
	if _, err := at.Create(t.Context(), lost, metav1.CreateOptions{}); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("in a namespace that ends: %v", err)
	}
	must[*unstructured.Unstructured](t)(at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))
	eventually(t, func() error {
		_, err := client.Resource(namespaces).Get(t.Context(), "team", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// TestGarbage checks that dependents go with their owner, and before it if it is deleted in the foreground.
func TestGarbage(t *testing.T) {
	s := start(t)
	at := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.RESTConfig())).Resource(configMaps).Namespace("default")
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		owner := must[*unstructured.Unstructured](t)(at.Create(t.Context(), configMap(t, "owner", ""), metav1.CreateOptions{}))
		reference := fmt.Sprintf(`, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s, blockOwnerDeletion: true}]`, owner.GetUID())
		must[*unstructured.Unstructured](t)(at.Create(t.Context(), configMap(t, "dependent", reference), metav1.CreateOptions{}))
		if err := at.Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			if list, err := at.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
				return fmt.Errorf("%s: %d objects are left: %w", policy, len(list.Items), err)
			}
			return nil
		})
	}
}

// TestReadiness checks which objects become ready by themselves, and that it can be switched.
func TestReadiness(t *testing.T) {
	s, client := startWithGreetings(t)
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	at := client.Resource(deployments).Namespace("default")
	must[*unstructured.Unstructured](t)(at.Create(t.Context(), object(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
`), metav1.CreateOptions{}))
	ready := func(want string) {
		t.Helper()
		eventually(t, func() error {
			found, err := at.Get(t.Context(), "web", metav1.GetOptions{})
			if err == nil && cell("status.readyReplicas:0")(found, time.Now()) != want {
				err = fmt.Errorf("status is %v", found.Object["status"])
			}
			return err
		})
	}
	ready("2")
	key := objectkey.Key{Kind: deployments.GroupVersion().WithKind("Deployment"), Namespace: "default", Name: "web"}
	s.SetReady(key, new(false))
	ready("0")
	s.SetReady(key, nil)
	ready("2")

	must[*unstructured.Unstructured](t)(client.Resource(greetings).Namespace("default").Create(t.Context(), greeting(t, "free"), metav1.CreateOptions{}))
	condition := func(name, want string) {
		t.Helper()
		eventually(t, func() error {
			found, err := client.Resource(greetings).Namespace("default").Get(t.Context(), name, metav1.GetOptions{})
			if err == nil && conditionStatus(found, "Ready") != want {
				err = fmt.Errorf("status is %v", found.Object["status"])
			}
			return err
		})
	}
	condition("free", "True")
	failing := objectkey.Key{Kind: greetings.GroupVersion().WithKind("Greeting"), Namespace: "default", Name: "failing"}
	s.SetReady(failing, new(false)) // It fails though it was never ready.
	stored := must[watch.Interface](t)(s.reader.Resource(greetings).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=failing"}))
	must[*unstructured.Unstructured](t)(client.Resource(greetings).Namespace("default").Create(t.Context(), greeting(t, "failing"), metav1.CreateOptions{}))
	condition("failing", "False")
	if first, ok := (<-stored.ResultChan()).Object.(*unstructured.Unstructured); !ok || first.Object["status"] != nil {
		t.Errorf("the object is stored as %v", first)
	}
	stored.Stop()
	if ready := s.Ready(failing); ready == nil || *ready {
		t.Errorf("of what was set to fail is known %v", ready)
	}
	s.SetReady(failing, nil)
	condition("failing", "True")
	s.SetReady(failing, new(false))
	condition("failing", "False")
	if err := client.Resource(greetings).Namespace("default").Delete(t.Context(), "failing", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if ready := s.Ready(failing); ready != nil {
		t.Errorf("after its deletion is known %t", *ready)
	}
	must[*unstructured.Unstructured](t)(client.Resource(greetings).Namespace("default").Create(t.Context(), greeting(t, "failing"), metav1.CreateOptions{}))
	condition("failing", "True") // It is another object.
	definition := object(t, `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: hello}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: greetings}
  hooks: {sync: {webhook: {url: http://example.com}}}
`)
	definitions := schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers"}
	must[*unstructured.Unstructured](t)(client.Resource(definitions).Create(t.Context(), definition, metav1.CreateOptions{}))
	parents := client.Resource(greetings).Namespace("default")
	must[*unstructured.Unstructured](t)(parents.Create(t.Context(), greeting(t, "parent"), metav1.CreateOptions{}))
	s.SetReady(key, new(false)) // It is looked at after the parent.
	ready("0")
	if parent := must[*unstructured.Unstructured](t)(parents.Get(t.Context(), "parent", metav1.GetOptions{})); parent.Object["status"] != nil {
		t.Errorf("the status of a parent was written: %v", parent.Object["status"])
	}
}
