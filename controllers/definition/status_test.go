package definition

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

func TestScriptsCondition(t *testing.T) {
	problem := scripts.Problem{
		Origin: scripts.Origin{ConfigMap: types.NamespacedName{Namespace: "ns", Name: "hooks"}},
		Err:    &engines.Error{Kind: engines.Invalid, Location: engines.Location{File: "sync.js", Line: 3, Column: 7}, Message: "unexpected }"},
	}
	withTree := &instance{hooks: &hooks.Hooks{Tree: &scripts.Tree{}}}
	cases := map[string]struct {
		reason string
		newest *instance
		state  scripts.State
		held   string
		want   metav1.Condition
	}{
		"NotAccepted": {
			reason: "The scripts of a definition that is not accepted are unknown.",
			want:   metav1.Condition{Status: "Unknown", Reason: "NotAccepted", Message: "scripts are loaded once the definition is accepted"},
		},
		"None": {
			reason: "A definition without scripts is ready in this respect.",
			newest: &instance{hooks: &hooks.Hooks{}},
			want:   metav1.Condition{Status: "True", Reason: "NoScripts", Message: "no hook is a script"},
		},
		"Loading": {
			reason: "Before they are read nothing is wrong yet.",
			newest: withTree,
			want:   metav1.Condition{Status: "Unknown", Reason: "Loading", Message: "the scripts are being read"},
		},
		"LoadingLong": {
			reason: "A load that waits for a worker is no failure, and is reported with what serves meanwhile.",
			newest: withTree, state: scripts.State{Loaded: "abc", Desired: "def", LoadingSince: time.Unix(0, 0), Problems: []scripts.Problem{problem}},
			want: metav1.Condition{Status: "Unknown", Reason: "Loading", Message: "revision def has been loading since 1970-01-01T00:00:00Z: " +
				"the host is short of CPU, or of script workers (--script-workers)\nrevision abc goes on serving"},
		},
		"Loaded": {
			reason: "The revision that serves is reported.",
			newest: withTree, state: scripts.State{Loaded: "abc", Desired: "abc"},
			want: metav1.Condition{Status: "True", Reason: "Loaded", Message: "revision abc serves"},
		},
		"BrokenFromTheStart": {
			reason: "The place of the mistake is reported.",
			newest: withTree, state: scripts.State{Desired: "abc", Problems: []scripts.Problem{problem}},
			want: metav1.Condition{Status: "False", Reason: "ScriptInvalid", Message: "ConfigMap ns/hooks: sync.js:3:7: unexpected }"},
		},
		"Restored": {
			reason: "A restored revision is reported with its ControllerRevision.",
			newest: withTree, state: scripts.State{Loaded: "abc", Desired: "def", RestoredFrom: "ns/composite-c-abc", Problems: []scripts.Problem{problem}},
			want: metav1.Condition{Status: "False", Reason: "ScriptInvalid",
				Message: "ConfigMap ns/hooks: sync.js:3:7: unexpected }\nrevision abc goes on serving, from ControllerRevision ns/composite-c-abc"},
		},
		"NothingToRestore": {
			reason: "The reason why nothing serves is reported too.",
			newest: withTree, state: scripts.State{Desired: "def", NotRestored: "no such revision is kept", Problems: []scripts.Problem{problem}},
			want: metav1.Condition{Status: "False", Reason: "ScriptInvalid",
				Message: "ConfigMap ns/hooks: sync.js:3:7: unexpected }\nnone serves in its place: no such revision is kept"},
		},
		"Held": {
			reason: "Scripts that are held have loaded. kubectl get shows the reason.",
			newest: withTree, state: scripts.State{Loaded: "abc", Desired: "def", Held: "it would delete all"}, held: "revision def is held",
			want: metav1.Condition{Status: "True", Reason: "Held", Message: "revision def is held"},
		},
		"NotKept": {
			reason: "A revision that a restart would lose is reported while it serves.",
			newest: withTree, state: scripts.State{Loaded: "abc", Desired: "abc", NotArchived: "forbidden"},
			want: metav1.Condition{Status: "True", Reason: "Loaded", Message: "revision abc serves\nit would not outlive a restart of the host: forbidden"},
		},
		"Warnings": {
			reason: "Warnings are reported while it serves.",
			newest: withTree, state: scripts.State{Loaded: "abc", Desired: "abc", Warnings: "ConfigMap ns/hooks: sync.jsonnet:1:1: can't import \"a\""},
			want: metav1.Condition{Status: "True", Reason: "Loaded", Message: "revision abc serves, with warnings\nConfigMap ns/hooks: sync.jsonnet:1:1: can't import \"a\""},
		},
		"BrokenEdit": {
			reason: "So is the revision that keeps serving.",
			newest: withTree, state: scripts.State{Loaded: "abc", Desired: "def", Problems: []scripts.Problem{problem}},
			want: metav1.Condition{Status: "False", Reason: "ScriptInvalid", Message: "ConfigMap ns/hooks: sync.js:3:7: unexpected }\nrevision abc goes on serving"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.want.Type = "ScriptsReady"
			if diff := cmp.Diff(tc.want, scriptsCondition(tc.newest, tc.state, tc.held)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCauseOfNotReady checks that the message of Ready, which kubectl get -o wide shows, has the cause if nothing runs, or not what the
// spec says.
func TestCauseOfNotReady(t *testing.T) {
	problem := scripts.Problem{Origin: scripts.Origin{Hook: "sync"}, Err: errors.New("unexpected }")}
	broken := scripts.State{Problems: []scripts.Problem{problem}}
	loading, running := &instance{plan: &plan.Plan{}, hooks: &hooks.Hooks{}}, &instance{plan: &plan.Plan{Generation: 3}, hooks: &hooks.Hooks{}}
	refused := &plan.Refusal{Reason: plan.ReasonInvalid, Err: errors.New("spec.hooks.sync: is required")}
	for name, c := range map[string]struct {
		reason  string
		state   *runtimeState
		refusal *plan.Refusal
		view    statusView
		want    string
	}{
		"refused":         {"The spec is refused.", &runtimeState{}, refused, statusView{}, "no parent is synced: spec.hooks.sync: is required"},
		"broken":          {"The scripts do not load.", &runtimeState{instances: instances{next: loading}}, nil, statusView{newest: newestView{state: broken}}, "no parent is synced before the scripts have loaded: hook sync: unexpected }"},
		"loading":         {"Nothing is wrong yet.", &runtimeState{instances: instances{next: loading}}, nil, statusView{}, "no parent is synced before the scripts have loaded: see the condition ScriptsReady"},
		"earlier refused": {"An earlier spec runs.", &runtimeState{instances: instances{running: running}}, refused, statusView{}, "parents are synced as generation 3 of the spec says, with the scripts of that time, until the present one can be\nspec.hooks.sync: is required"},
		"earlier broken":  {"It does so also as the scripts of the next one do not load.", &runtimeState{instances: instances{running: running, next: loading}}, nil, statusView{newest: newestView{state: broken}}, "parents are synced as generation 3 of the spec says, with the scripts of that time, until the present one can be\nhook sync: unexpected }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(c.want, readyCondition(c.state, c.refusal, c.view).Message); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotFoundIsQuietAtFirst goes through the life of a definition whose resource is missing at times: an event about that is due once it
// has been for ten seconds.
func TestNotFoundIsQuietAtFirst(t *testing.T) {
	start := time.Unix(1000, 0)
	refused := func(reason string) metav1.Condition {
		return metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse, Reason: reason, Message: "refused: " + reason}
	}
	missing, invalid, accepted := refused(plan.ReasonResourceNotFound), refused(plan.ReasonInvalid), metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue}
	var last lastEvents
	for _, step := range []struct {
		what      string
		condition metav1.Condition
		at, wait  time.Duration
		event     string
	}{
		{"its resource is missing", missing, 0, notFoundDelay, ""},
		{"still", missing, 4 * time.Second, 6 * time.Second, ""},
		{"now it is served", accepted, 5 * time.Second, 0, ""},
		{"it is missing again, from now on", missing, 11 * time.Second, notFoundDelay, ""},
		{"for long", missing, 21 * time.Second, 0, missing.Message},
		{"and longer", missing, time.Hour, 0, missing.Message},
		{"what does not pass by itself is reported at once", invalid, time.Hour, 0, invalid.Message},
		{"what was missing before does not count then", missing, 2 * time.Hour, notFoundDelay, ""},
	} {
		var now lastEvents
		if wait := now.setAccepted(last, step.condition, start.Add(step.at)); wait != step.wait || now.accepted != step.event {
			t.Errorf("%s: %q, and the next in %s, want %q and %s", step.what, now.accepted, wait, step.event, step.wait)
		}
		last = now
	}
}

func TestReadyCondition(t *testing.T) {
	synced := &instance{plan: &plan.Plan{Generation: 3}}
	synced.synced.Store(true)
	starting := &instance{plan: &plan.Plan{Generation: 3}, hooks: &hooks.Hooks{}}
	refused := &plan.Refusal{Reason: plan.ReasonResourceNotFound, Err: errors.New("no things")}
	cases := map[string]struct {
		reason       string
		state        *runtimeState
		refusal      *plan.Refusal
		warnings     []plan.Warning
		credentials  string
		openCircuits string
		want         string
	}{
		"Refused":         {"A refused definition that never ran is not ready.", &runtimeState{}, refused, nil, "", "", "False NotAccepted"},
		"WaitsForScripts": {"Nothing runs before its scripts have loaded.", &runtimeState{instances: instances{next: starting}}, nil, nil, "", "", "False ScriptsNotReady"},
		"Starting":        {"Caches must be filled.", &runtimeState{instances: instances{running: starting}}, nil, nil, "", "", "False Starting"},
		"Running":         {"Everything works.", &runtimeState{instances: instances{running: synced}}, nil, nil, "", "", "True Running"},
		"NoStatus":        {"A missing status subresource does not prevent running.", &runtimeState{instances: instances{running: synced}}, nil, []plan.Warning{{Reason: plan.ReasonNoStatusSubresource, Message: "no status"}}, "", "", "True NoStatusSubresource"},
		"LastGood":        {"The last good credentials stay in use, and the problem with newer ones is reported.", &runtimeState{instances: instances{running: synced}}, nil, nil, "no Secret", "", "True CredentialsNotReady"},
		"Several":         {"The first of several is the reason.", &runtimeState{instances: instances{running: synced}}, nil, []plan.Warning{{Reason: plan.ReasonNoStatusChecks, Message: "no checks"}, {Reason: plan.ReasonNoStatusSubresource, Message: "no status"}}, "", "", "True NoStatusChecks"},
		"Resting":         {"A script that is not called syncs no parent.", &runtimeState{instances: instances{running: synced}}, nil, nil, "", "sync hook: not called", "False ScriptResting"},
		"EarlierRefused":  {"An earlier spec that keeps running is reported.", &runtimeState{instances: instances{running: synced}}, refused, nil, "", "", "False EarlierSpecServes"},
		"EarlierWaits":    {"So is one that waits to be replaced.", &runtimeState{instances: instances{running: synced, next: starting}}, nil, nil, "", "", "False EarlierSpecServes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := readyCondition(tc.state, tc.refusal, statusView{warnings: tc.warnings, newest: newestView{credentials: tc.credentials}, running: runningView{openCircuits: tc.openCircuits}})
			if got := string(c.Status) + " " + c.Reason; got != tc.want {
				t.Errorf("%s\n%s, want %s (%s)", tc.reason, got, tc.want, c.Message)
			}
		})
	}
}
