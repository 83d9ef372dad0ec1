package latency

import (
	"errors"
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
func (e *delayedEnv) held(finalizer string) []string {
	e.T.Helper()
	var held []string
	for name, thing := range e.List(e.Things(), "") {
		if slices.Contains(thing.GetFinalizers(), finalizer) {
			held = append(held, name)
		}
	}
	return held
}

// manyThings creates Things of one kind, with a label.
func (e *delayedEnv) manyThings(prefix string, count int) {
	e.T.Helper()
	for n := range count {
		thing := e.Parse(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s-%d}, spec: {selector: {matchLabels: {thing: x}}}}",
			e.Group, prefix, n))
		if _, err := e.In(e.Things()).Create(e.T.Context(), thing, metav1.CreateOptions{}); err != nil {
			e.T.Fatal(err)
		}
	}
}

// A definition is deleted in the midst of putting its finalizer on many parents. What was sent and not answered was done
// all the same, and the caches do not show it. It is a decorator without a status, so that the finalizer is the only
// write: a conflict would have them looked at again.
func TestDefinitionDeletedWhileFinalizersAreAdded(t *testing.T) {
	eachLag(t, func(t *testing.T, lag time.Duration) {
		e := newEnv(t, lag, "--workers=10")
		e.manyThings("thing", 150)
		e.slow(lag, delayproxy.Rule{Verbs: []string{"patch"}, Resources: []string{"things"}, Reply: 300 * time.Millisecond})
		e.Define(env.Decorator, "", e.Targets("things", ""), env.Hooks(`
export const sync = () => ({});
export const finalize = () => ({finalized: false});`, "sync", "finalize"))
		finalizer := v1alpha1.FinalizerOf(v1alpha1.DecoratorControllerKind, e.Namespace)
		cluster.Eventually(t, patience, func() error {
			if held := len(e.held(finalizer)); held < 40 {
				return fmt.Errorf("only %d parents are held", held)
			}
			return nil
		})
		e.Delete(env.DecoratorControllers, "", e.Namespace)
		e.WaitForEvent(e.Namespace, "Stopped") // After that no finalizer is removed.
		if held := e.held(finalizer); len(held) > 0 {
			t.Errorf("%d parents are held by a definition that is gone: %q", len(held), held)
		}
	})
}

// A definition is deleted while no host runs: the next one lets its parents go, and only its own.
func TestDefinitionDeletedWhileNoHostRan(t *testing.T) {
	e := newEnv(t, lags[0])
	gone, long, kept := e.Namespace+"-gone", e.Namespace+"-"+strings.Repeat("long", 12), e.Namespace+"-kept"
	for _, name := range []string{gone, long, kept} {
		e.define(strings.TrimPrefix(name, e.Namespace), finalizing, []string{"sync", "finalize"}, "")
	}
	e.manyThings("thing", 5)
	all := map[string]int{gone: 5, long: 5, kept: 5}
	e.mustHold(all)
	e.Kill()
	for _, name := range []string{gone, long} {
		e.Delete(env.CompositeControllers, "", name)
	}
	e.mustHold(all) // Nobody runs who could change it.

	// A host whose selector leaves the other definition out leaves it alone.
	e.Start("--kubeconfig", e.proxy.Kubeconfig, "--target-label-selector=mine=true")
	e.mustHold(map[string]int{gone: 0, long: 0, kept: 5})
	cluster.Eventually(t, patience, func() error {
		if log := e.Libretto().Log(); !strings.Contains(log, "finalizers of definitions that are gone have been looked for") {
			return errors.New("the host still looks for finalizers")
		}
		return nil
	})
	e.mustHold(map[string]int{gone: 0, long: 0, kept: 5})
}

// mustHold waits until each definition holds so many Things.
func (e *delayedEnv) mustHold(want map[string]int) {
	e.T.Helper()
	cluster.Eventually(e.T, 2*patience, func() error {
		for name, count := range want {
			if held := e.held(finalizerOf(name)); len(held) != count {
				return fmt.Errorf("%s holds %q, want %d", name, held, count)
			}
		}
		return nil
	})
}
