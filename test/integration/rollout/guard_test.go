package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// noPreview lets edits through unseen, so that nothing but the guard at the write is left.
const noPreview = "--script-preview=false"

// deletions returns how many children have been deleted since they were counted last.
func (r *recorder) deletions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.deleted)
}

// TestGuardTakesBack makes an edit that deletes all children, unseen: it is stopped before more than half of them are gone, and taken back.
func TestGuardTakesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rollout string
		most    int // that may be deleted, of ten
	}{
		"by default":                   {"{paused: false}", 5},
		"with a limit":                 {"{preview: {maxDeletedChildren: 2}}", 2},
		"none at all":                  {"{preview: {maxDeletedChildren: 0}}", 0},
		"by steps":                     {"{steps: [{parents: 80%}]}", 5},
		"limits that nobody has set":   {"{preview: {}}", 5},
		"a percentage of all there is": {"{preview: {maxDeletedChildren: 30%}}", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 10, c.rollout, noPreview)
			first := s.waitForServing()
			r := s.record()
			s.write(lost)
			s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "it would delete", "of 10 children", "and no more are deleted",
				"revision "+first[:16]+" serves", "libretto rollout approve")
			s.waitForValues(map[string]int{"one": 10}) // What was deleted is back.
			s.WaitForQuiet()
			if n := r.deletions(); n > c.most {
				t.Errorf("%d children were deleted, and %d may be", n, c.most)
			}
			s.WaitForEvent(s.definition, "RolledBack", "it would delete")

			s.Restart() // It is not tried again.
			s.WaitForQuiet()
			s.waitForValues(map[string]int{"one": 10})

			s.edit("two", "") // Another edit is.
			s.waitForValues(map[string]int{"two": 10})
		})
	}
}

// TestGuardAndApproval lets through by name what the guard has taken back.
func TestGuardAndApproval(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, "{paused: false}", noPreview)
	s.write(lost)
	held := s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "it would delete 6 of 10 children")
	s.waitForValues(map[string]int{"one": 10})
	_, command, _ := strings.Cut(held.Message, "kubectl annotate ")
	s.Kubectl(append([]string{"annotate"}, strings.Fields(command)...)...)
	s.waitForValues(map[string]int{})
	s.WaitForCondition(s.definition, "Ready", "True")
}

// TestGuardIsOfTheEdit deletes parents after an edit, and scales others down: that is no fault of the edit.
func TestGuardIsOfTheEdit(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, "{paused: false}", noPreview)
	s.write(`export function sync({parent}) {
  const name = parent.metadata.name;
  if ((parent.spec ?? {}).gone) return {children: []};
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {value: "two"}}]};
}
`)
	s.waitForValues(map[string]int{"two": 10})
	for n := range 8 {
		s.ApplyThing(thing(n), "", "gone: true")
	}
	s.waitForValues(map[string]int{"two": 2})
	s.WaitForCondition(s.definition, "ParentsSynced", "True")
}

// TestGuardOfDefinition edits the definition alone, so that there is nothing to go back to: no more is deleted until it is undone, or approved.
func TestGuardOfDefinition(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, "{paused: false}", noPreview)
	s.write(`export function sync({controller, parent}) {
  const name = parent.metadata.name;
  if (controller.spec.resyncPeriodSeconds === 77) return {children: []};
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {value: "two"}}]};
}
`)
	s.waitForValues(map[string]int{"two": 10})
	r := s.record()
	s.PatchDefinition(s.kind, s.definition, `{"spec": {"resyncPeriodSeconds": 77}}`)
	held := s.WaitForCondition(s.definition, "Progressing", "False", "Held", "it would delete 6 of 10 children", "5 are gone")
	s.WaitForCondition(s.definition, "ParentsSynced", "False", "EditHeld: ")
	s.WaitForQuiet()
	if n := r.deletions(); n != 5 {
		t.Errorf("%d children were deleted", n)
	}
	if id := s.rollout().HeldRevision; !strings.Contains(held.Message, id[:16]) {
		t.Errorf("%s is held, and the message is %s", id, held.Message)
	}
	s.Restart()
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "no more are deleted")
	s.waitForValues(map[string]int{"two": 5})
	_, command, _ := strings.Cut(held.Message, "kubectl annotate ")
	s.Kubectl(append([]string{"annotate"}, strings.Fields(command)...)...)
	s.waitForValues(map[string]int{})
	s.WaitForCondition(s.definition, "ParentsSynced", "True")
}

// TestGuardOfPin pins a revision that deletes what the one that serves has made.
func TestGuardOfPin(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, "{paused: false}", noPreview)
	first := s.waitForServing()
	s.write(`export const sync = ({parent}) => ({children: ["a", "b"].map((n) => ({
  apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + (n === "a" ? "" : "-" + n)}, data: {value: n}}))});
`)
	s.waitForValues(map[string]int{"a": 10, "b": 10})
	r := s.record()
	s.define(fmt.Sprintf("{revision: %q, preview: {maxDeletedChildren: 4}}", first[:16]))
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "which spec.scriptRollout.revision pins, is held: it would delete 5 of 20 children")
	s.waitForValues(map[string]int{"a": 10, "b": 10})
	if n := r.deletions(); n > 4 {
		t.Errorf("%d children were deleted", n)
	}
}

