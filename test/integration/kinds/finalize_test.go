package kinds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// teardown makes spec.count ConfigMaps, and takes them down one by one, the last first. With spec.hold it never ends.
const teardown = `
export function sync({PARENT: {metadata: {name}, spec}}) {
  return {CHILDREN: Array.from({length: spec.count}, (_, n) => (
    {apiVersion: "v1", kind: "ConfigMap", metadata: {name: name + "-" + n, labels: {thing: name}}, data: {text: "made"}}))};
}
export function finalize({PARENT: {spec}, CHILDREN: observed}) {
  if (spec.broken) { throw new Error("broken"); }
  const left = Object.values(observed["ConfigMap.v1"]).sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
  return {CHILDREN: spec.hold ? left : left.slice(0, -1), finalized: !spec.hold && left.length === 0};
}`

// scriptFor puts the names that a kind's hooks have for parent and children into a script.
func scriptFor(kind, script string) string {
	if kind == env.Decorator {
		return strings.NewReplacer("PARENT", "object", "CHILDREN", "attachments").Replace(script)
	}
	return strings.NewReplacer("PARENT", "parent", "CHILDREN", "children").Replace(script)
}

func finalizerOf(kind, name string) string {
	return "metacontroller.io/" + strings.ToLower(kind) + "-" + name
}

// finalizing is a definition with a finalize hook.
type finalizing struct {
	*env.Env
	kind, set, name string
}

func (f *finalizing) finalizer() string { return finalizerOf(f.kind, f.name) }

// define applies the definition with the named hooks.
func (f *finalizing) define(names ...string) {
	f.T.Helper()
	f.name = f.Env.DefineReady(f.kind, "-"+f.set, parentsAre(f.Env, f.kind, f.set), env.Hooks(scriptFor(f.kind, teardown), names...))
}

// parent applies a Thing of the definition, and waits until it is held and has its children.
func (f *finalizing) parent(name string, count int, more string) *unstructured.Unstructured {
	f.T.Helper()
	f.ApplyThing(name, "set: "+f.set, fmt.Sprintf("count: %d\nselector: {matchLabels: {thing: %q}}\n%s", count, name, more))
	for n := range count {
		f.WaitFor(env.ConfigMaps, fmt.Sprintf("%s-%d", name, n), nil)
	}
	return f.WaitFor(f.Things(), name, env.HasFinalizer(f.finalizer(), true))
}

