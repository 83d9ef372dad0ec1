// Package rollout_test rolls out edits of scripts over many parents, on the real API server.
package rollout_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// scene is a definition whose scripts make one ConfigMap of each Thing, with a value that tells which text made it.
type scene struct {
	*env.Env
	definition string
	kind       string // of the definition
}

// newScene returns a scene with so many Things, whose children have the value "one".
func newScene(t *testing.T, parents int, rollout string, flags ...string) *scene {
	t.Helper()
	e := env.NewWithThings(t)
	s := &scene{Env: e, definition: e.Namespace, kind: env.Composite}
	s.edit("one", "")
	s.define(rollout)
	for n := range parents {
		labels := ""
		if n < 2 {
			labels = "tier: canary"
		}
		e.ApplyThing(thing(n), labels, "")
	}
	s.start(flags...)
	s.waitForValues(map[string]int{"one": parents})
	if strings.Contains(rollout, "steps: ") {
		s.waitForPhase(v1alpha1.ScriptsComplete)
	}
	s.WaitForCondition(s.definition, "ScriptsReady", "True", "Loaded")
	s.WaitForQuiet()
	return s
}

func (s *scene) start(flags ...string) {
	s.T.Helper()
	s.Start(append([]string{"--target-label-selector=test=" + s.Namespace, "--namespace=" + s.Namespace}, flags...)...)
}

func replace(text, old, now string) string { return strings.ReplaceAll(text, old, now) }

func thing(n int) string { return fmt.Sprintf("t%03d", n) }

// define applies the definition with a scriptRollout.
func (s *scene) define(rollout string) {
	s.T.Helper()
	s.Apply(s.text(rollout))
}

