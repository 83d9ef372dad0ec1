package kinds

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// failing fails in the way that the parent names.
const failing = `
export function sync({parent: {metadata: {name, labels}, spec}}) {
  const child = {apiVersion: "v1", kind: "ConfigMap", metadata: {name: name + "-child"}};
  switch (spec.way) {
  case "throws": throw new Error("no zone is given");
  case "undefined": return {children: spec.nothing.length};
  case "invalid": return {children: "none"};
  case "refused": return {children: [{...child, metadata: {name: "No Name"}}]};
  case "taken": return {children: [{...child, metadata: {name: "taken"}}]};
  }
  return {children: [child]};
}`

// eventWrites are libretto's requests that wrote events about objects of the test's namespace.
func eventWrites(e *env.Env, since cluster.Mark) cluster.Requests {
	e.T.Helper()
	all, err := e.Cluster.Requests(e.T.Context(), since, env.UserAgent)
	e.NoError(err)
	return all.Writes().Of("", "events").In(e.Namespace)
}

// TestEventsAreAboutChanges has one parent fail in five ways, one after the other, while ten others go on failing in one, all of them
// synced again and again. The definition says so as well.
func TestEventsAreAboutChanges(t *testing.T) {
	const others, retries = 10, 6
	e := env.NewRunning(t)
	name := e.DefineReady(env.Composite, "", e.Parent("things", "events"), "generateSelector: true", env.UpdatedChildren, env.Hooks(failing, "sync"))
	e.ApplyConfigMap("taken", "", "of somebody")
	mark := e.Mark()
	parents := []string{"one"}
	for i := range others {
		parents = append(parents, fmt.Sprint("other-", i))
	}
	for _, parent := range parents {
		e.ApplyThing(parent, "set: events", "way: throws")
	}
	ways := []struct{ way, message string }{
		{"throws", "no zone is given"},
		{"undefined", "of undefined"},
		{"invalid", "HookResponseInvalid: sync hook: children: "},
		{"refused", `ApplyFailed: `},
		{"taken", "AlreadyOwned: ConfigMap " + e.Namespace + "/taken"},
	}
	for _, w := range ways {
		e.Patch(e.Things(), "one", fmt.Sprintf(`{"spec": {"way": %q}}`, w.way))
		for retry := range retries {
			before := e.Reconciles(name, "error")
			for _, parent := range parents {
				e.Patch(e.Things(), parent, fmt.Sprintf(`{"spec": {"touched": "%s-%d"}}`, w.way, retry))
			}
			e.WaitForMetric(before+float64(len(parents)), "libretto_definition_reconcile_total", map[string]string{"kind": env.Composite, "definition": name, "outcome": "error"})
		}
	}
	e.WaitForCondition(name, "ParentsSynced", "False", "11 of 11 parents fail in 2 ways: ", "Thing "+e.Namespace+"/one: AlreadyOwned", "and 8 more")
	e.Patch(e.Things(), "one", `{"spec": {"way": "no"}}`)
	e.WaitFor(env.ConfigMaps, "one-child", nil)
	e.WaitForCondition(name, "ParentsSynced", "False", "10 of 11 parents fail: ", "no zone is given", ".js:5:")

	ended := e.WaitForEvent("one", "Synced", "(CompositeController "+name+")")
	if ended.Type != "Normal" {
		t.Errorf("the end of a failure is %s", ended.Type)
	}
	e.WaitForEvent("one", "Created", "Created 1 ConfigMap: one-child")
	for _, w := range ways {
		if event := e.WaitForEvent("one", "SyncError", w.message, "(CompositeController "+name+")"); event.Count != 1 {
			t.Errorf("%s: there were %d events for one change", w.way, event.Count)
		}
	}
	e.WaitForEvent("one", "SyncError", "no zone is given", ".js:5:") // The place in the script.
	for _, other := range parents[1:] {
		e.WaitForEvent(other, "SyncError", "no zone is given")
	}
	writes := eventWrites(e, mark)
	t.Logf("%d writes of events", len(writes))
	// One for each way, its end, and the child; and one for each of the others.
	if most := len(ways) + 2 + others; len(writes) > most {
		t.Errorf("%d writes of events, want at most %d:\n%s", len(writes), most, writes)
	}
}

