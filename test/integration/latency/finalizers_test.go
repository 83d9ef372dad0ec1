package latency

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/delayproxy"
	"github.com/libretto-k8s/libretto/test/env"
)

// finalizing are hooks that never let a parent go.
const finalizing = `
export const sync = () => ({children: []});
export const finalize = () => ({children: [], finalized: false});`

// finalizerOf is the finalizer of a CompositeController.
func finalizerOf(name string) string {
	return (&v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: name}}).Finalizer()
}

// held are the Things with a finalizer, as the API server has them.
func (w *scene) held(finalizer string) []string {
	w.T.Helper()
	var held []string
	for name, thing := range w.List(w.things(), "") {
		if slices.Contains(thing.GetFinalizers(), finalizer) {
			held = append(held, name)
		}
	}
	return held
}

// manyThings creates Things of one kind, with a label.
func (w *scene) manyThings(prefix string, count int) {
	w.T.Helper()
	for n := range count {
		thing := w.Parse(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s-%d}, spec: {selector: {matchLabels: {thing: x}}}}", w.Group, prefix, n))
		if _, err := w.In(w.things()).Create(w.T.Context(), thing, metav1.CreateOptions{}); err != nil {
			w.T.Fatal(err)
		}
	}
}

// decorators is the resource of DecoratorControllers.
var decorators = env.CompositeControllers.GroupVersion().WithResource("decoratorcontrollers")

// A definition is deleted in the midst of putting its finalizer on many parents. What was sent and not answered was done
// all the same, and the caches do not show it. It is a decorator without a status, so that the finalizer is the only
// write: a conflict would have them looked at again.
func TestDefinitionDeletedWhileFinalizersAreAdded(t *testing.T) {
	eachLag(t, func(t *testing.T, lag time.Duration) {
		w := newScene(t, lag, "--workers=10")
		w.manyThings("thing", 150)
		w.slow(lag, delayproxy.Rule{Verbs: []string{"patch"}, Resources: []string{"things"}, Reply: 300 * time.Millisecond})
		w.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: %[1]s}
spec:
  resources: [{apiVersion: %[2]s/v1, resource: things}]
  hooks:
    sync: {version: v2, script: {engine: JavaScript, inline: %[3]s}}
    finalize: {version: v2, script: {engine: JavaScript, inline: %[3]s}}`, w.Namespace, w.Group, env.Quote(`
export const sync = () => ({});
export const finalize = () => ({finalized: false});`)))
		t.Cleanup(func() { w.Delete(decorators, "", w.Namespace) })
		finalizer := v1alpha1.FinalizerOf(v1alpha1.DecoratorControllerKind, w.Namespace)
		cluster.Eventually(t, patience, func() error {
			if held := len(w.held(finalizer)); held < 40 {
				return fmt.Errorf("only %d parents are held", held)
			}
			return nil
		})
		w.Delete(decorators, "", w.Namespace)
		w.WaitForEvent(w.Namespace, "Stopped") // After that nobody takes anything off.
		if held := w.held(finalizer); len(held) > 0 {
			t.Errorf("%d parents are held by a definition that is gone: %q", len(held), held)
		}
	})
}

// A definition is deleted while no host runs: the next one lets its parents go, and only its own.
func TestDefinitionDeletedWhileNoHostRan(t *testing.T) {
	w := newScene(t, lags[0])
	gone, long, kept := w.Namespace+"-gone", w.Namespace+"-"+strings.Repeat("long", 12), w.Namespace+"-kept"
	for _, name := range []string{gone, long, kept} {
		w.define(name, finalizing, []string{"sync", "finalize"}, "")
	}
	w.manyThings("thing", 5)
	all := map[string]int{gone: 5, long: 5, kept: 5}
	w.mustHold(all)
	w.Kill()
	for _, name := range []string{gone, long} {
		w.Delete(env.CompositeControllers, "", name)
	}
	w.mustHold(all) // Nobody runs who could change it.

	// A host that is told to leave the other definition alone does so.
	w.Start("--kubeconfig", w.proxy.Kubeconfig, "--target-label-selector=mine=true")
	w.mustHold(map[string]int{gone: 0, long: 0, kept: 5})
	cluster.Eventually(t, patience, func() error {
		if log := w.Libretto().Log(); !strings.Contains(log, "finalizers of definitions that are gone have been looked for") {
			return fmt.Errorf("the host still looks for finalizers")
		}
		return nil
	})
	w.mustHold(map[string]int{gone: 0, long: 0, kept: 5})
}

// mustHold waits until each definition holds so many Things.
func (w *scene) mustHold(want map[string]int) {
	w.T.Helper()
	cluster.Eventually(w.T, 2*patience, func() error {
		for name, count := range want {
			if held := w.held(finalizerOf(name)); len(held) != count {
				return fmt.Errorf("%s holds %q, want %d", name, held, count)
			}
		}
		return nil
	})
}
