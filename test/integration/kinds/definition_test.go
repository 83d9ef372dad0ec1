package kinds

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestConditions follows decorators and maps whose resources come late and go, and whose scripts are wrong.
func TestConditions(t *testing.T) {
	cases := map[string]struct {
		kind, hook, missing, field string
		spec                       func(w *scene) string
	}{
		"dec-target": {decorator, "sync", "gizmos", "spec.resources[1]", func(w *scene) string {
			return fmt.Sprintf("resources: [{apiVersion: %[1]s/v1, resource: things}, {apiVersion: %[1]s/v1, resource: gizmos}]", w.Group)
		}},
		"dec-attachment": {decorator, "sync", "gizmos", "spec.attachments[0]", func(w *scene) string {
			return fmt.Sprintf("resources: [{apiVersion: %[1]s/v1, resource: things}]\nattachments: [{apiVersion: %[1]s/v1, resource: gizmos}]", w.Group)
		}},
		"map-parent": {mapping, "map", "gizmos", "spec.parentResource", func(w *scene) string {
			return fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: gizmos}\ninputResources: [{apiVersion: v1, resource: configmaps}]", w.Group)
		}},
		"map-input": {mapping, "map", "gizmos", "spec.inputResources[0]", func(w *scene) string {
			return fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: things}\ninputResources: [{apiVersion: %[1]s/v1, resource: gizmos}]", w.Group)
		}},
		"map-output": {mapping, "map", "gizmos", "spec.outputResources[0]", func(w *scene) string {
			return fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: things}\ninputResources: [{apiVersion: v1, resource: configmaps}]\noutputResources: [{apiVersion: %[1]s/v1, resource: gizmos}]", w.Group)
		}},
	}
	w := newScene(t)
	for name, tc := range cases {
		w.applyDefinition(tc.kind, w.Namespace+"-"+name, tc.spec(w), hooks("export const "+tc.hook+" = () => ({outputs: [], attachments: []});", tc.hook))
	}
	all := func(check func(kind, name, field string)) {
		t.Helper()
		for name, tc := range cases {
			check(tc.kind, w.Namespace+"-"+name, tc.field)
		}
	}
	missing := func(kind, name, field string) {
		t.Helper()
		w.mustCondition(kind, name, "Accepted", "False", "ResourceNotFound", field, "gizmos")
		w.mustCondition(kind, name, "Ready", "False", "NotAccepted")
		w.WaitForEvent(name, "CreateError", field, "gizmos")
	}
	all(missing)
	w.Apply(env.CRD(w.Group, "Gizmo", "Namespaced"))
	all(func(kind, name, _ string) { w.mustCondition(kind, name, "Accepted", "True") })
	all(func(kind, name, _ string) { w.ready(kind, name) })
	w.Delete(env.CRDs, "", "gizmos."+w.Group)
	all(missing)
	w.mustColumns(decorator, w.Namespace+"-dec-target", "False", "NotAccepted", "")
}

// applyDefinition applies a definition and does not wait.
func (w *scene) applyDefinition(kind, name, spec, hooks string) {
	w.T.Helper()
	w.Apply(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n%s", env.CompositeControllers.GroupVersion(), kind, name, env.Indent(spec+"\n"+hooks)))
	if kind != composite {
		w.T.Cleanup(func() { w.Delete(definitionsOf(kind), "", name) })
	}
}

// TestInvalidScripts has decorators and maps go on with the spec before.
func TestInvalidScripts(t *testing.T) {
	w := newScene(t)
	for kind, spec := range map[string]string{
		decorator: fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]", w.Group),
		mapping:   fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}\ninputResources: [{apiVersion: v1, resource: configmaps}]", w.Group),
	} {
		hook := map[string]string{decorator: "sync", mapping: "map"}[kind]
		name := w.define(kind, "", spec, hooks("export const "+hook+" = () => ({});", hook))
		w.applyDefinition(kind, name, spec, hooks("export const "+hook+" = ) => ({});", hook))
		w.mustCondition(kind, name, "ScriptsReady", "False", "ScriptInvalid", "inline-"+hook+".js:1:")
		w.mustCondition(kind, name, "Ready", "False", "EarlierSpecServes")
		w.mustColumns(kind, name, "False", "ScriptInvalid", "0")
	}
}

// TestTargetLabelSelector lets a definition go that loses its label: nothing is written any more, finalizers stay.
func TestTargetLabelSelector(t *testing.T) {
	w := newScene(t, "--target-label-selector=team=blue")
	labelled := func(kind, name, labels string) {
		t.Helper()
		_, err := w.Cluster.Dynamic().Resource(definitionsOf(kind)).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata": {"labels": `+labels+`}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	things := w.resource("Thing")
	var all []*finalizing
	for _, kind := range []string{composite, decorator} {
		f := &finalizing{scene: w, kind: kind, set: map[string]string{composite: "c", decorator: "d"}[kind]}
		f.name = w.Namespace + "-" + f.set
		all = append(all, f)
		w.applyDefinition(kind, f.name, w.parentsAre(kind, f.set), hooks(scriptFor(kind, teardown), "sync", "finalize"))
		w.object("Thing", f.set, "set: "+f.set, fmt.Sprintf("count: 1\nselector: {matchLabels: {thing: %q}}", f.set))
	}
	w.WaitForQuiet()
	for _, f := range all {
		if err := held(f.finalizer(), false)(w.Get(things, f.set)); err != nil {
			t.Errorf("a definition without the label is hosted: %v", err)
		}
		labelled(f.kind, f.name, `{"team": "blue"}`)
		w.ready(f.kind, f.name)
		w.WaitFor(env.ConfigMaps, f.set+"-0", nil)
	}

	for _, f := range all {
		labelled(f.kind, f.name, `{"team": "red"}`)
		w.WaitForEvent(f.name, "Stopped")
		w.mustCondition(f.kind, f.name, "Ready", "Unknown", "NotHosted", "--target-label-selector=team=blue")
	}
	mark := w.Mark()
	for _, f := range all {
		w.Patch(things, f.set, `{"spec": {"count": 2}}`)
	}
	w.WaitForQuiet()
	if writes := w.Requests(mark).Writes(); len(writes) > 0 {
		t.Errorf("what was let go is still written:\n%s", writes)
	}
	for _, f := range all {
		w.WaitFor(things, f.set, held(f.finalizer(), true))
		labelled(f.kind, f.name, `{"team": "blue"}`)
		w.WaitFor(env.ConfigMaps, f.set+"-1", nil)
		w.ready(f.kind, f.name)
	}
}
