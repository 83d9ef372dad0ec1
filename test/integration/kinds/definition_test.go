package kinds

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestConditions follows decorators and maps whose resources come late and go, and whose scripts are wrong.
func TestConditions(t *testing.T) {
	cases := map[string]struct {
		kind, hook, missing, field string
		spec                       func(e *env.Env) string
	}{
		"dec-target": {env.Decorator, "sync", "gizmos", "spec.resources[1]", func(e *env.Env) string {
			return fmt.Sprintf("resources: [{apiVersion: %[1]s/v1, resource: things}, {apiVersion: %[1]s/v1, resource: gizmos}]", e.Group)
		}},
		"dec-attachment": {env.Decorator, "sync", "gizmos", "spec.attachments[0]", func(e *env.Env) string {
			return fmt.Sprintf("resources: [{apiVersion: %[1]s/v1, resource: things}]\nattachments: [{apiVersion: %[1]s/v1, resource: gizmos}]",
				e.Group)
		}},
		"map-parent": {env.Map, "map", "gizmos", "spec.parentResource", func(e *env.Env) string {
			return fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: gizmos}\ninputResources: [{apiVersion: v1, resource: configmaps}]",
				e.Group)
		}},
		"map-input": {env.Map, "map", "gizmos", "spec.inputResources[0]", func(e *env.Env) string {
			return fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: things}\ninputResources: [{apiVersion: %[1]s/v1, resource: gizmos}]", e.Group)
		}},
		"map-output": {env.Map, "map", "gizmos", "spec.outputResources[0]", func(e *env.Env) string {
			return fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: things}\ninputResources: [{apiVersion: v1, resource: configmaps}]\noutputResources: [{apiVersion: %[1]s/v1, resource: gizmos}]", e.Group)
		}},
	}
	e := env.NewRunning(t)
	for name, tc := range cases {
		e.Define(tc.kind, "-"+name, tc.spec(e), env.Hooks("export const "+tc.hook+" = () => ({outputs: [], attachments: []});", tc.hook))
	}
	all := func(check func(kind, name, field string)) {
		t.Helper()
		for name, tc := range cases {
			check(tc.kind, e.Namespace+"-"+name, tc.field)
		}
	}
	missing := func(kind, name, field string) {
		t.Helper()
		e.WaitForConditionOf(kind, name, "Accepted", "False", "ResourceNotFound", field, "gizmos")
		e.WaitForConditionOf(kind, name, "Ready", "False", "NotAccepted")
		e.WaitForEvent(name, "CreateError", field, "gizmos")
	}
	all(missing)
	e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
	all(func(kind, name, _ string) { e.WaitForConditionOf(kind, name, "Accepted", "True") })
	all(func(kind, name, _ string) { e.WaitUntilReady(kind, name) })
	e.Delete(env.CRDs, "", "gizmos."+e.Group)
	all(missing)
	e.WaitForColumns(env.Decorator, e.Namespace+"-dec-target", "False", "NotAccepted", "")
}

// TestInvalidScripts has decorators and maps go on with the spec before.
func TestInvalidScripts(t *testing.T) {
	e := env.NewRunning(t)
	for kind, spec := range map[string]string{
		env.Decorator: e.Targets("things", ""),
		env.Map:       fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}\ninputResources: [{apiVersion: v1, resource: configmaps}]", e.Group),
	} {
		hook := map[string]string{env.Decorator: "sync", env.Map: "map"}[kind]
		name := e.DefineReady(kind, "", spec, env.Hooks("export const "+hook+" = () => ({});", hook))
		e.Define(kind, "", spec, env.Hooks("export const "+hook+" = ) => ({});", hook))
		e.WaitForConditionOf(kind, name, "ScriptsReady", "False", "ScriptInvalid", "inline-"+hook+".js:1:")
		e.WaitForConditionOf(kind, name, "Ready", "False", "EarlierSpecServes")
		e.WaitForColumns(kind, name, "False", "ScriptInvalid", "0")
	}
}

// TestTargetLabelSelector lets a definition go that loses its label: nothing is written any more, finalizers stay.
func TestTargetLabelSelector(t *testing.T) {
	e := env.NewRunning(t, "--target-label-selector=team=blue")
	label := func(kind, name, labels string) {
		t.Helper()
		e.PatchDefinition(kind, name, `{"metadata": {"labels": `+labels+`}}`)
	}
	things := e.Things()
	var all []*finalizing
	for _, kind := range []string{env.Composite, env.Decorator} {
		f := &finalizing{Env: e, kind: kind, set: map[string]string{env.Composite: "c", env.Decorator: "d"}[kind]}
		f.name = e.Namespace + "-" + f.set
		all = append(all, f)
		e.Define(kind, "-"+f.set, parentsAre(e, kind, f.set), env.Hooks(scriptFor(kind, teardown), "sync", "finalize"))
		e.ApplyThing(f.set, "set: "+f.set, fmt.Sprintf("count: 1\nselector: {matchLabels: {thing: %q}}", f.set))
	}
	e.WaitForQuiet()
	for _, f := range all {
		if err := env.HasFinalizer(f.finalizer(), false)(e.Get(things, f.set)); err != nil {
			t.Errorf("a definition without the label is hosted: %v", err)
		}
		label(f.kind, f.name, `{"team": "blue"}`)
		e.WaitUntilReady(f.kind, f.name)
		e.WaitFor(env.ConfigMaps, f.set+"-0", nil)
	}

	for _, f := range all {
		label(f.kind, f.name, `{"team": "red"}`)
		e.WaitForEvent(f.name, "Stopped")
		e.WaitForConditionOf(f.kind, f.name, "Ready", "Unknown", "NotHosted", "--target-label-selector=team=blue")
	}
	mark := e.Mark()
	for _, f := range all {
		e.Patch(things, f.set, `{"spec": {"count": 2}}`)
	}
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Writes(), "what was let go is still written")
	for _, f := range all {
		e.WaitFor(things, f.set, env.HasFinalizer(f.finalizer(), true))
		label(f.kind, f.name, `{"team": "blue"}`)
		e.WaitFor(env.ConfigMaps, f.set+"-1", nil)
		e.WaitUntilReady(f.kind, f.name)
	}
}
