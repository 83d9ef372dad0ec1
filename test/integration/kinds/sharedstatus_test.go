package kinds

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// statuses returns the writes of the statuses of Things.
func statuses(e *env.Env, since cluster.Mark) cluster.Requests {
	return e.Requests(since).Writes().Filter(func(r cluster.Request) bool { return r.Resource == "things" && r.Subresource == "status" })
}

// accepted returns those that the API server has accepted.
func accepted(requests cluster.Requests) cluster.Requests {
	return requests.Filter(func(r cluster.Request) bool { return r.Code < 300 })
}

// TestStatusThatIsSharedOrNot has a composite that returns no status on a parent of which another definition writes one, or none does.
func TestStatusThatIsSharedOrNot(t *testing.T) {
	none := env.Hooks(`export const sync = () => ({children: []});`, "sync")
	some := func(list, status string) string {
		return env.Hooks(`export const sync = ({`+map[string]string{"children": "parent", "attachments": "object: parent"}[list]+
			`}) => ({`+list+`: [], status: `+status+`});`, "sync")
	}
	cases := map[string]struct {
		reason string
		define func(e *env.Env, set string)
		stored string // the status before anything is defined
		want   string
		writes int
	}{
		"Empty": {"Where there is no status it writes observedGeneration, as metacontroller does.", func(*env.Env, string) {},
			`{}`, "map[observedGeneration:1]", 1},
		"Alone": {"What nobody else of the host writes it replaces.", func(*env.Env, string) {},
			`{"said": "before"}`, "map[observedGeneration:1]", 1},
		"Composite": {"Of another composite's status it has its hands off.", func(e *env.Env, set string) {
			e.DefineReady(env.Composite, "-other-"+set, "generateSelector: true", e.Parent("things", set), some("children", "{said: parent.spec.say}"))
		}, `{}`, "map[observedGeneration:1 said:this]", 1},
		"Decorator": {"And of a decorator's, once that has written one.", func(e *env.Env, set string) {
			e.DefineReady(env.Decorator, "-other-"+set, e.Targets("things", set), some("attachments", "{said: parent.spec.say}"))
		}, `{}`, "map[said:this]", 6},
		"Adds": {"So it is if the decorator adds to what there is.", func(e *env.Env, set string) {
			e.DefineReady(env.Decorator, "-other-"+set, e.Targets("things", set), some("attachments", "{...parent.status, said: parent.spec.say}"))
		}, `{"observedGeneration": 1}`, "map[observedGeneration:1 said:this]", 6},
		"Both": {"Two that return none leave it to each other: whatever is there stays.", func(e *env.Env, set string) {
			e.DefineReady(env.Composite, "-other-"+set, "generateSelector: true", e.Parent("things", set), none)
		}, `{"said": "before"}`, "map[said:before]", 0},
	}
	e := env.NewRunning(t)
	for name, tc := range cases {
		set := strings.ToLower(name)
		e.ApplyThing(set, "set: waits", "say: this")
		e.Patch(e.Things(), set, `{"status": `+tc.stored+`}`, "status")
		tc.define(e, set)
		e.DefineReady(env.Composite, "-none-"+set, "generateSelector: true", e.Parent("things", set), none)
		mark := e.Mark()
		e.Patch(e.Things(), set, fmt.Sprintf(`{"metadata": {"labels": {"set": %q}}}`, set))
		if tc.writes > 0 {
			e.WaitFor(e.Things(), set, env.HasField(tc.want, "status"))
		}
		e.WaitForQuiet()
		if err := env.HasField(tc.want, "status")(e.Get(e.Things(), set)); err != nil {
			t.Errorf("%s: %s %v", name, tc.reason, err)
		}
		if writes := accepted(statuses(e, mark)); len(writes) > tc.writes {
			t.Errorf("%s: %s %d writes, want %d:\n%s", name, tc.reason, len(writes), tc.writes, writes)
		}
	}
	// A start, when some definitions are ready before others, writes nothing.
	mark := e.Mark()
	e.Restart()
	for name := range cases {
		e.WaitUntilReady(env.Composite, e.Namespace+"-none-"+strings.ToLower(name))
		e.WaitForCondition(e.Namespace+"-none-"+strings.ToLower(name), "ParentsSynced", "True", "Synced")
	}
	e.WaitForQuiet()
	e.NoRequests(statuses(e, mark), "a start writes the status of another definition")
}

