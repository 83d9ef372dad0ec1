package kinds

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// wanting makes the ConfigMap that spec.wants names, with the labels that the parent selects.
const wanting = `
export const sync = ({parent: {spec, metadata}}) => ({children: spec.wants ? [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: spec.wants, labels: spec.selector.matchLabels}, data: {text: metadata.name}}] : []});`

const rounds = 10

// TestOneOrphanTwoDefinitions has two definitions want an orphan that becomes adoptable for both at once.
func TestOneOrphanTwoDefinitions(t *testing.T) {
	e := env.NewRunning(t)
	e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
	children := env.UpdatedChildren
	for set, plural := range map[string]string{"left": "things", "right": "things", "other": "gizmos"} {
		e.DefineReady(env.Composite, "-"+set, children, env.Hooks(wanting, "sync"), "resyncPeriodSeconds: 3600",
			fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: %s, labelSelector: {matchLabels: {set: %s}}}", e.Group, plural, set))
	}
	t.Run("OneParentKind", func(t *testing.T) { race(e.WithT(t), "k1", "Thing", "left", "Thing", "right") })
	t.Run("TwoParentKinds", func(t *testing.T) { race(e.WithT(t), "k2", "Thing", "left", "Gizmo", "other") })
}

// race lets two kinds of parents of two definitions race for one orphan, several times.
func race(e *env.Env, prefix, kind1, set1, kind2, set2 string) {
	e.T.Helper()
	wins := map[string]int{}
	for n := range rounds {
		orphan := fmt.Sprintf("%s-%d", prefix, n)
		e.ApplyConfigMap(orphan, "", "found")
		spec := fmt.Sprintf("wants: %s\nselector: {matchLabels: {round: %[1]s}}", orphan)
		e.ApplyCustom(kind1, orphan+"-"+set1, "set: "+set1, spec)
		e.ApplyCustom(kind2, orphan+"-"+set2, "set: "+set2, spec)
		for _, set := range []string{set1, set2} {
			e.WaitForEvent(orphan+"-"+set, "SyncError", "AlreadyOwned: ConfigMap "+e.Namespace+"/"+orphan, "has no owner")
		}
		e.Patch(env.ConfigMaps, orphan, fmt.Sprintf(`{"metadata": {"labels": {"round": %q}}}`, orphan))
		wins[mustOneWin(e, orphan, orphan+"-"+set1, orphan+"-"+set2)]++
	}
	e.T.Logf("the first of the two won %d of %d rounds", wins["first"], rounds)
	e.WaitForQuiet() // Also with the log, which may have the last write only after everybody has seen it.
	mark := e.Mark()
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Writes().Of("", "configmaps").Filter(succeeded), "after all rounds there are still writes")
}

func succeeded(r cluster.Request) bool { return r.Code < 300 }

// mustOneWin waits until one of two parents has an orphan as it was, and the other has an event.
func mustOneWin(e *env.Env, orphan, first, second string) string {
	e.T.Helper()
	before := e.Get(env.ConfigMaps, orphan)
	owned := e.WaitFor(env.ConfigMaps, orphan, func(o *unstructured.Unstructured) error {
		if metav1.GetControllerOf(o) == nil {
			return fmt.Errorf("nobody has adopted %s", orphan)
		}
		return nil
	})
	if owned.GetUID() != before.GetUID() || len(owned.GetOwnerReferences()) != 1 {
		e.T.Errorf("%s was replaced or shared: %v", orphan, owned.GetOwnerReferences())
	}
	owner := metav1.GetControllerOf(owned)
	winner, loser := "first", second
	if owner.Name != first {
		winner, loser = "second", first
	}
	e.WaitForEvent(loser, "SyncError", "AlreadyOwned: ConfigMap "+e.Namespace+"/"+orphan, "belongs to "+owner.Kind+" "+owner.Name,
		", for which CompositeController "+e.Namespace+"-", " makes it, while CompositeController "+e.Namespace+"-", " wants it for this one")
	e.WaitFor(env.ConfigMaps, orphan, env.HasText(owner.Name))
	return winner
}

