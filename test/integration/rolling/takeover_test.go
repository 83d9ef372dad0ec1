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
	s := newStage(t)
	for _, method := range []string{recreate, inPlace} {
		for _, prefix := range []string{"", s.Namespace + "/"} {
			name := strings.ToLower(method) + map[bool]string{true: "-prefixed"}[prefix != ""]
			t.Run(name, func(t *testing.T) { takeOver(s.in(t).define(name, cell{method: method}, settings{}), prefix) })
		}
	}
}

func takeOver(d *definition, prefix string) {
	d.T.Helper()
	d.Kill()
	over := d.leave("over", prefix, "v2", "v2", "v2")
	middle := d.leave("middle", prefix, "v2", "v1", "v1")
	atEnd, inMiddle := over.journal(), middle.journal()
	revisions := middle.revisions()
	d.start()
	middle.mustBe("v2", "v2", "v1")
	middle.mustWaitFor(1)
	middle.mustEnd()
	inMiddle.mustUpdate(0, 1, 1)
	inMiddle.mustBound(1)
	for name, revision := range middle.revisions() {
		if before := revisions[name]; before == nil || before.GetUID() != revision.GetUID() {
			d.T.Errorf("revision %s is not one of those that were there: %v", name, before)
		}
	}
	middle.mustBeQuiet()
	over.touch("again")
	if writes := atEnd.hostsWrites(); len(writes) > 0 {
		d.T.Errorf("where nothing differs libretto writes:\n%s", writes)
	}
}

// hostsWrites are those of libretto that have to do with the crew.
func (j *journal) hostsWrites() cluster.Requests {
	j.T.Helper()
	revisions := j.revisions()
	return j.Requests(j.since).Writes().Filter(func(r cluster.Request) bool {
		return strings.HasPrefix(r.Name, j.crew.name) || revisions[r.Name] != nil
	})
}

// leave makes a parent that wants v2 with a child of each version, as metacontroller leaves them.
func (d *definition) leave(name, prefix string, versions ...string) *crew {
	d.T.Helper()
	c := d.crew(name)
	c.left = true
	c.play(spec{count: len(versions), version: "v2"})
	of := map[string][]any{}
	for n, version := range versions {
		c.leavePart(n, version)
		of[version] = append(of[version], prefix+c.part(n))
	}
	for version, names := range of {
		c.leaveRevision(version, names)
	}
	condition := map[string]any{"type": "Updated", "status": "True", "reason": "OnLatestRevision", "message": "latest ControllerRevision: " + c.latest()}
	if len(of) > 1 {
		condition = map[string]any{"type": "Updated", "status": "False", "reason": "RolloutWaiting", "message": "missing child"}
	}
	status := map[string]any{"well": len(versions), "observedGeneration": c.parent().GetGeneration(), "conditions": []any{condition}}
	c.parents.Patch(c.parents.resource, c.name, mustMarshal(map[string]any{"status": status}), "status")
	return c
}

// leavePart makes a child that is well.
func (c *crew) leavePart(n int, version string) {
	c.T.Helper()
	wanted := map[string]any{
		"apiVersion": c.Group + "/v1", "kind": c.childKind(),
		"metadata": map[string]any{"name": c.part(n), "namespace": c.Namespace, "labels": map[string]any{"crew": c.name}},
		"spec":     map[string]any{"version": version, "motto": c.spec.motto},
	}
	part := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(wanted)}
	part.SetAnnotations(map[string]string{"metacontroller.k8s.io/last-applied-configuration": mustMarshal(wanted)})
	c.create(part)
	c.heal(n)
}

// leaveRevision makes the ControllerRevision of a version.
func (c *crew) leaveRevision(version string, names []any) {
	c.T.Helper()
	patch := runtime.DeepCopyJSON(c.patch())
	if err := unstructured.SetNestedField(patch, version, "spec", "template", "version"); err != nil {
		c.T.Fatal(err)
	}
	revision := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "ControllerRevision",
		"metadata":    map[string]any{"name": c.revisionName(patch)},
		"parentPatch": patch,
		"children":    []any{map[string]any{"apiGroup": c.Group, "kind": c.childKind(), "names": names}},
	}}
	revision.SetLabels(c.revisionLabels())
	c.create(revision)
}

// create makes an object that the parent owns.
func (c *crew) create(object *unstructured.Unstructured) {
	c.T.Helper()
	parent := c.parent()
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, parent.GroupVersionKind())})
	object.SetNamespace(c.Namespace)
	resource := c.parts.resource
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
