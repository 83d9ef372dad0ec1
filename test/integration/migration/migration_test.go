package migration

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestMigration starts libretto where metacontroller was. Nothing differs, so nothing is written; what is changed then
// goes through as if it had always been there.
func TestMigration(t *testing.T) {
	families := map[string]family{
		"generated": {kind: env.Composite, version: "v1", method: "InPlace", generated: true, finalizes: true,
			reason: "children are known by a label of metacontroller's"},
		"selected": {kind: env.Composite, version: "v2", method: "InPlace", reason: "children are known by the parent's selector"},
		"cluster": {kind: env.Composite, version: "v2", method: "Recreate", cluster: true, generated: true, finalizes: true,
			reason: "parents are in no namespace"},
		"decorator": {kind: env.Decorator, version: "v1", method: "InPlace", finalizes: true, reason: "attachments are known by an annotation"},
		"decorated": {kind: env.Decorator, version: "v2", method: "Recreate", cluster: true, reason: "parents are in no namespace"},
	}
	s := newEnv(t)
	for name, f := range families {
		s.define(name, f)
		s.createLegacy(name, f)
	}
	mark := s.Mark()
	s.Start(manifest...)
	for name, f := range families {
		s.waitUntilServed(name, f)
	}
	s.WaitForQuiet()
	s.NoRequests(s.librettosWrites(mark), "where nothing differs libretto writes")
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			t.Log(f.reason)
			s := s.in(t)
			s.expectFollows(name, f)
			s.expectDeletion(name, f)
		})
	}
}

// parentName is unlike that of other tests' parents, as some are in no namespace.
func (s *testEnv) parentName(name string) string { return s.definitionName(name) }

// createLegacy makes a family's parent with its children. Somebody else has added to one of them.
func (s *testEnv) createLegacy(name string, f family) {
	s.T.Helper()
	parent := s.createLegacyParent(s.parentName(name), f, name, map[string]any{"text": "one", "extra": true})
	for _, child := range s.hooks.desired(parent, "shared") {
		s.createLegacyChild(parent, f, name, child.(map[string]any))
	}
	s.Patch(env.ConfigMaps, parent.GetName(), `{"data": {"theirs": "yes"}}`)
	s.WaitFor(env.Deployments, parent.GetName(), env.IsObserved)
}

// waitUntilServed waits until a pass over the family's parent has gone well.
func (s *testEnv) waitUntilServed(name string, f family) {
	s.T.Helper()
	s.Eventually(func() error {
		if s.ReconcilesOf(f.kind, s.definitionName(name), "success") < 1 || s.hooks.calls(f.path("sync"), s.parentName(name)) < 1 {
			return fmt.Errorf("%s is not served", name)
		}
		return nil
	})
}

// expectFollows changes the parent, and waits for what the hook makes of it.
func (s *testEnv) expectFollows(name string, f family) {
	s.T.Helper()
	full := s.parentName(name)
	w, resource := s.of(f)
	before, service := s.Get(env.ConfigMaps, full), s.Get(env.Services, full)
	w.Patch(resource, full, `{"spec": {"text": "two", "extra": null}}`)
	after := s.WaitFor(env.ConfigMaps, full, env.HasText("two"))
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
	s.expectLastApplied(parent, f, name, after)
	s.WaitFor(env.Deployments, full, func(o *unstructured.Unstructured) error {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if image := containers[0].(map[string]any)["image"]; image != "example.com/two" {
			return fmt.Errorf("Deployment %s has image %v", full, image)
		}
		return nil
	})
	if again := s.Get(env.Services, full); again.GetResourceVersion() != service.GetResourceVersion() {
		s.T.Errorf("the Service was written, of which nothing has changed")
	}
	path := []string{"status", "text"}
	if f.kind == env.Decorator {
		path = []string{"metadata", "labels", "decorated"}
	}
	w.WaitFor(resource, full, env.HasField("two", path...))
}

// expectLastApplied checks that metacontroller would know what was applied.
func (s *testEnv) expectLastApplied(parent *unstructured.Unstructured, f family, name string, child *unstructured.Unstructured) {
	s.T.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(child.GetAnnotations()[lastApplied]), &got); err != nil {
		s.T.Fatalf("annotation %s: %v", lastApplied, err)
	}
	want := s.completed(parent, f, name, s.hooks.desired(parent, "shared")[0].(map[string]any))
	if diff := cmp.Diff(want.Object, got); diff != "" {
		s.T.Errorf("annotation %s (-want +got):\n%s", lastApplied, diff)
	}
}

// expectDeletion deletes the parent: its finalizer was metacontroller's, and must not keep it.
func (s *testEnv) expectDeletion(name string, f family) {
	s.T.Helper()
	full := s.parentName(name)
	w, resource := s.of(f)
	policy := metav1.DeletePropagationBackground
	s.NoError(w.In(resource).Delete(s.T.Context(), full, metav1.DeleteOptions{PropagationPolicy: &policy}))
	w.WaitForDeletion(resource, full, "")
	s.WaitForDeletion(env.ConfigMaps, full, "")
	s.WaitForDeletion(env.Deployments, full, "")
	if asked := s.hooks.calls(f.path("finalize"), full); (asked > 0) != f.finalizes {
		s.T.Errorf("the finalize hook was asked %d times", asked)
	}
}