// text returns the definition with a scriptRollout.
func (s *scene) text(rollout string) string {
	return fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  scriptSources: [{configMap: {namespace: %[2]s, name: hooks}}]
  scriptRollout: %[4]s
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`, s.definition, s.Namespace, s.Group, rollout)
}

// edit makes the script give children a value. It throws for one Thing, if that is not empty, and for those with spec.fails. The API
// server refuses the children of those with spec.refused.
func (s *scene) edit(value, failing string) {
	s.T.Helper()
	script := fmt.Sprintf(`export function sync({parent}) {
  const name = parent.metadata.name;
  if (name === %q || (parent.spec ?? {}).fails) throw new Error("no");
  const metadata = {name, labels: (parent.spec ?? {}).refused ? {refused: "not a value!"} : undefined};
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata, data: {value: %q}}]};
}
`, failing, value)
	s.write(script)
}

func (s *scene) write(script string) {
	s.T.Helper()
	s.ApplyObject(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "hooks"}, "data": map[string]any{"sync.js": script},
	}})
}

// values returns how many children have each value.
func (s *scene) values() map[string]int {
	s.T.Helper()
	counts := map[string]int{}
	for _, child := range s.List(env.ConfigMaps, "") {
		if value := valueOf(child); value != "" {
			counts[value]++
		}
	}
	return counts
}

func valueOf(child *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(child.Object, "data", "value")
	return value
}

func (s *scene) waitForValues(want map[string]int) {
	s.T.Helper()
	s.Eventually(func() error {
		if got := s.values(); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("children by value: %v, want %v\n%s", got, want, s.describe())
		}
		return nil
	})
}

func (s *scene) describe() string {
	status := s.status()
	text := fmt.Sprintf("%+v", status.ScriptRollout)
	for _, c := range status.Conditions {
		text += fmt.Sprintf("\n%s %s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func (s *scene) status() v1alpha1.DefinitionStatus {
	s.T.Helper()
	return statusOf(s.T, s.ClusterScope().Get(env.Definitions(s.kind), s.definition))
}

func statusOf(t *testing.T, object *unstructured.Unstructured) v1alpha1.DefinitionStatus {
	t.Helper()
	var d v1alpha1.CompositeController
	env.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &d))
	return d.Status
}

func (s *scene) rollout() v1alpha1.ScriptRolloutStatus {
	s.T.Helper()
	if state := s.status().ScriptRollout; state != nil {
		return *state
	}
	return v1alpha1.ScriptRolloutStatus{}
}

func (s *scene) waitForPhase(want v1alpha1.ScriptRolloutPhase) v1alpha1.ScriptRolloutStatus {
	s.T.Helper()
	var state v1alpha1.ScriptRolloutStatus
	s.Eventually(func() error {
		if state = s.rollout(); state.Phase != want {
			return fmt.Errorf("phase %q, want %q:\n%s", state.Phase, want, s.describe())
		}
		return nil
	})
	return state
}

// waitForServing waits until no edit is on its way, and returns the revision that serves.
func (s *scene) waitForServing() string {
	s.T.Helper()
	var status v1alpha1.DefinitionStatus
	s.Eventually(func() error {
		status = s.status()
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionScriptsReady)
		want := "revision " + status.ScriptRevision + " serves"
		if status.ScriptRevision == "" || ready == nil || ready.Reason != "Loaded" || !strings.HasPrefix(ready.Message, want) {
			return fmt.Errorf("it does not say %q:\n%s", want, s.describe())
		}
		return nil
	})
	return status.ScriptRevisionHash
}

// waitForServingOf waits until no edit is on its way and want holds for the revision that serves, which it returns. The status may still have
// the former revision when the children have the values of the next.
func (s *scene) waitForServingOf(want func(revision string) bool) string {
	s.T.Helper()
	var revision string
	s.Eventually(func() error {
		if revision = s.waitForServing(); !want(revision) {
			return fmt.Errorf("revision %s serves", revision)
		}
		return nil
	})
	return revision
}

// recorder keeps all versions of what is watched.
type recorder struct {
	mu      sync.Mutex
	deleted []string
	values  map[string][]string // of children, by name
	states  []string            // of the definition, each once
	seen    chan string
}

// record watches the children and the definition.
func (s *scene) record() *recorder {
	s.T.Helper()
	r := &recorder{values: map[string][]string{}, seen: make(chan string, 1000)}
	s.watch(s.In(env.ConfigMaps), func(kind watch.EventType, object *unstructured.Unstructured) { r.child(kind, object) })
	s.watch(s.ClusterScope().In(env.Definitions(v1alpha1.CompositeControllerKind)),
		func(_ watch.EventType, object *unstructured.Unstructured) {
			if object.GetName() == s.definition {
				r.state(statusOf(s.T, object).ScriptRollout)
			}
		})
	return r
}

// watcher is what lists and watches.
type watcher interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func (s *scene) watch(in watcher, do func(watch.EventType, *unstructured.Unstructured)) {
	s.T.Helper()
	stream, err := in.Watch(s.T.Context(), metav1.ListOptions{})
	s.NoError(err)
	s.T.Cleanup(stream.Stop)
	go func() {
		for event := range stream.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				do(event.Type, object)
			}
		}
	}()
}

func (r *recorder) child(kind watch.EventType, object *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, value := object.GetName(), valueOf(object)
	if value == "" {
		return
	}
	if kind == watch.Deleted {
		r.deleted = append(r.deleted, name)
	}
	if known := r.values[name]; len(known) == 0 || known[len(known)-1] != value {
		r.values[name] = append(known, value)
	}
}

func (r *recorder) state(state *v1alpha1.ScriptRolloutStatus) {
	if state == nil {
		return
	}
	text := string(state.Phase)
	if state.Step != nil {
		text += fmt.Sprintf(" %d", *state.Step)
	}
	if state.PausedAt != nil {
		text += " pause"
	}
	r.mu.Lock()
	isNew := len(r.states) == 0 || r.states[len(r.states)-1] != text
	if isNew {
		r.states = append(r.states, text)
	}
	r.mu.Unlock()
	if isNew {
		r.seen <- text
	}
}

// check fails the test if a child was deleted, or had a value that is not allowed.
func (r *recorder) check(t *testing.T, allowed ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.deleted) > 0 {
		t.Errorf("children %v were deleted", r.deleted)
	}
	for name, values := range r.values {
		for _, value := range values {
			if !strings.Contains(" "+strings.Join(allowed, " ")+" ", " "+value+" ") {
				t.Errorf("%s had the values %v, want only %v", name, values, allowed)
			}
		}
	}
}
