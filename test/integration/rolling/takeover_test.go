package rolling

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestTakeover lets libretto find what metacontroller has left. Some versions of it wrote the namespace before the
// names of children in revisions.
func TestTakeover(t *testing.T) {
	e := newEnv(t)
	for _, method := range []string{recreate, inPlace} {
		for _, prefix := range []string{"", e.Namespace + "/"} {
			name := strings.ToLower(method) + map[bool]string{true: "-prefixed"}[prefix != ""]
			t.Run(name, func(t *testing.T) { takeOver(define(e.WithT(t), name, cell{method: method}, settings{}), prefix) })
		}
	}
}

func takeOver(d *definition, prefix string) {
	d.T.Helper()
	d.Kill()
	over := d.createLegacy("over", prefix, "v2", "v2", "v2")
	middle := d.createLegacy("middle", prefix, "v2", "v1", "v1")
	atEnd, inMiddle := over.recordWrites(), middle.recordWrites()
	revisions := middle.revisions()
	start(d.Env)
	middle.waitForVersions("v2", "v2", "v1")
	middle.waitForWaiting(1)
	middle.waitForRollout()
	inMiddle.expectUpdates(0, 1, 1)
	inMiddle.expectUnavailable(1)
	for name, revision := range middle.revisions() {
		if before := revisions[name]; before == nil || before.GetUID() != revision.GetUID() {
			d.T.Errorf("revision %s is not one of those that were there: %v", name, before)
		}
	}
	middle.expectQuiet()
	over.touch("again")
	d.NoRequests(atEnd.librettosWrites(), "where nothing differs libretto writes")
}

// librettosWrites returns libretto's writes of the parent, its children and its revisions.
func (j *writeLog) librettosWrites() cluster.Requests {
	j.T.Helper()
	revisions := j.revisions()
	return j.Requests(j.since).Writes().Filter(func(r cluster.Request) bool {
		return strings.HasPrefix(r.Name, j.parent.name) || revisions[r.Name] != nil
	})
}

// createLegacy creates a parent that wants v2 and a child of each version, as metacontroller does.
func (d *definition) createLegacy(name, prefix string, versions ...string) *parent {
	d.T.Helper()
	c := d.newParent(name)
	c.legacy = true
	c.update(spec{count: len(versions), version: "v2"})
	of := map[string][]any{}
	for n, version := range versions {
		c.createLegacyChild(n, version)
		of[version] = append(of[version], prefix+c.childName(n))
	}
	for version, names := range of {
		c.createLegacyRevision(version, names)
	}
	condition := map[string]any{"type": "Updated", "status": "True", "reason": "OnLatestRevision",
		"message": "latest ControllerRevision: " + c.latest()}
	if len(of) > 1 {
		condition = map[string]any{"type": "Updated", "status": "False", "reason": "RolloutWaiting", "message": "missing child"}
	}
	status := map[string]any{"ready": len(versions), "observedGeneration": c.live().GetGeneration(), "conditions": []any{condition}}
	c.parentScope.Patch(c.parentScope.resource, c.name, mustMarshal(map[string]any{"status": status}), "status")
	return c
}

// createLegacyChild creates a child that is ready.
func (c *parent) createLegacyChild(n int, version string) {
	c.T.Helper()
	wanted := map[string]any{
		"apiVersion": c.Group + "/v1", "kind": c.childKind(),
		"metadata": map[string]any{"name": c.childName(n), "namespace": c.Namespace, "labels": map[string]any{"set": c.name}},
		"spec":     map[string]any{"version": version, "motto": c.spec.motto},
	}
	child := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(wanted)}
	child.SetAnnotations(map[string]string{"metacontroller.k8s.io/last-applied-configuration": mustMarshal(wanted)})
	c.create(child)
	c.setReady(n)
}

// createLegacyRevision creates the ControllerRevision of a version.
func (c *parent) createLegacyRevision(version string, names []any) {
	c.T.Helper()
	patch := runtime.DeepCopyJSON(c.revisionPatch())
	c.NoError(unstructured.SetNestedField(patch, version, "spec", "template", "version"))
	revision := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "ControllerRevision",
		"metadata":    map[string]any{"name": c.revisionName(patch)},
		"parentPatch": patch,
		"children":    []any{map[string]any{"apiGroup": c.Group, "kind": c.childKind(), "names": names}},
	}}
	revision.SetLabels(c.revisionLabels())
	c.create(revision)
}

// create creates an object that the parent owns.
func (c *parent) create(object *unstructured.Unstructured) {
	c.T.Helper()
	parent := c.live()
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, parent.GroupVersionKind())})
	object.SetNamespace(c.Namespace)
	resource := c.childScope.resource
	if object.GetKind() == "ControllerRevision" {
		resource = env.Revisions
	}
	if _, err := c.In(resource).Create(c.T.Context(), object, metav1.CreateOptions{}); err != nil {
		c.T.Fatal(err)
	}
}

func mustMarshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", value, err))
	}
	return string(text)
}