// delete deletes a Thing with a propagation policy.
func (f *finalizing) delete(name string, policy metav1.DeletionPropagation) {
	f.T.Helper()
	f.NoError(f.In(f.Things()).Delete(f.T.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// deletions are the ConfigMaps that libretto deleted, in order.
func (f *finalizing) deletions(since cluster.Mark) []string {
	f.T.Helper()
	var names []string
	for _, r := range f.Requests(since).Verbs("delete").Of("", "configmaps").In(f.Namespace) {
		names = append(names, r.Name)
	}
	return names
}

func TestFinalize(t *testing.T) {
	scenarios := map[string]func(*finalizing){
		"first":      finalizerComesFirst,
		"ordered":    teardownIsOrdered,
		"foreground": foregroundDeletion,
		"orphan":     orphanDeletion,
		"optout":     optOut,
		"unhooked":   hookRemoved,
		"undefined":  definitionDeleted,
		"stuck":      definitionDeletedUnderDeletingParent,
		"failing":    failingHookHolds,
	}
	e := env.NewRunning(t)
	for _, kind := range []string{env.Composite, env.Decorator} {
		for name, run := range scenarios {
			t.Run(kind+"/"+name, func(t *testing.T) {
				e := e.WithT(t)
				f := &finalizing{Env: e, kind: kind, set: name + "-" + strings.ToLower(kind[:1])}
				f.define("sync", "finalize")
				run(f)
				e.Delete(env.Definitions(kind), "", f.name)
				e.WaitForEvent(f.name, "Stopped") // Until then it takes its finalizer off, which the next one would take for writes of its own.
			})
		}
	}
}

func finalizerComesFirst(f *finalizing) {
	mark := f.Mark()
	f.parent(f.set, 2, "")
	order := f.Requests(mark).Writes().In(f.Namespace).Filter(func(r cluster.Request) bool { return r.Subresource == "" })
	if len(order) != 3 || order[0].Resource != "things" || order[1].Verb != "create" || order[2].Verb != "create" {
		f.T.Errorf("writes are\n%s\nwant the parent with its finalizer first, then two children created", order)
	}
}

func teardownIsOrdered(f *finalizing) {
	parent := f.parent(f.set, 4, "")
	mark := f.Mark()
	f.delete(f.set, metav1.DeletePropagationBackground)
	f.WaitForDeletion(f.Things(), f.set, parent.GetUID())
	want := []string{f.set + "-3", f.set + "-2", f.set + "-1", f.set + "-0"}
	if got := f.deletions(mark); !slices.Equal(got, want) {
		f.T.Errorf("children were deleted in the order %q, want %q", got, want)
	}
	if left := f.Names(env.ConfigMaps, "thing="+f.set); len(left) > 0 {
		f.T.Errorf("the parent is gone before its children %q", left)
	}
}

// Only the garbage collector deletes the children of a deletion in the foreground.
func foregroundDeletion(f *finalizing) {
	parent := f.parent(f.set, 3, "")
	mark := f.Mark()
	f.delete(f.set, metav1.DeletePropagationForeground)
	f.WaitForDeletion(f.Things(), f.set, parent.GetUID())
	f.WaitForNames(env.ConfigMaps, "thing="+f.set)
	f.mustStandBack(mark, f.set)
}

// mustStandBack checks that libretto wrote no child before the garbage collector took its finalizer off the parent, and
// changed none after: its caches may show the parent's news before those of the children, so that it tries in vain.
func (f *finalizing) mustStandBack(since cluster.Mark, parent string) {
	f.T.Helper()
	all, err := f.Cluster.Requests(f.T.Context(), since, "")
	f.NoError(err)
	writes := all.Writes().In(f.Namespace).Filter(func(r cluster.Request) bool { return r.Resource != "events" })
	// In the order of their coming: who reacts to a write may have an answer before its writer has.
	slices.SortStableFunc(writes, func(a, b cluster.Request) int { return a.Time.Compare(b.Time) })
	collected := false
	for _, r := range writes {
		switch {
		case r.Name == parent && strings.Contains(r.UserAgent, "generic-garbage-collector"):
			collected = true
		case r.Resource == "configmaps" && strings.HasPrefix(r.UserAgent, env.UserAgent) && (!collected || succeeded(r)):
			f.T.Errorf("%s, where the garbage collector was to be left alone:\n%s", r, writes)
		}
	}
}

func orphanDeletion(f *finalizing) {
	parent := f.parent(f.set, 2, "")
	mark := f.Mark()
	f.delete(f.set, metav1.DeletePropagationOrphan)
	f.WaitForDeletion(f.Things(), f.set, parent.GetUID())
	for n := range 2 {
		f.WaitFor(env.ConfigMaps, fmt.Sprintf("%s-%d", f.set, n), env.OwnedBy(nil))
	}
	f.mustStandBack(mark, f.set)
}

func optOut(f *finalizing) {
	parent := f.parent(f.set, 2, "")
	f.Patch(f.Things(), f.set, `{"metadata": {"labels": {"set": "none"}}}`)
	f.WaitFor(f.Things(), f.set, env.HasFinalizer(f.finalizer(), false))
	f.WaitForNames(env.ConfigMaps, "thing="+f.set)

	// It is left alone until it matches again.
	mark := f.Mark()
	f.Patch(f.Things(), f.set, `{"spec": {"count": 1}}`)
	f.parent(f.set+"-witness", 1, "")
	f.NoRequests(f.Requests(mark).Writes().Of(f.Group, "things").Filter(func(r cluster.Request) bool { return r.Name == f.set }),
		"a parent that has opted out is written")
	f.Patch(f.Things(), f.set, fmt.Sprintf(`{"metadata": {"labels": {"set": %q}}}`, f.set))
	f.WaitFor(env.ConfigMaps, f.set+"-0", env.OwnedBy(parent))
	f.WaitFor(f.Things(), f.set, env.HasFinalizer(f.finalizer(), true))
}

func hookRemoved(f *finalizing) {
	f.parent(f.set, 1, "")
	mark := f.Mark()
	f.PatchDefinition(f.kind, f.name, `{"spec": {"hooks": {"finalize": null}}}`)
	f.WaitFor(f.Things(), f.set, env.HasFinalizer(f.finalizer(), false))
	f.Patch(f.Things(), f.set, `{"spec": {"count": 2}}`)
	f.WaitFor(env.ConfigMaps, f.set+"-1", nil)
	if deleted := f.deletions(mark); len(deleted) > 0 {
		f.T.Errorf("%q were deleted", deleted)
	}
}

func definitionDeleted(f *finalizing) {
	for n := range 5 {
		f.parent(fmt.Sprintf("%s-%d", f.set, n), 1, "")
	}
	mark := f.Mark()
	f.Delete(env.Definitions(f.kind), "", f.name)
	for n := range 5 {
		name := fmt.Sprintf("%s-%d", f.set, n)
		parent := f.WaitFor(f.Things(), name, env.HasFinalizer(f.finalizer(), false))
		f.WaitFor(env.ConfigMaps, name+"-0", env.OwnedBy(parent))
	}
	if deleted := f.deletions(mark); len(deleted) > 0 {
		f.T.Errorf("%q were deleted with the definition", deleted)
	}
}

func definitionDeletedUnderDeletingParent(f *finalizing) {
	parent := f.parent(f.set, 1, "hold: true")
	f.delete(f.set, metav1.DeletePropagationBackground)
	f.WaitFor(f.Things(), f.set, func(o *unstructured.Unstructured) error {
		if o.GetDeletionTimestamp() == nil {
			return fmt.Errorf("%s is not being deleted", o.GetName())
		}
		return nil
	})
	f.WaitFor(env.ConfigMaps, f.set+"-0", env.OwnedBy(parent))
	f.Delete(env.Definitions(f.kind), "", f.name)
	f.WaitForDeletion(f.Things(), f.set, parent.GetUID())
	f.WaitForDeletion(env.ConfigMaps, f.set+"-0", "")
}

// A finalize hook that fails leaves everything as it is, and is asked again.
func failingHookHolds(f *finalizing) {
	parent := f.parent(f.set, 1, "hold: true")
	f.delete(f.set, metav1.DeletePropagationBackground)
	f.Patch(f.Things(), f.set, `{"spec": {"broken": true}}`)
	f.WaitForEvent(f.set, "SyncError", "HookFailed: finalize hook: ", "broken")
	f.WaitFor(f.Things(), f.set, env.HasFinalizer(f.finalizer(), true))
	f.WaitFor(env.ConfigMaps, f.set+"-0", env.OwnedBy(parent))
	f.Patch(f.Things(), f.set, `{"spec": {"hold": false, "broken": false}}`)
	f.WaitForDeletion(f.Things(), f.set, parent.GetUID())
}

// The deletion of a CRD deletes its objects, which are finalized like others.
func TestFinalizeAndCRDDeleted(t *testing.T) {
	e := env.NewRunning(t)
	for _, kind := range []string{env.Composite, env.Decorator} {
		f := &finalizing{Env: e, kind: kind, set: strings.ToLower(kind[:1])}
		f.define("sync", "finalize")
		f.parent(f.set, 2, "")
	}
	mark := e.Mark()
	e.Delete(env.CRDs, "", "things."+e.Group)
	e.ClusterScope().WaitForDeletion(env.CRDs, "things."+e.Group, "")
	got := (&finalizing{Env: e}).deletions(mark)
	slices.Sort(got)
	if want := []string{"c-0", "c-1", "d-0", "d-1"}; !slices.Equal(got, want) {
		t.Errorf("%q were taken down, want %q", got, want)
	}
}

// A definition that no longer runs, because a resource of its spec has gone, must not leave undeletable parents either.
func TestFinalizeAndDefinitionThatStopped(t *testing.T) {
	e := env.NewRunning(t)
	e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
	f := &finalizing{Env: e, kind: env.Composite, set: "s"}
	f.name = e.DefineReady(env.Composite, "", fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: things}\nchildResources: [{apiVersion: %[1]s/v1, resource: gizmos}]", e.Group),
		env.Hooks(`export const sync = () => ({children: []}); export const finalize = () => ({children: [], finalized: true});`, "sync",
			"finalize"))
	f.parent("a", 0, "")
	e.Delete(env.CRDs, "", "gizmos."+e.Group)
	e.WaitForConditionOf(env.Composite, f.name, "Ready", "False", "NotAccepted")
	e.Delete(env.CompositeControllers, "", f.name)
	e.WaitFor(e.Things(), "a", env.HasFinalizer(f.finalizer(), false))
}

// A kind that a decorator no longer has is let go, and only that one: the finalizer of the others is not taken off in between.
func TestFinalizeAndTargetDropped(t *testing.T) {
	e := env.NewRunning(t)
	e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
	things, gizmos := fmt.Sprintf("{apiVersion: %s/v1, resource: things}", e.Group),
		fmt.Sprintf("{apiVersion: %s/v1, resource: gizmos}", e.Group)
	script := env.Hooks(`export const sync = () => ({}); export const finalize = () => ({finalized: false});`, "sync", "finalize")
	name := e.DefineReady(env.Decorator, "", "resources: ["+things+", "+gizmos+"]", script)
	finalizer := finalizerOf(env.Decorator, name)
	e.ApplyThing("kept", "", "")
	e.ApplyCustom("Gizmo", "dropped", "", "")
	e.WaitFor(e.Things(), "kept", env.HasFinalizer(finalizer, true))
	e.WaitFor(e.Resource("Gizmo"), "dropped", env.HasFinalizer(finalizer, true))
	e.Delete(e.Things(), e.Namespace, "kept")

	e.DefineReady(env.Decorator, "", "resources: ["+things+"]", script)
	e.WaitFor(e.Resource("Gizmo"), "dropped", env.HasFinalizer(finalizer, false))
	if kept := e.Get(e.Things(), "kept"); kept == nil {
		t.Error("a parent that is still the decorator's went without being finalized")
	}
	e.DefineReady(env.Decorator, "", "resources: ["+things+"]",
		env.Hooks(`export const sync = () => ({}); export const finalize = () => ({finalized: true});`, "sync", "finalize"))
	e.WaitForDeletion(e.Things(), "kept", "")
}