// TestStatusWrites has composites on parents of their own.
func TestStatusWrites(t *testing.T) {
	e := env.NewRunning(t)
	const returned = `({children: [], ...(spec.say ? {status: {said: spec.say}} : {})})`
	cases := map[string]struct{ hook, want string }{
		"Always":       {returned, "map[observedGeneration:1]"},
		"WhenReturned": {returned, "map[said:before]"},
		"Never":        {`({children: [], status: {said: "mine"}})`, "map[said:before]"},
	}
	for writes, tc := range cases {
		t.Run(writes, func(t *testing.T) {
			e, set := e.WithT(t), strings.ToLower(writes)
			e.ApplyThing(set, "set: "+set, "")
			e.Patch(e.Things(), set, `{"status": {"said": "before"}}`, "status")
			rule := fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: %s}}, statusWrites: %s}", e.Group, set, writes)
			name := e.DefineReady(env.Composite, "-"+set, "generateSelector: true", rule, env.Hooks(`export const sync = ({parent: {spec}}) => `+tc.hook+`;`, "sync"))
			e.WaitForCondition(name, "ParentsSynced", "True", "Synced")
			e.WaitForCondition(name, "Ready", "True", "Running")
			e.WaitForQuiet()
			if err := env.HasField(tc.want, "status")(e.Get(e.Things(), set)); err != nil {
				t.Error(err)
			}
			if writes == "Never" {
				return
			}
			e.Patch(e.Things(), set, `{"spec": {"say": "this"}}`)
			e.WaitFor(e.Things(), set, env.HasSaid("this"))
			if writes == "Always" { // What the hook returned goes with it.
				e.Patch(e.Things(), set, `{"spec": {"say": null}}`)
				e.WaitFor(e.Things(), set, env.HasField("map[observedGeneration:3]", "status"))
			}
		})
	}
}

// TestTwoStatuses has two composites return different statuses for one parent: an event on each reports who else writes it.
func TestTwoStatuses(t *testing.T) {
	e := env.NewRunning(t)
	saying := func(text string) string {
		return env.Hooks(fmt.Sprintf(`export const sync = ({parent: {spec}}) => ({children: [], status: {said: spec.say ?? %q}});`, text), "sync")
	}
	left := e.DefineReady(env.Composite, "-left", "generateSelector: true", e.Parent("things", "both"), saying("left"))
	right := e.DefineReady(env.Composite, "-right", "generateSelector: true", e.Parent("things", "both"), saying("right"))
	mark := e.Mark()
	e.ApplyThing("p", "set: both", "")
	event := e.WaitForEvent("p", "HotLoop", "the status of Thing "+e.Namespace+"/p is left alone for 1m0s", "its field status.said was set to",
		"each time CompositeController "+e.Namespace, "let only one of them return that field, and the others no status")
	t.Log(event.Message)
	e.WaitForQuiet()
	if writes := statuses(e, mark); len(writes) > 60 {
		t.Errorf("%d writes of the status", len(writes))
	}
	e.Patch(e.Things(), "p", `{"spec": {"say": "same"}}`)
	e.WaitFor(e.Things(), "p", env.HasSaid("same"))
	for _, name := range []string{left, right} {
		e.WaitForCondition(name, "Ready", "True", "Running")
	}
}

// TestStatusOfAnotherWriter names a writer that is no definition, once, by a single request.
func TestStatusOfAnotherWriter(t *testing.T) {
	e := env.NewRunning(t)
	name := e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", "contested"),
		env.Hooks(`export const sync = () => ({children: [], status: {said: "ours"}});`, "sync"))
	e.ApplyThing("p", "set: contested", "")
	e.Eventually(func() error {
		if thing := e.Get(e.Things(), "p"); env.HasSaid("ours")(thing) == nil {
			e.Patch(e.Things(), "p", `{"status": {"said": "theirs"}}`, "status")
		}
		if e.Metric("libretto_definition_hot_loops_total", nil) != 1 {
			return errors.New("no hot loop reported")
		}
		return nil
	})
	e.WaitForEvent("p", "HotLoop", "the status of Thing "+e.Namespace+"/p", `"ours"`, `"theirs"`, "each time "+cluster.UserAgent)
	e.WaitForCondition(name, "Ready", "False", "HotLoop", "the status of Thing "+e.Namespace+"/p is left alone")
}