// wantingThings applies a definition of Things that want one ConfigMap each.
func wantingThings(e *env.Env) {
	e.T.Helper()
	e.DefineReady(env.Composite, "", e.Parent("things", ""),
		env.UpdatedChildren, env.Hooks(wanting, "sync"))
}

func wanter(e *env.Env, name string) *unstructured.Unstructured {
	e.T.Helper()
	return e.ApplyThing(name, "", fmt.Sprintf("wants: %s-child\nselector: {matchLabels: {thing: %[1]s}}", name))
}

func TestOwnerChangedByHand(t *testing.T) {
	e := env.NewRunning(t)
	wantingThings(e)
	a := wanter(e, "a")
	child := e.WaitFor(env.ConfigMaps, "a-child", env.OwnedBy(a))

	// The owner is taken off: the child is adopted again, as it is.
	e.Patch(env.ConfigMaps, "a-child", `{"metadata": {"ownerReferences": null}}`)
	if again := e.WaitFor(env.ConfigMaps, "a-child", env.OwnedBy(a)); again.GetUID() != child.GetUID() {
		t.Error("the child was replaced")
	}

	// Somebody else becomes the owner: the old one gets an event, and goes on when the child is gone.
	e.Apply("{apiVersion: v1, kind: Secret, metadata: {name: some}}")
	secret := e.Get(env.Secrets, "some")
	e.Patch(env.ConfigMaps, "a-child", fmt.Sprintf(
		`{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "some", "uid": %q, "controller": true}]}}`,
		secret.GetUID()))
	e.WaitForEvent("a", "SyncError", "AlreadyOwned: ConfigMap "+e.Namespace+"/a-child", "belongs to Secret some")
	e.WaitFor(env.ConfigMaps, "a-child", env.OwnedBy(secret))
	e.Delete(env.ConfigMaps, e.Namespace, "a-child")
	e.WaitFor(env.ConfigMaps, "a-child", env.OwnedBy(a))
}

// A child that is given to another parent, whose selector it does not match, is released by that one and comes back to
// the first: each of the three steps is due to an event of the child alone.
func TestChildGivenToAnotherParent(t *testing.T) {
	e := env.NewRunning(t)
	wantingThings(e)
	a, b := wanter(e, "a"), wanter(e, "b")
	child := e.WaitFor(env.ConfigMaps, "a-child", env.OwnedBy(a))
	e.WaitFor(env.ConfigMaps, "b-child", env.OwnedBy(b))
	e.WaitForQuiet()
	mark := e.Mark()
	e.Patch(env.ConfigMaps, "a-child", fmt.Sprintf(
		`{"metadata": {"ownerReferences": [{"apiVersion": "%s/v1", "kind": "Thing", "name": "b", "uid": %q, "controller": true}]}}`, e.Group,
		b.GetUID()))
	if again := e.WaitFor(env.ConfigMaps, "a-child", env.OwnedBy(a)); again.GetUID() != child.GetUID() {
		t.Error("the child was replaced")
	}
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Verbs("delete"), "something was deleted on the way")
}

// A decorator's attachments on a parent are no business of a composite's that has children of the same kind, and the other way round.
func TestCompositeAndDecoratorOnOneParent(t *testing.T) {
	e := env.NewRunning(t)
	wantingThings(e)
	e.DefineReady(env.Decorator, "-d", e.Targets("things", ""), "attachments: [{apiVersion: v1, resource: configmaps}]",
		env.Hooks(`export const sync = ({object}) => ({attachments: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: object.metadata.name + "-attached"}}]});`, "sync"))
	a := wanter(e, "a")
	attached := e.WaitFor(env.ConfigMaps, "a-attached", env.OwnedBy(a))
	e.WaitFor(env.ConfigMaps, "a-child", env.OwnedBy(a))
	e.WaitForQuiet()
	if after := e.WaitFor(env.ConfigMaps, "a-attached", env.OwnedBy(a)); after.GetUID() != attached.GetUID() {
		t.Error("the attachment was replaced")
	}
}
