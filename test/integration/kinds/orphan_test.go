package kinds

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/test/env"
)

// orphaning is a hook that wants a ConfigMap, unless the parent says that it does not.
const orphaning = `export const sync = ({parent: {metadata: {name}, spec}}) => ({children: spec.unwanted ? [] : [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name, labels: {app: name}}, data: {text: spec.text ?? "made"}}]})`

// owners checks which owners an object has: its controller, and the namespace by which it outlives that.
func owners(controller, namespace bool) env.Check {
	return func(o *unstructured.Unstructured) error {
		if owner := metav1.GetControllerOf(o); (owner != nil) != controller {
			return fmt.Errorf("its controller is %v", owner)
		}
		if owner := apply.NamespaceOwnerOf(o); (owner != nil) != namespace {
			return fmt.Errorf("the namespace among its owners: %v", owner)
		}
		return nil
	}
}

// TestOrphan lets go of children whatever becomes of what wants them: the hook, the parent, the host.
func TestOrphan(t *testing.T) {
	e := env.NewRunning(t)
	for name, strategy := range map[string]string{"dynamic": "DynamicApply", "serverside": "ServerSideApply"} {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			define := func(policy string) {
				e.DefineReady(env.Composite, "-"+name, e.Parent("things", name), env.Hooks(orphaning, "sync"),
					"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}, applyStrategy: "+strategy+policy+"}]")
			}
			define(", deletionPolicy: Orphan")
			e.ApplyThing(name, "set: "+name, "selector: {matchLabels: {app: "+name+"}}")
			uid := e.WaitFor(env.ConfigMaps, name, owners(true, true)).GetUID()

			e.Patch(e.Things(), name, `{"spec": {"unwanted": true}}`)
			e.WaitFor(env.ConfigMaps, name, owners(false, true))
			e.WaitForEvent(name, "Orphaned", "Let go of 1 ConfigMap: "+name)
			e.WaitForQuiet()
			e.NoError(owners(false, true)(e.Get(env.ConfigMaps, name))) // Its labels match: it is not adopted again.
			e.Patch(e.Things(), name, `{"spec": {"unwanted": false, "text": "again"}}`)
			e.WaitFor(env.ConfigMaps, name, env.HasText("again"))
			taken := e.WaitFor(env.ConfigMaps, name, owners(true, true))
			if _, marked := taken.GetAnnotations()[apply.OrphanedBy]; marked || taken.GetUID() != uid {
				t.Errorf("it was not taken back as it should: %v", taken)
			}

			define("") // By Delete the child is the garbage collector's, and by Orphan again it is not.
			e.WaitFor(env.ConfigMaps, name, owners(true, false))
			e.WaitForQuiet()
			define(", deletionPolicy: Orphan")
			e.WaitFor(env.ConfigMaps, name, owners(true, true))
			e.WaitForQuiet()

			for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground} {
				e.NoError(e.In(e.Things()).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
				e.WaitFor(env.ConfigMaps, name, owners(false, true))
				e.WaitForDeletion(e.Things(), name, "")
				e.ApplyThing(name, "set: "+name, "selector: {matchLabels: {app: "+name+"}}") // Another parent adopts it.
				if now := e.WaitFor(env.ConfigMaps, name, owners(true, true)); now.GetUID() != uid {
					t.Errorf("%s: another object is there", policy)
				}
			}
		})
	}
}

