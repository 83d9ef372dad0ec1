// Package hosting tests bin/libretto as a whole, as a process, against a real
// API server: what a user of CompositeControllers sees.
package hosting

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// soon is how long anything may take that is expected to happen at once.
const soon = 20 * time.Second

// agent is how libretto's requests are told from others in the audit log.
const agent = "libretto/"

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	composites = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// world is one test's namespace, custom resource and libretto.
type world struct {
	t        *testing.T
	c        *cluster.Cluster
	libretto *cluster.Libretto
	ns       string
	group    string
	things   schema.GroupVersionResource
}

// newWorld makes a namespace, a custom resource Thing in an API group of the test's own, and starts libretto.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newWorldWithoutThings(t)
	w.apply(w.thingCRD())
	w.start()
	return w
}

func newWorldWithoutThings(t *testing.T) *world {
	t.Helper()
	c := cluster.Get(t)
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyFiles(t.Context(), root+"/manifests/crd"); err != nil {
		t.Fatal(err)
	}
	ns := c.Namespace(t)
	group := ns + ".example.com"
	return &world{t: t, c: c, ns: ns, group: group, things: schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}}
}

// start runs libretto until the end of the test, which checks that it ends well.
func (w *world) start(flags ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), soon)
	defer cancel()
	l, err := w.c.StartLibretto(ctx, append([]string{"-v=1"}, flags...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.libretto = l
	w.t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			w.t.Logf("libretto's log:\n%s", l.Log())
		}
	})
}

// thingCRD defines Thing: a spec of any shape, a status without phases, and the status subresource.
func (w *world) thingCRD() string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              observedGeneration: {type: integer}
              count: {type: integer}
              said: {type: string}
`, w.group)
}

// apply applies YAML documents; objects without a namespace go to the test's.
func (w *world) apply(documents string) {
	w.t.Helper()
	for _, document := range strings.Split(documents, "\n---\n") {
		object := w.parse(document)
		if err := w.c.Apply(w.t.Context(), w.ns, object); err != nil {
			w.t.Fatal(err)
		}
		if object.GroupVersionKind().Group == composites.Group {
			w.t.Cleanup(func() { w.remove(composites, "", object.GetName()) })
		}
	}
}

func (w *world) parse(document string) *unstructured.Unstructured {
	w.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		w.t.Fatalf("%v in\n%s", err, document)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &object.Object); err != nil {
		w.t.Fatal(err)
	}
	return object
}

// definition applies a CompositeController of Things named after the test's namespace and suffix, with a script and further spec fields.
func (w *world) definition(suffix, script, more string) string {
	w.t.Helper()
	name := w.ns + suffix
	w.apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec:
  parentResource: {apiVersion: %s/v1, resource: things}
  hooks: {sync: {version: v2, script: {engine: JavaScript, inline: %s}}}
%s`, name, w.group, quote(script), indent(more)))
	return name
}

// thing applies a Thing that selects the label thing=<name>, with further spec fields.
func (w *world) thing(name, spec string) {
	w.t.Helper()
	w.apply(fmt.Sprintf(`
apiVersion: %[1]s/v1
kind: Thing
metadata: {name: %[2]q}
spec:
  selector: {matchLabels: {thing: %[2]q}}
%[3]s`, w.group, name, indent(spec)))
}

func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

func (w *world) in(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return w.c.Dynamic().Resource(resource).Namespace(w.ns)
}

// get gives an object of the test's namespace, or nil.
func (w *world) get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.t.Helper()
	object, err := w.in(resource).Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return object
}

// must waits for an object of the test's namespace that passes a check.
func (w *world) must(resource schema.GroupVersionResource, name string, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	w.t.Helper()
	var found *unstructured.Unstructured
	cluster.Eventually(w.t, soon, func() error {
		if found = w.get(resource, name); found == nil {
			return fmt.Errorf("no %s %s", resource.Resource, name)
		}
		if check == nil {
			return nil
		}
		return check(found)
	})
	return found
}

// gone waits until there is no such object, or another of its name.
func (w *world) gone(resource schema.GroupVersionResource, name string, uid types.UID) {
	w.t.Helper()
	cluster.Eventually(w.t, soon, func() error {
		if found := w.get(resource, name); found != nil && (uid == "" || found.GetUID() == uid) {
			return fmt.Errorf("%s %s is still there", resource.Resource, name)
		}
		return nil
	})
}