// TestManyFailingParents checks that the events about parents that fail all at once are bounded, and that the host says how many it
// has dropped.
func TestManyFailingParents(t *testing.T) {
	const parents = 1000
	e := env.NewRunning(t)
	mark := e.Mark()
	for i := range parents {
		thing := e.Parse(fmt.Sprintf(
			"{apiVersion: %s/v1, kind: Thing, metadata: {name: many-%d, labels: {set: many}}, spec: {way: throws}}", e.Group, i))
		_, err := e.In(e.Things()).Create(t.Context(), thing, metav1.CreateOptions{})
		e.NoError(err)
	}
	name := e.DefineReady(env.Composite, "", e.Parent("things", "many"), "generateSelector: true", env.UpdatedChildren, env.Hooks(failing, "sync"))
	e.WaitForMetric(parents, "libretto_definition_reconcile_total", map[string]string{"kind": env.Composite, "definition": name, "outcome": "error"})
	count := func(outcome string) float64 {
		return e.Metric("libretto_definition_events_total", map[string]string{"reason": "SyncError", "outcome": outcome})
	}
	e.Eventually(func() error {
		if !strings.Contains(e.Libretto().Log(), "events are dropped, as there are too many") {
			return errors.New("the log does not say that events are dropped")
		}
		return nil
	})
	emitted, dropped := count("emitted"), count("dropped")
	writes := eventWrites(e, mark)
	t.Logf("%v events are emitted and %v dropped, %d writes", emitted, dropped, len(writes))
	if dropped < parents/4 || emitted+dropped < parents {
		t.Errorf("of %d parents %v have an event and %v were dropped", parents, emitted, dropped)
	}
	if late := count("emitted"); float64(len(writes)) > late {
		t.Errorf("%d writes of events for %v events", len(writes), late)
	}
}

// decorating fails for one value of a field.
const decorating = `
export function sync({object}) {
  if (object.spec.way === %q) throw new Error("no zone is given");
  return {};
}`

// TestEventsOfAFlappingParent has a parent of two definitions fail and recover again and again: the events about it are bounded, the last
// one says how it is, those that are dropped are counted, and the other definition's failure has its event.
func TestEventsOfAFlappingParent(t *testing.T) {
	const times, most = 20, 12
	e := env.NewRunning(t)
	e.ApplyThing("a", "", "way: fine")
	name := e.DefineReady(env.Decorator, "-flapping", e.Targets("things", ""), "", env.Hooks(fmt.Sprintf(decorating, "one"), "sync"))
	e.DefineReady(env.Decorator, "-other", e.Targets("things", ""), "", env.Hooks(fmt.Sprintf(decorating, "both"), "sync"))
	until := func(way, outcome string) {
		before := e.ReconcilesOf(env.Decorator, name, outcome)
		e.Patch(e.Things(), "a", fmt.Sprintf(`{"spec": {"way": %q}}`, way))
		labels := map[string]string{"kind": env.Decorator, "definition": name, "outcome": outcome}
		e.WaitForMetric(before+1, "libretto_definition_reconcile_total", labels)
	}
	for range times {
		until("one", "error")
		until("fine", "success")
	}
	e.Patch(e.Things(), "a", `{"spec": {"way": "both"}}`)
	e.WaitForEvent("a", "SyncError", "no zone is given", name[:len(name)-len("-flapping")]+"-other")
	e.Eventually(func() error {
		for _, reason := range []string{"SyncError", "Synced"} {
			event := e.WaitForEvent("a", reason, "(DecoratorController "+name+")")
			if event.Count != most {
				return fmt.Errorf("%s was emitted %d times, want %d", reason, event.Count, most)
			}
		}
		return nil
	})
	labels := map[string]string{"definition": name, "reason": "SyncError", "outcome": "dropped"}
	if dropped := e.Metric("libretto_definition_events_total", labels); dropped < times-most {
		t.Errorf("%v events are counted as dropped, want at least %d", dropped, times-most)
	}
}
