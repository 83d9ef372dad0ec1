package migration

import (
	"crypto/sha1" // #nosec G505 -- metacontroller's names are made of it.
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/test/env"
)

// lastApplied and marker are metacontroller's annotations.
const (
	lastApplied = "metacontroller.k8s.io/last-applied-configuration"
	marker      = "metacontroller.k8s.io/decorator-controller"
)

// family is a kind of definition with its parents.
type family struct {
	reason    string
	kind      string // env.Composite or env.Decorator
	cluster   bool   // its parents are in no namespace
	generated bool   // generateSelector
	finalizes bool
	version   string
	method    string
}

// path returns the path of a hook's URL.
func (f family) path(hook string) string {
	return "/" + strings.ToLower(strings.TrimSuffix(f.kind, "Controller")) + "/" + hook
}

func (f family) parents() string {
	if f.cluster {
		return "sites"
	}
	return "things"
}

func (f family) parentKind() string {
	return map[bool]string{false: "Thing", true: "Site"}[f.cluster]
}

func (f family) hookNames() []string {
	names := []string{"sync", "customize"}
	if f.finalizes {
		names = append(names, "finalize")
	}
	return names
}

// createLegacyParent makes a parent as metacontroller leaves it.
func (s *testEnv) createLegacyParent(name string, f family, family string, spec map[string]any) *unstructured.Unstructured {
	s.T.Helper()
	if f.kind == env.Composite && !f.generated {
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"parent": name}}
	}
	parent := &unstructured.Unstructured{Object: map[string]any{"apiVersion": s.Group + "/v1", "kind": f.parentKind(), "spec": spec}}
	parent.SetName(name)
	labels, annotations := map[string]string{"family": family}, map[string]string{}
	if f.kind == env.Decorator {
		more, notes := decoration(parent)
		addTo(labels, more)
		addTo(annotations, notes)
	}
	parent.SetLabels(labels)
	parent.SetAnnotations(annotations)
	if f.finalizes {
		parent.SetFinalizers([]string{s.finalizer(f, family)})
	}
	w, resource := s.of(f)
	created := s.create(w.In(resource), parent)
	s.T.Cleanup(func() { w.Delete(resource, w.Namespace, name) })
	if f.kind == env.Composite {
		status := statusOf(created)
		status["observedGeneration"] = created.GetGeneration()
		w.Patch(resource, name, mustMarshal(map[string]any{"status": status}), "status")
	}
	return created
}

func (s *testEnv) finalizer(f family, name string) string {
	return "metacontroller.io/" + strings.ToLower(f.kind) + "-" + s.definitionName(name)
}

func addTo(all map[string]string, more map[string]any) {
	for key, value := range more {
		all[key] = fmt.Sprint(value)
	}
}

// createLegacyChild makes what a hook wants, as metacontroller's dynamic apply does.
func (s *testEnv) createLegacyChild(parent *unstructured.Unstructured, f family, family string, wanted map[string]any) {
	s.T.Helper()
	applied := s.completed(parent, f, family, wanted)
	child := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(applied.Object)}
	annotations := child.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lastApplied] = mustMarshal(applied.Object)
	child.SetAnnotations(annotations)
	child.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, parent.GroupVersionKind())})
	s.create(s.Cluster.Dynamic().Resource(resourceOf(child)).Namespace(child.GetNamespace()), child)
}

// completed is what metacontroller makes of a hook's child before it applies it.
func (s *testEnv) completed(parent *unstructured.Unstructured, f family, family string, wanted map[string]any) *unstructured.Unstructured {
	child := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(wanted)}
	if child.GetNamespace() == "" {
		child.SetNamespace(parent.GetNamespace())
	}
	if f.generated {
		child.SetLabels(map[string]string{"controller-uid": string(parent.GetUID())})
	}
	if f.kind == env.Decorator {
		child.SetAnnotations(map[string]string{marker: s.definitionName(family)})
	}
	return child
}

func resourceOf(child *unstructured.Unstructured) schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{"ConfigMap": env.ConfigMaps, "Service": env.Services,
		"Deployment": env.Deployments}[child.GetKind()]
}

// createLegacyRevision makes the ControllerRevision of a parent's text that has the children of these numbers.
func (s *testEnv) createLegacyRevision(parent *unstructured.Unstructured, text string, numbers ...int) string {
	s.T.Helper()
	spec := runtime.DeepCopyJSON(parent.Object["spec"].(map[string]any))
	spec["text"] = text
	patch := map[string]any{"spec": spec}
	var names []any
	for _, n := range numbers {
		names = append(names, fmt.Sprintf("%s-%d", parent.GetName(), n))
	}
	revision := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "ControllerRevision", "parentPatch": patch,
		"children": []any{map[string]any{"apiGroup": "", "kind": "ConfigMap", "names": names}},
	}}
	hash := sha1.Sum(slices.Concat([]byte(parent.GetUID()), []byte(mustMarshal(patch)))) // #nosec G401 -- the same.
	revision.SetName(fmt.Sprintf("things.%s-%x", s.Group, hash))
	revision.SetLabels(map[string]string{
		"controller-uid": string(parent.GetUID()), "metacontroller.k8s.io/apiGroup": s.Group, "metacontroller.k8s.io/resource": "things",
	})
	revision.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, parent.GroupVersionKind())})
	return s.create(s.In(env.Revisions), revision).GetName()
}

// create creates an object in metacontroller's name.
func (s *testEnv) create(client dynamic.ResourceInterface, object *unstructured.Unstructured) *unstructured.Unstructured {
	s.T.Helper()
	created, err := client.Create(s.T.Context(), object, metav1.CreateOptions{FieldManager: "metacontroller"})
	s.NoError(err)
	return created
}

func mustMarshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", value, err))
	}
	return string(text)
}
