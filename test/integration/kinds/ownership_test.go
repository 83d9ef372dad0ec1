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
	w := newScene(t)
	w.Apply(env.CRD(w.Group, "Gizmo", "Namespaced"))
	children := "childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]"
	for set, plural := range map[string]string{"left": "things", "right": "things", "other": "gizmos"} {
		w.define(composite, "-"+set, children, hooks(wanting, "sync"), "resyncPeriodSeconds: 3600",
			fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: %s, labelSelector: {matchLabels: {set: %s}}}", w.Group, plural, set))
	}
	t.Run("OneParentKind", func(t *testing.T) { w.with(t).race("k1", "Thing", "left", "Thing", "right") })
	t.Run("TwoParentKinds", func(t *testing.T) { w.with(t).race("k2", "Thing", "left", "Gizmo", "other") })
}

// race lets two kinds of parents of two definitions race for one orphan, several times.
func (w *scene) race(prefix, kind1, set1, kind2, set2 string) {
	w.T.Helper()
	wins := map[string]int{}
	for n := range rounds {
		orphan := fmt.Sprintf("%s-%d", prefix, n)
		w.configMap(orphan, "", "found")
		spec := fmt.Sprintf("wants: %s\nselector: {matchLabels: {round: %[1]s}}", orphan)
		w.object(kind1, orphan+"-"+set1, "set: "+set1, spec)
		w.object(kind2, orphan+"-"+set2, "set: "+set2, spec)
		for _, set := range []string{set1, set2} {
			w.WaitForEvent(orphan+"-"+set, "AlreadyOwned", "ConfigMap "+w.Namespace+"/"+orphan, "has no owner")
		}
		w.Patch(env.ConfigMaps, orphan, fmt.Sprintf(`{"metadata": {"labels": {"round": %q}}}`, orphan))
		wins[w.mustOneWin(orphan, orphan+"-"+set1, orphan+"-"+set2)]++
	}
	w.T.Logf("the first of the two won %d of %d rounds", wins["first"], rounds)
	w.WaitForQuiet() // Also with the log, which may have the last write only after everybody has seen it.
	mark := w.Mark()
	w.WaitForQuiet()
	if writes := w.Requests(mark).Writes().Of("", "configmaps").Filter(succeeded); len(writes) > 0 {
		w.T.Errorf("after all rounds there are still writes:\n%s", writes)
	}
}

func succeeded(r cluster.Request) bool { return r.Code < 300 }

// mustOneWin waits until one of two parents has an orphan as it was, and the other has been told.
func (w *scene) mustOneWin(orphan, first, second string) string {
	w.T.Helper()
	before := w.Get(env.ConfigMaps, orphan)
	owned := w.WaitFor(env.ConfigMaps, orphan, func(o *unstructured.Unstructured) error {
		if metav1.GetControllerOf(o) == nil {
			return fmt.Errorf("nobody has adopted %s", orphan)
		}
		return nil
	})
	if owned.GetUID() != before.GetUID() || len(owned.GetOwnerReferences()) != 1 {
		w.T.Errorf("%s was replaced or shared: %v", orphan, owned.GetOwnerReferences())
	}
	owner := metav1.GetControllerOf(owned)
	winner, loser := "first", second
	if owner.Name != first {
		winner, loser = "second", first
	}
	w.WaitForEvent(loser, "AlreadyOwned", "ConfigMap "+w.Namespace+"/"+orphan, "belongs to "+owner.Kind+" "+owner.Name)
	w.WaitFor(env.ConfigMaps, orphan, hasText(owner.Name))
	return winner
}

// wantingThings applies a definition of Things that want one ConfigMap each.
func (w *scene) wantingThings() {
	w.T.Helper()
	w.define(composite, "", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}", w.Group),
		"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]", hooks(wanting, "sync"))
}

func (w *scene) wanter(name string) *unstructured.Unstructured {
	w.T.Helper()
	return w.object("Thing", name, "", fmt.Sprintf("wants: %s-child\nselector: {matchLabels: {thing: %[1]s}}", name))
}

func TestOwnerChangedByHand(t *testing.T) {
	w := newScene(t)
	w.wantingThings()
	a := w.wanter("a")
	child := w.WaitFor(env.ConfigMaps, "a-child", ownedBy(a))

	// The owner is taken off: the child is adopted again, as it is.
	w.Patch(env.ConfigMaps, "a-child", `{"metadata": {"ownerReferences": null}}`)
	if again := w.WaitFor(env.ConfigMaps, "a-child", ownedBy(a)); again.GetUID() != child.GetUID() {
		t.Error("the child was replaced")
	}

	// Somebody else becomes the owner: the old one is told, and goes on when the child is gone.
	w.Apply("{apiVersion: v1, kind: Secret, metadata: {name: some}}")
	secret := w.Get(secrets, "some")
	w.Patch(env.ConfigMaps, "a-child", fmt.Sprintf(
		`{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "some", "uid": %q, "controller": true}]}}`, secret.GetUID()))
	w.WaitForEvent("a", "AlreadyOwned", "ConfigMap "+w.Namespace+"/a-child", "belongs to Secret some")
	w.WaitFor(env.ConfigMaps, "a-child", ownedBy(secret))
	w.Delete(env.ConfigMaps, w.Namespace, "a-child")
	w.WaitFor(env.ConfigMaps, "a-child", ownedBy(a))
}

// A child that is given to another parent, whose selector it does not match, is released by that one and comes back to
// the first: each of the three steps is due to an event of the child alone.
func TestChildGivenToAnotherParent(t *testing.T) {
	w := newScene(t)
	w.wantingThings()
	a, b := w.wanter("a"), w.wanter("b")
	child := w.WaitFor(env.ConfigMaps, "a-child", ownedBy(a))
	w.WaitFor(env.ConfigMaps, "b-child", ownedBy(b))
	w.WaitForQuiet()
	mark := w.Mark()
	w.Patch(env.ConfigMaps, "a-child", fmt.Sprintf(
		`{"metadata": {"ownerReferences": [{"apiVersion": "%s/v1", "kind": "Thing", "name": "b", "uid": %q, "controller": true}]}}`, w.Group, b.GetUID()))
	if again := w.WaitFor(env.ConfigMaps, "a-child", ownedBy(a)); again.GetUID() != child.GetUID() {
		t.Error("the child was replaced")
	}
	w.WaitForQuiet()
	if deleted := w.Requests(mark).Verbs("delete"); len(deleted) > 0 {
		t.Errorf("something was deleted on the way:\n%s", deleted)
	}
}

// A decorator's attachments on a parent are no business of a composite's that has children of the same kind, and the other way round.
func TestCompositeAndDecoratorOnOneParent(t *testing.T) {
	w := newScene(t)
	w.wantingThings()
	w.define(decorator, "-d", fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]", w.Group), "attachments: [{apiVersion: v1, resource: configmaps}]",
		hooks(`export const sync = ({object}) => ({attachments: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: object.metadata.name + "-attached"}}]});`, "sync"))
	a := w.wanter("a")
	attached := w.WaitFor(env.ConfigMaps, "a-attached", ownedBy(a))
	w.WaitFor(env.ConfigMaps, "a-child", ownedBy(a))
	w.WaitForQuiet()
	if after := w.WaitFor(env.ConfigMaps, "a-attached", ownedBy(a)); after.GetUID() != attached.GetUID() {
		t.Error("the attachment was replaced")
	}
}