// patch merges a JSON patch into an object of the test's namespace.
func (w *world) patch(resource schema.GroupVersionResource, name, patch string, subresources ...string) {
	w.t.Helper()
	if _, err := w.in(resource).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		w.t.Fatal(err)
	}
}

// remove deletes an object, if it is there, and does not wait.
func (w *world) remove(resource schema.GroupVersionResource, namespace, name string) {
	w.t.Helper()
	err := w.c.Dynamic().Resource(resource).Namespace(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Error(err)
	}
}

// condition gives a condition of a definition, or an empty one.
func (w *world) condition(definition, kind string) metav1.Condition {
	w.t.Helper()
	object, err := w.c.Dynamic().Resource(composites).Get(w.t.Context(), definition, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	status := struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{}
	value, _, _ := unstructured.NestedMap(object.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(value, &status); err != nil {
		w.t.Fatal(err)
	}
	for _, c := range status.Conditions {
		if c.Type == kind && c.ObservedGeneration == object.GetGeneration() {
			return c
		}
	}
	return metav1.Condition{}
}

// mustCondition waits for a condition of the newest spec with that status, and a message that contains all of parts.
func (w *world) mustCondition(definition, kind, status string, parts ...string) metav1.Condition {
	w.t.Helper()
	var c metav1.Condition
	cluster.Eventually(w.t, soon, func() error {
		c = w.condition(definition, kind)
		if string(c.Status) != status {
			return fmt.Errorf("condition %s is %q (%s: %s), want %s", kind, c.Status, c.Reason, c.Message, status)
		}
		return contains(c.Reason+": "+c.Message, parts)
	})
	return c
}

// mustEvent waits for an event on an object of the test's namespace, or on a definition, whose message contains all of parts.
func (w *world) mustEvent(name, reason string, parts ...string) corev1.Event {
	w.t.Helper()
	var found corev1.Event
	cluster.Eventually(w.t, soon, func() error {
		list, err := w.c.Dynamic().Resource(events).List(w.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return err
		}
		var said []string
		for _, item := range list.Items {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &found); err != nil {
				return err
			}
			said = append(said, found.Reason+": "+found.Message)
			if found.Reason == reason && contains(found.Message, parts) == nil {
				return nil
			}
		}
		return fmt.Errorf("no event %s with %q on %s, only\n%s", reason, parts, name, strings.Join(said, "\n"))
	})
	return found
}

func contains(text string, parts []string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q does not contain %q", text, part)
		}
	}
	return nil
}

// requests are libretto's since a mark, without the events that it sent.
func (w *world) requests(since cluster.Mark) cluster.Requests {
	w.t.Helper()
	all, err := w.c.Requests(w.t.Context(), since, agent)
	if err != nil {
		w.t.Fatal(err)
	}
	return all.Filter(func(r cluster.Request) bool { return r.Resource != "events" })
}

func (w *world) mark() cluster.Mark {
	w.t.Helper()
	mark, err := w.c.Mark(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return mark
}

// passes is how many passes over parents of a definition have succeeded, or have failed.
func (w *world) passes(definition, outcome string) float64 {
	w.t.Helper()
	metrics, err := w.libretto.Metrics(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return metrics.Sum("libretto_reconcile_total", map[string]string{"controller": "CompositeController-" + definition, "outcome": outcome})
}

// mustPass waits until that many more passes have succeeded than there were.
func (w *world) mustPass(definition string, before, more float64) {
	w.t.Helper()
	cluster.Eventually(w.t, soon, func() error {
		if now := w.passes(definition, "success"); now < before+more {
			return fmt.Errorf("%v passes, want %v", now, before+more)
		}
		return nil
	})
}

// settled waits until nothing is written any more: two looks a while apart, with passes between them, find no writes.
func (w *world) settled() {
	w.t.Helper()
	mark := w.mark()
	quiet := 0
	cluster.Eventually(w.t, soon, func() error {
		if writes := w.requests(mark).Writes(); len(writes) > 0 {
			mark, quiet = w.mark(), 0
			return fmt.Errorf("still writing:\n%s", writes)
		}
		if quiet++; quiet < 15 {
			return fmt.Errorf("quiet for %d looks", quiet)
		}
		return nil
	})
}
