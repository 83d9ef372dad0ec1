package hosting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// countsBefore is copies with a status that depends on the one before.
var countsBefore = strings.Replace(copies, "status: {", "status: {...parent.status, ", 1)

// TestCallsAndRequests counts what one parent with ten children costs.
func TestCallsAndRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		script   string
		create   float64 // calls
		statuses int     // writes of the status in a creation
	}{
		"Plain":      {"One call to create the children, one to see them.", copies, 2, 1},
		"StatusRead": {"And one to see the status.", countsBefore, 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			definition := define(e, "", tc.script, childRule("InPlace"))
			e.WaitForCondition(definition, "Ready", "True")
			count := costOf(e, definition)

			calls, requests := count(func() {
				applyThing(e, "a", "count: 10\ntext: one")
				e.WaitFor(e.Things(), "a", hasCount(10))
			})
			want := map[string]int{"create configmaps": 10, "update things/status": tc.statuses}
			if diff := cmp.Diff(want, requests); diff != "" || calls != tc.create {
				t.Errorf("a creation takes %v calls, want %v: %s (-want +got)\n%s", calls, tc.create, tc.reason, diff)
			}

			calls, requests = count(func() {
				e.Patch(e.Things(), "a", `{"spec": {"text": "two"}}`)
				for n := range 10 {
					e.WaitFor(env.ConfigMaps, fmt.Sprint("a-", n), env.HasText("two"))
				}
				e.WaitFor(e.Things(), "a", hasCount(10))
			})
			want = map[string]int{"update configmaps": 10, "update things/status": 1}
			if diff := cmp.Diff(want, requests); diff != "" || calls != 2 {
				t.Errorf("an update takes %v calls, want 2 (-want +got)\n%s", calls, diff)
			}

			calls, requests = count(func() {
				before := e.Reconciles(definition, "success")
				e.Patch(e.Things(), "a", `{"metadata": {"annotations": {"touched": "yes"}}}`)
				e.WaitForReconciles(definition, before, 1)
			})
			if len(requests) > 0 || calls > 0 {
				t.Errorf("an annotation that no hook reads takes %v calls and the requests %v", calls, requests)
			}
		})
	}
}

// costOf returns a function that counts the calls of a definition's hook and the requests for objects while do runs, and
// until nothing is written any more.
func costOf(e *env.Env, definition string) func(do func()) (calls float64, requests map[string]int) {
	return func(do func()) (float64, map[string]int) {
		before, mark := e.HookCalls(env.Composite, definition, "sync"), e.Mark()
		do()
		e.WaitForQuiet()
		requests := map[string]int{}
		for _, r := range e.Requests(mark).Filter(func(r cluster.Request) bool { return r.Resource == "configmaps" || r.Resource == "things" }) {
			what := r.Verb + " " + r.Resource
			if r.Subresource != "" {
				what += "/" + r.Subresource
			}
			requests[what]++
		}
		return e.HookCalls(env.Composite, definition, "sync") - before, requests
	}
}

// TestStatusBeforeAFailure has a hook fail from its second call on: the status of the first is left to that call, and must not be lost.
func TestStatusBeforeAFailure(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", strings.Replace(copies, "const name", `
  if (Object.keys(children["ConfigMap.v1"]).length > 0) throw new Error("no second call");
  const name`, 1), childRule("InPlace"))
	e.WaitForCondition(name, "Ready", "True")
	applyThing(e, "a", "count: 2\ntext: one")
	e.WaitForEvent("a", "SyncError", "no second call")
	e.WaitFor(e.Things(), "a", hasCount(0))
}