// TestOrphanOfKinds lets go of what a decorator, a map, and a parent without a namespace have made, and takes it back.
func TestOrphanOfKinds(t *testing.T) {
	e := newMapScene(t)
	e.Apply(env.CRD(e.Group, "Globe", "Cluster"))
	const rule = `[{apiVersion: v1, resource: configmaps, deletionPolicy: Orphan}]`
	for kind, spec := range map[string][]string{
		env.Decorator: {e.Targets("things", "decorated"), "attachments: " + rule, env.Hooks(
			`export const sync = ({object: {metadata: {name}, spec}}) => ({attachments: spec.unwanted ? [] : [
			  {apiVersion: "v1", kind: "ConfigMap", metadata: {name}}]})`, "sync")},
		env.Map: {e.Parent("things", "mapped"), "inputResources: [{apiVersion: " + e.Group + "/v1, resource: gizmos}]", "outputResources: " + rule, env.Hooks(
			`export const map = ({input: {metadata: {name}, spec}}) => ({outputs: spec.unwanted ? [] : [
			  {apiVersion: "v1", kind: "ConfigMap", metadata: {name}}]})`, "map")},
	} {
		t.Run(kind, func(t *testing.T) {
			e := e.WithT(t)
			e.DefineReady(kind, "", spec...)
			wants := e.Things()
			name := strings.ToLower(kind)
			if kind == env.Decorator {
				e.ApplyThing(name, "set: decorated", "")
			} else {
				wants = e.Resource("Gizmo")
				e.ApplyThing("bucket", "set: mapped", "selector: {matchLabels: {of: bucket}}")
				gizmo(e, name, "bucket", "")
			}
			uid := e.WaitFor(env.ConfigMaps, name, owners(true, true)).GetUID()
			e.Patch(wants, name, `{"spec": {"unwanted": true}}`)
			e.WaitFor(env.ConfigMaps, name, owners(false, true))
			e.Patch(wants, name, `{"spec": {"unwanted": false}}`)
			if now := e.WaitFor(env.ConfigMaps, name, owners(true, true)); now.GetUID() != uid {
				t.Error("another object is there")
			}
		})
	}
	t.Run("cluster", func(t *testing.T) {
		e := e.WithT(t)
		e.DefineReady(env.Composite, "", e.Parent("globes", ""), "generateSelector: true",
			"deletionPolicy: Orphan", "childResources: [{apiVersion: rbac.authorization.k8s.io/v1, resource: clusterroles}]",
			env.Hooks(`export const sync = ({parent: {metadata: {name}}}) => ({children: [
			  {apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: {name}}]})`, "sync"))
		clusterRoles := rbacv1.SchemeGroupVersion.WithResource("clusterroles")
		globes, roles := e.Cluster.Dynamic().Resource(e.Resource("Globe")), e.Cluster.Dynamic().Resource(clusterRoles)
		name := e.Namespace + "-globe"
		t.Cleanup(func() { e.Delete(clusterRoles, "", name) })
		e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Globe, metadata: {name: %s}, spec: {}}", e.Group, name))
		wait := func(check env.Check) (role *unstructured.Unstructured) {
			e.Eventually(func() (err error) {
				if role, err = roles.Get(t.Context(), name, metav1.GetOptions{}); err == nil {
					err = check(role)
				}
				return err
			})
			return role
		}
		uid, foreground := wait(owners(true, true)).GetUID(), metav1.DeletePropagationForeground
		e.NoError(globes.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &foreground}))
		if wait(owners(false, true)).GetUID() != uid {
			t.Error("another object is there")
		}
	})
}

// TestOrphanOfAnotherDefinition has two definitions let go of children of the same parent. One does not take what the other has let go of,
// which would let go of it again.
func TestOrphanOfAnotherDefinition(t *testing.T) {
	e := env.NewRunning(t)
	for _, name := range []string{"left", "right"} {
		e.DefineReady(env.Decorator, "-"+name, e.Targets("things", "two"), "attachments: [{apiVersion: v1, resource: configmaps, deletionPolicy: Orphan}]",
			env.Hooks(fmt.Sprintf(`export const sync = ({object: {metadata: {name}, spec}}) => ({attachments: spec.of !== %q ? [] : [
			  {apiVersion: "v1", kind: "ConfigMap", metadata: {name}}]})`, name), "sync"))
	}
	e.ApplyThing("p", "set: two", "of: left")
	e.WaitFor(env.ConfigMaps, "p", owners(true, true))
	e.Patch(e.Things(), "p", `{"spec": {"of": "right"}}`)
	e.WaitForEvent("p", "SyncError", "exists and has no owner")
	e.WaitForQuiet()
	e.NoError(owners(false, true)(e.Get(env.ConfigMaps, "p")))
	e.Patch(e.Things(), "p", `{"spec": {"of": "left"}}`)
	e.WaitFor(env.ConfigMaps, "p", owners(true, true))
}

// TestOrphanInFinalize has a finalize hook want what its parent has let go of.
func TestOrphanInFinalize(t *testing.T) {
	e := env.NewRunning(t)
	e.DefineReady(env.Composite, "", e.Parent("things", "finalized"), "childResources: [{apiVersion: v1, resource: configmaps, deletionPolicy: Orphan}]",
		env.Hooks(orphaning+`
export const finalize = ({parent, children}) => ({
  children: sync({parent: {...parent, spec: {}}}).children, finalized: Object.keys(children["ConfigMap.v1"]).length > 0})`, "sync", "finalize"))
	e.ApplyThing("p", "set: finalized", "selector: {matchLabels: {app: p}}")
	uid := e.WaitFor(env.ConfigMaps, "p", owners(true, true)).GetUID()
	e.Patch(e.Things(), "p", `{"spec": {"unwanted": true}}`)
	e.WaitFor(env.ConfigMaps, "p", owners(false, true))
	e.Delete(e.Things(), e.Namespace, "p")
	e.WaitForDeletion(e.Things(), "p", "")
	if now := e.WaitFor(env.ConfigMaps, "p", owners(false, true)); now.GetUID() != uid {
		t.Error("another object is there")
	}
}
