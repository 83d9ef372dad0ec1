package migration

import (
	"crypto/sha1" // #nosec G505 -- metacontroller's names are made of it.
	"encoding/json"
	"fmt"
	"slices"

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
	kind      string // composite or decorator
	cluster   bool   // its parents are in no namespace
	generated bool   // generateSelector
	finalizes bool
	version   string
	method    string
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

// leaveParent makes a parent as metacontroller leaves it.
func (s *stage) leaveParent(name string, f family, family string, spec map[string]any) *unstructured.Unstructured {
	s.T.Helper()
	if f.kind == composite && !f.generated {
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"parent": name}}
	}
	parent := &unstructured.Unstructured{Object: map[string]any{"apiVersion": s.Group + "/v1", "kind": f.parentKind(), "spec": spec}}
	parent.SetName(name)
	labels, annotations := map[string]string{"family": family}, map[string]string{}
	if f.kind == decorator {
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
	if f.kind == composite {
		status := statusOf(created)
		status["observedGeneration"] = created.GetGeneration()
		w.Patch(resource, name, mustMarshal(map[string]any{"status": status}), "status")
	}
	return created
}

func (s *stage) finalizer(f family, name string) string {
	return "metacontroller.io/" + f.kind + "controller-" + s.definitionName(name)
}

func addTo(all map[string]string, more map[string]any) {
	for key, value := range more {
		all[key] = fmt.Sprint(value)
	}
}

// leaveChild makes what a hook wants, as metacontroller's dynamic apply does.
func (s *stage) leaveChild(parent *unstructured.Unstructured, f family, family string, wanted map[string]any) {
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
func (s *stage) completed(parent *unstructured.Unstructured, f family, family string, wanted map[string]any) *unstructured.Unstructured {
	child := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(wanted)}
	if child.GetNamespace() == "" {
		child.SetNamespace(parent.GetNamespace())
	}
	if f.generated {
		child.SetLabels(map[string]string{"controller-uid": string(parent.GetUID())})
	}
	if f.kind == decorator {
		child.SetAnnotations(map[string]string{marker: s.definitionName(family)})
	}
	return child
}

func resourceOf(child *unstructured.Unstructured) schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{"ConfigMap": env.ConfigMaps, "Service": services, "Deployment": deployments}[child.GetKind()]
}

// leaveRevision makes the ControllerRevision of a parent's text that has the children of these numbers.
func (s *stage) leaveRevision(parent *unstructured.Unstructured, text string, numbers ...int) string {
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
func (s *stage) create(client dynamic.ResourceInterface, object *unstructured.Unstructured) *unstructured.Unstructured {
	s.T.Helper()
	created, err := client.Create(s.T.Context(), object, metav1.CreateOptions{FieldManager: "metacontroller"})
	if err != nil {
		s.T.Fatal(err)
	}
	return created
}

func mustMarshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", value, err))
	}
	return string(text)
}
