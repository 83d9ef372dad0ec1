package migration

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestMigration starts libretto where metacontroller was. Nothing differs, so nothing is written; what is changed then
// goes through as if it had always been there.
func TestMigration(t *testing.T) {
	families := map[string]family{
		"generated": {kind: composite, version: "v1", method: "InPlace", generated: true, finalizes: true, reason: "children are known by a label of metacontroller's"},
		"selected":  {kind: composite, version: "v2", method: "InPlace", reason: "children are known by the parent's selector"},
		"cluster":   {kind: composite, version: "v2", method: "Recreate", cluster: true, generated: true, finalizes: true, reason: "parents are in no namespace"},
		"decorator": {kind: decorator, version: "v1", method: "InPlace", finalizes: true, reason: "attachments are known by an annotation"},
		"decorated": {kind: decorator, version: "v2", method: "Recreate", cluster: true, reason: "parents are in no namespace"},
	}
	s := newStage(t)
	for name, f := range families {
		s.define(name, f)
		s.leave(name, f)
	}
	mark := s.Mark()
	s.Start(manifest...)
	for name, f := range families {
		s.mustBeServed(name, f)
	}
	s.WaitForQuiet()
	if writes := s.hostsWrites(mark); len(writes) > 0 {
		t.Errorf("where nothing differs libretto writes:\n%s", writes)
	}
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			t.Log(f.reason)
			s := s.in(t)
			s.mustFollow(name, f)
			s.mustEnd(name, f)
		})
	}
}

// parentName is unlike that of other tests' parents, as some are in no namespace.
func (s *stage) parentName(name string) string { return s.definitionName(name) }

// leave makes a family's parent with its children. Somebody else has added to one of them.
func (s *stage) leave(name string, f family) {
	s.T.Helper()
	parent := s.leaveParent(s.parentName(name), f, name, map[string]any{"text": "one", "extra": true})
	for _, child := range s.hooks.wanted(parent, "shared") {
		s.leaveChild(parent, f, name, child.(map[string]any))
	}
	s.Patch(env.ConfigMaps, parent.GetName(), `{"data": {"theirs": "yes"}}`)
	s.WaitFor(deployments, parent.GetName(), func(o *unstructured.Unstructured) error {
		if seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); seen != o.GetGeneration() {
			return fmt.Errorf("generation %d of %s was not seen yet", o.GetGeneration(), o.GetName())
		}
		return nil
	})
}

// mustBeServed waits until a pass over the family's parent has gone well.
func (s *stage) mustBeServed(name string, f family) {
	s.T.Helper()
	labels := map[string]string{"controller": map[string]string{composite: "Composite", decorator: "Decorator"}[f.kind] + "Controller-" + s.definitionName(name), "outcome": "success"}
	cluster.Eventually(s.T, env.Timeout, func() error {
		metrics, err := s.Libretto().Metrics(s.T.Context())
		if err != nil {
			return err
		}
		if metrics.Sum("libretto_reconcile_total", labels) < 1 || s.hooks.calls("/"+f.kind+"/sync", s.parentName(name)) < 1 {
			return fmt.Errorf("%s is not served", name)
		}
		return nil
	})
}

// mustFollow changes the parent, and waits for what the hook makes of it.
func (s *stage) mustFollow(name string, f family) {
	s.T.Helper()
	full := s.parentName(name)
	w, resource := s.of(f)
	before, service := s.Get(env.ConfigMaps, full), s.Get(services, full)
	w.Patch(resource, full, `{"spec": {"text": "two", "extra": null}}`)
	after := s.WaitFor(env.ConfigMaps, full, func(o *unstructured.Unstructured) error {
		if got := field(o, "data", "text"); got != "two" {
			return fmt.Errorf("ConfigMap %s has text %q", full, got)
		}
		return nil
	})
	data := map[string]any{"text": "two", "shared": "shared"}
	if f.method == "InPlace" {
		data["theirs"] = "yes"
	}
	if diff := cmp.Diff(data, after.Object["data"]); diff != "" {
		s.T.Errorf("data after the change (-want +got):\n%s", diff)
	}
	if kept := after.GetUID() == before.GetUID(); kept != (f.method == "InPlace") {
		s.T.Errorf("the ConfigMap was kept: %v, which %s does not", kept, f.method)
	}
	parent := w.Get(resource, full)
	s.mustBeRecorded(parent, f, name, after)
	s.WaitFor(deployments, full, func(o *unstructured.Unstructured) error {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if image := containers[0].(map[string]any)["image"]; image != "example.com/two" {
			return fmt.Errorf("Deployment %s has image %v", full, image)
		}
		return nil
	})
	if again := s.Get(services, full); again.GetResourceVersion() != service.GetResourceVersion() {
		s.T.Errorf("the Service was written, of which nothing has changed")
	}
	w.WaitFor(resource, full, func(o *unstructured.Unstructured) error {
		said := field(o, "status", "text")
		if f.kind == decorator {
			said = o.GetLabels()["decorated"]
		}
		if said != "two" {
			return fmt.Errorf("the parent says %q", said)
		}
		return nil
	})
}

// mustBeRecorded checks that metacontroller would know what was applied.
func (s *stage) mustBeRecorded(parent *unstructured.Unstructured, f family, name string, child *unstructured.Unstructured) {
	s.T.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(child.GetAnnotations()[lastApplied]), &got); err != nil {
		s.T.Fatalf("annotation %s: %v", lastApplied, err)
	}
	want := s.completed(parent, f, name, s.hooks.wanted(parent, "shared")[0].(map[string]any))
	if diff := cmp.Diff(want.Object, got); diff != "" {
		s.T.Errorf("annotation %s (-want +got):\n%s", lastApplied, diff)
	}
}

// mustEnd deletes the parent: its finalizer was metacontroller's, and must not keep it.
func (s *stage) mustEnd(name string, f family) {
	s.T.Helper()
	full := s.parentName(name)
	w, resource := s.of(f)
	policy := metav1.DeletePropagationBackground
	if err := w.In(resource).Delete(s.T.Context(), full, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		s.T.Fatal(err)
	}
	w.WaitForDeletion(resource, full, "")
	s.WaitForDeletion(env.ConfigMaps, full, "")
	s.WaitForDeletion(deployments, full, "")
	if asked := s.hooks.calls("/"+f.kind+"/finalize", full); (asked > 0) != f.finalizes {
		s.T.Errorf("the finalize hook was asked %d times", asked)
	}
}