// TestGuardOfFinalizer edits a finalize hook so that it lets parents go too early: the children would go with them.
func TestGuardOfFinalizer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"with children": "finalized: true, children", "without": "finalized: true, children: []", "not yet": "finalized: false, children: []",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := env.NewWithThings(t)
			s := &scene{Env: e, definition: e.Namespace, kind: env.Composite}
			finalizing := func(answer string) {
				s.write(fmt.Sprintf(`const made = (parent) => [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: "one"}}];
export const sync = ({parent}) => ({children: made(parent)});
export const finalize = ({parent}) => { const children = made(parent); return {%s}; };
`, answer))
			}
			finalizing("finalized: false, children")
			e.Apply(replace(s.text("{paused: false}"), "hooks: {", "hooks: {finalize: {version: v2, script: {path: sync.js}}, "))
			for n := range 6 {
				e.ApplyThing(thing(n), "", "")
			}
			s.start(noPreview)
			s.waitForValues(map[string]int{"one": 6})
			e.WaitForQuiet()
			for n := range 6 {
				e.Delete(e.Things(), e.Namespace, thing(n))
			}
			e.WaitForQuiet()
			s.waitForValues(map[string]int{"one": 6})
			r := s.record()
			finalizing(answer)
			held := s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "it would delete 4 of 6 children")
			e.WaitForQuiet()
			if n := r.deletions(); n > 3 {
				t.Errorf("%d children were deleted", n)
			}
			if left := len(e.List(e.Things(), "")); left < 3 {
				t.Errorf("%d Things are left", left)
			}
			_, command, _ := strings.Cut(held.Message, "kubectl annotate ")
			e.Kubectl(append([]string{"annotate"}, strings.Fields(command)...)...)
			if answer != "finalized: false, children: []" {
				e.WaitForCount(e.Things(), "", 0)
			}
		})
	}
}

// TestHeldWithNewRelated previews an edit whose customize hook asks for a kind that no cache has: it is listed for that.
func TestHeldWithNewRelated(t *testing.T) {
	t.Parallel()
	e := env.NewWithThings(t)
	s := &scene{Env: e, definition: e.Namespace, kind: env.Composite}
	asking := func(related, children string) {
		s.write(fmt.Sprintf(`export const customize = () => ({relatedResources: [%s]});
export const sync = ({parent}) => ({children: %s});
`, related, children))
	}
	const child = `[{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: "one"}}]`
	asking("", child)
	e.Apply(replace(s.text("{paused: false}"), "hooks: {", "hooks: {customize: {version: v2, script: {path: sync.js}}, "))
	for n := range 4 {
		e.ApplyThing(thing(n), "", "")
	}
	s.start()
	s.waitForValues(map[string]int{"one": 4})
	s.waitForServing()
	r := s.record()
	asking(`{apiVersion: "apps/v1", resource: "deployments"}`, "[]")
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "it would delete 4 of 4 children of 4 of 4 parents")
	e.WaitForQuiet()
	r.check(t, "one")
	asking(`{apiVersion: "apps/v1", resource: "deployments"}`, replace(child, "one", "two"))
	s.waitForValues(map[string]int{"two": 4})
}

// TestGuardWithoutEdit takes away an object that all children depend on: of these no more go than spec.deletionGuard lets, until the object is
// back, or an approval.
func TestGuardWithoutEdit(t *testing.T) {
	t.Parallel()
	e := env.NewWithThings(t)
	s := &scene{Env: e, definition: e.Namespace, kind: env.Composite}
	s.write(`export const customize = () => ({relatedResources: [{apiVersion: "v1", resource: "configmaps", names: ["settings"]}]});
export const sync = ({parent, related}) => ({children: Object.keys(related["ConfigMap.v1"]).map(() => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: "one"}}))});
`)
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
	e.Apply(settings)
	e.Apply(replace(s.text("{paused: false}\n  deletionGuard: {maxDeletedChildren: 2}"),
		"hooks: {", "hooks: {customize: {version: v2, script: {path: sync.js}}, "))
	for n := range 6 {
		e.ApplyThing(thing(n), "", "")
	}
	s.start()
	s.waitForValues(map[string]int{"one": 6})
	s.waitForServing()
	e.WaitForQuiet()

	held := func(left int) string {
		t.Helper()
		s.waitForValues(map[string]int{"one": left})
		return s.WaitForCondition(s.definition, "Progressing", "False", "Held", "deletions that no edit and no parent has asked for are held",
			"it would delete 3 of ", ", more than spec.deletionGuard.maxDeletedChildren: 2 allows", "2 are gone").Message
	}
	e.Delete(env.ConfigMaps, e.Namespace, "settings")
	held(4)
	s.WaitForCondition(s.definition, "ParentsSynced", "False", "EditHeld: ")
	s.WaitForCondition(s.definition, "Ready", "False", "Held")
	e.Apply(settings)
	s.waitForValues(map[string]int{"one": 6})
	s.WaitForCondition(s.definition, "Progressing", "True")
	s.WaitForCondition(s.definition, "Ready", "True")

	r := s.record()
	e.Delete(env.ConfigMaps, e.Namespace, "settings")
	message := held(6) // The two that were gone count for ten minutes.
	s.WaitForQuiet()
	if n := r.deletions(); n > 0 {
		t.Errorf("%d children were deleted the second time", n)
	}
	s.Restart()
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "no edit and no parent")
	_, command, _ := strings.Cut(message, "kubectl annotate ")
	s.Kubectl(append([]string{"annotate"}, strings.Fields(command)...)...)
	s.waitForValues(map[string]int{})
	s.WaitForCondition(s.definition, "ParentsSynced", "True")
}
