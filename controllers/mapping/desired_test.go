package mapping

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// outcome is a desired state, in short.
type outcome struct {
	Children, Keep, Problems []string
	Waiting, Events          []string
	Resync                   float64
	Finalized                bool
}

func outcomeOf(desired variant.Desired) outcome {
	o := outcome{Children: all(desired.Children, described), Resync: desired.ResyncAfterSeconds, Finalized: desired.Finalized}
	keys := slices.Collect(maps.Keys(desired.Keep))
	for _, key := range keys {
		o.Keep = append(o.Keep, key.String())
	}
	slices.Sort(o.Keep)
	for _, wait := range desired.Waits() {
		o.Waiting = append(o.Waiting, wait.String())
	}
	for _, event := range desired.Events {
		o.Events = append(o.Events, event.Reason+": "+event.Message)
	}
	for _, problem := range desired.Problems {
		o.Problems = append(o.Problems, problem.Error())
	}
	return o
}

// failedInputs returns how many inputs problems are about, without those that are gone.
func failedInputs(problems []string) int {
	inputs := map[string]bool{}
	for _, problem := range problems {
		if about, _, _ := strings.Cut(problem, ": "); strings.HasPrefix(about, "input ") && !strings.HasSuffix(about, ", which is gone") {
			inputs[about] = true
		}
	}
	return len(inputs)
}

// answers makes an answer to each call. The text "boom" stands for a failure.
func answers(t *testing.T, v *Variant, observed variant.Observed, bodies []string) []variant.Answer {
	t.Helper()
	calls, err := v.Calls(observed)
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != len(bodies) {
		t.Fatalf("%d calls, but %d answers", len(calls), len(bodies))
	}
	var given []variant.Answer
	for i, call := range calls {
		answer := variant.Answer{Call: call}
		decode(t, bodies[i], &answer.Body)
		if answer.Body == "boom" {
			answer.Body, answer.Err = nil, fmt.Errorf("HookFailed: %s hook: %w", call.Hook, errBoom)
		}
		given = append(given, answer)
	}
	return given
}

const (
	none  = `{outputs: []}`
	waits = `{waiting: {reason: Late, message: not yet}}`
)

// pod is an answer with one pod.
func pod(name string) string {
	return `{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}}]}`
}

func TestDesired(t *testing.T) {
	a, b := "ConfigMap prod/a", "ConfigMap prod/b"
	cases := map[string]struct {
		reason  string
		hooks   string // all of them if empty
		cluster bool
		outputs []discovery.Resource // pods if empty
		inputs  []string
		observe []string
		answers []string
		want    outcome
	}{
		"NoInputs": {
			reason: "Without inputs there are no outputs.", want: outcome{},
		},
		"One": {
			reason: "An output gets the parent's namespace and the input's key.", inputs: []string{a}, answers: []string{pod("x")},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a"}},
		},
		"Order": {
			reason: "Outputs are in the order of inputs, then of the hook.", inputs: []string{b, a},
			answers: []string{`{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: z}}, {apiVersion: v1, kind: Pod, metadata: {name: x2}}]}`, pod("x")},
			want:    outcome{Children: []string{"Pod prod/z of /ConfigMap/prod/b", "Pod prod/x2 of /ConfigMap/prod/b", "Pod prod/x of /ConfigMap/prod/a"}},
		},
		"None": {
			reason: "An empty list means that the input has no outputs: what there is goes.", inputs: []string{a}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{none},
			want: outcome{},
		},
		"NullList": {
			reason: "Null is an empty list.", inputs: []string{a}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{`{outputs: null}`},
			want: outcome{},
		},
		"ListAbsent": {
			reason: "An absent list deletes nothing.", inputs: []string{a}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{`{}`},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/a: HookResponseInvalid: map hook: outputs: is required, if only as an empty list: nothing was deleted for want of it"}},
		},
		"ListAbsentLoose": {
			reason: "Who wrote loose out may omit it.", hooks: `{map: {webhook: {responseUnMarshallMode: loose}}}`, inputs: []string{a}, answers: []string{`{}`},
			want: outcome{},
		},
		"NoOutputsDeclared": {
			reason: "Who declares no outputs needs no list.", outputs: []discovery.Resource{}, inputs: []string{a}, answers: []string{`null`},
			want: outcome{},
		},
		"NullBody": {
			reason: "A null body is no answer.", inputs: []string{a}, answers: []string{`null`},
			want: outcome{Problems: []string{"input /ConfigMap/prod/a: HookResponseInvalid: map hook: the hook answered null where an object with outputs, resyncAfterSeconds is needed"}},
		},
		"Unknown": {
			reason: "Hooks of maps are strict: a status is the map's own.", inputs: []string{a}, answers: []string{`{outputs: [], status: {}}`},
			want: outcome{Problems: []string{"input /ConfigMap/prod/a: HookResponseInvalid: map hook: status: is no field of this hook's response, which has outputs, waiting, events, resyncAfterSeconds"}},
		},
		"Undeclared": {
			reason: "A kind that is not declared is refused.", inputs: []string{a}, answers: []string{`{outputs: [{apiVersion: v1, kind: Secret, metadata: {name: x}}]}`},
			want: outcome{Problems: []string{"input /ConfigMap/prod/a: HookResponseInvalid: map hook: outputs[0]: v1 Secret is not among spec.outputResources, which have v1 Pod"}},
		},
		"TwiceInOne": {
			reason: "One input can't have an output twice.", inputs: []string{a}, answers: []string{`{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: x}}, {apiVersion: v1, kind: Pod, metadata: {name: x, namespace: prod}}]}`},
			want: outcome{Problems: []string{"input /ConfigMap/prod/a: HookResponseInvalid: map hook: outputs[1]: Pod prod/x stands at outputs[0] already: each may be listed once"}},
		},
		"OtherNamespace": {
			reason: "Outputs of a parent in a namespace are there.", inputs: []string{a}, answers: []string{`{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: test}}]}`},
			want: outcome{Problems: []string{`input /ConfigMap/prod/a: HookResponseInvalid: map hook: outputs[0]: metadata.namespace: is "test", but children of a parent in "prod" must be there too`}},
		},
		"ClusterDefault": {
			reason: "For a parent in no namespace it is that of the input.", cluster: true, inputs: []string{a, "ConfigMap test/a"}, answers: []string{pod("x"), pod("x")},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod test/x of /ConfigMap/test/a"}},
		},
		"ClusterEmptyNamespace": {
			reason: "An empty or null namespace is none.", cluster: true, inputs: []string{a, b}, answers: []string{`{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: ""}}]}`, `{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: x2, namespace: null}}]}`},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/x2 of /ConfigMap/prod/b"}},
		},
		"ClusterGiven": {
			reason: "Another may be given.", cluster: true, inputs: []string{a}, answers: []string{`{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: test}}]}`},
			want: outcome{Children: []string{"Pod test/x of /ConfigMap/prod/a"}},
		},
		"ClusterInputInNone": {
			reason: "Where neither is in one it must be given.", cluster: true, inputs: []string{"Node n1"}, answers: []string{pod("x")},
			want: outcome{Problems: []string{"input /Node//n1: HookResponseInvalid: map hook: outputs[0]: metadata.namespace: is required, as the parent is in none"}},
		},
		"ClusterOutput": {
			reason: "Outputs in no namespace have none.", cluster: true, outputs: []discovery.Resource{roles}, inputs: []string{a}, answers: []string{`{outputs: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}}]}`},
			want: outcome{Children: []string{"ClusterRole x of /ConfigMap/prod/a"}},
		},
		"ClusterNoObject": {
			reason: "A response that is no object is an error as usual.", cluster: true, inputs: []string{a, b}, answers: []string{`{outputs: [null]}`, `{outputs: {}}`},
			want: outcome{Problems: []string{
				"input /ConfigMap/prod/a: HookResponseInvalid: map hook: outputs[0]: must be an object, but is null",
				"input /ConfigMap/prod/b: HookResponseInvalid: map hook: outputs: must be a list of objects, but is an object",
			}},
		},
		"Failed": {
			reason: "A failure for one input keeps its outputs, and holds up no other.", inputs: []string{a, b},
			observe: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/x2 of /ConfigMap/prod/b"}, answers: []string{`boom`, pod("z")},
			want: outcome{Children: []string{"Pod prod/z of /ConfigMap/prod/b"}, Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/a: HookFailed: map hook: boom"}},
		},
		"AllFailed": {
			reason: "If all fail, everything stays.", inputs: []string{a, b},
			observe: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/x2 of /ConfigMap/prod/b"}, answers: []string{`boom`, `boom`},
			want: outcome{Keep: []string{"Pod prod/x", "Pod prod/x2"}, Problems: []string{"input /ConfigMap/prod/a: HookFailed: map hook: boom", "input /ConfigMap/prod/b: HookFailed: map hook: boom"}},
		},
		"OneBadOutput": {
			reason: "One wrong output spoils the answer for its input, as half an answer is none.", inputs: []string{a}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"},
			answers: []string{`{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: z}}, {apiVersion: v1, kind: Pod}]}`},
			want:    outcome{Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/a: HookResponseInvalid: map hook: outputs[1].metadata.name: is required"}},
		},
		"BadResync": {
			reason: "A wrong number of seconds does too.", inputs: []string{a}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{`{outputs: [], resyncAfterSeconds: soon}`},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/a: HookResponseInvalid: map hook: resyncAfterSeconds: must be a number of seconds, but is a string"}},
		},
		"CollisionFirst": {
			reason: "Of two inputs that want one output the first has it.", inputs: []string{a, b}, answers: []string{pod("x"), pod("x")},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a"}, Problems: []string{"input /ConfigMap/prod/b: Pod prod/x stays with input /ConfigMap/prod/a: name outputs such that no two inputs want the same one"}},
		},
		"CollisionHolder": {
			reason: "But one that has it keeps it.", inputs: []string{a, b}, observe: []string{"Pod prod/x of /ConfigMap/prod/b"}, answers: []string{pod("x"), pod("x")},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/b"}, Problems: []string{"input /ConfigMap/prod/a: Pod prod/x stays with input /ConfigMap/prod/b: name outputs such that no two inputs want the same one"}},
		},
		"CollisionRest": {
			reason: "Other outputs of the one that did not get it are made.", inputs: []string{a, b}, answers: []string{pod("x"), `{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: x}}, {apiVersion: v1, kind: Pod, metadata: {name: x2}}]}`},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/x2 of /ConfigMap/prod/b"}, Problems: []string{"input /ConfigMap/prod/b: Pod prod/x stays with input /ConfigMap/prod/a: name outputs such that no two inputs want the same one"}},
		},
		"CollisionThree": {
			reason: "All others get an error.", inputs: []string{a, b, "ConfigMap prod/c"}, answers: []string{pod("x"), pod("x"), pod("x")},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a"}, Problems: []string{
				"input /ConfigMap/prod/b: Pod prod/x stays with input /ConfigMap/prod/a: name outputs such that no two inputs want the same one",
				"input /ConfigMap/prod/c: Pod prod/x stays with input /ConfigMap/prod/a: name outputs such that no two inputs want the same one",
			}},
		},
		"CollisionFailedHolder": {
			reason: "An input whose hook failed keeps what it has.", inputs: []string{a, b}, observe: []string{"Pod prod/x of /ConfigMap/prod/b"}, answers: []string{pod("x"), `boom`},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{
				"input /ConfigMap/prod/a: Pod prod/x stays with input /ConfigMap/prod/b: name outputs such that no two inputs want the same one",
				"input /ConfigMap/prod/b: HookFailed: map hook: boom",
			}},
		},
		"HandedOver": {
			reason: "An output that its input no longer wants may go to another.", inputs: []string{a, b}, observe: []string{"Pod prod/x of /ConfigMap/prod/b"}, answers: []string{pod("x"), none},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a"}},
		},
		"SameNameElsewhere": {
			reason: "Namespaces keep outputs apart.", cluster: true, inputs: []string{a, "ConfigMap test/a"}, observe: []string{"Pod prod/x of /ConfigMap/test/a"}, answers: []string{pod("x"), pod("x")},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod test/x of /ConfigMap/test/a"}},
		},
		"GoneWithoutHook": {
			reason: "Without a tombstone hook the outputs of an input that is gone go too.", hooks: `{map: {}}`, inputs: []string{b}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{none},
			want: outcome{},
		},
		"GoneHandedOver": {
			reason: "Unless another input wants them.", hooks: `{map: {}}`, inputs: []string{b}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{pod("x")},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/b"}},
		},
		"TombstoneKeeps": {
			reason: "What a tombstone hook lists stays as it is, and the rest goes.", observe: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/x2 of /ConfigMap/prod/a"}, answers: []string{pod("x2")},
			want: outcome{Keep: []string{"Pod prod/x2"}},
		},
		"TombstoneEdits": {
			reason: "An edit of what it keeps is not heeded.", observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{`{outputs: [{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: prod, labels: {a: b}}, spec: {a: b}}]}`},
			want: outcome{Keep: []string{"Pod prod/x"}},
		},
		"TombstoneDrops": {
			reason: "An empty list keeps nothing.", observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{none},
			want: outcome{},
		},
		"TombstoneAdds": {
			reason: "It can't add: then all of the group stays.", observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{pod("x2")},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/a, which is gone: HookResponseInvalid: tombstone hook: outputs[0]: Pod prod/x2 was not sent: a tombstone hook can keep what it was sent, and add nothing to it"}},
		},
		"TombstoneOfOther": {
			reason: "What was sent is what that group has, not what others have.", observe: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/x2 of /ConfigMap/prod/b"}, answers: []string{pod("x2"), none},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/a, which is gone: HookResponseInvalid: tombstone hook: outputs[0]: Pod prod/x2 was not sent: a tombstone hook can keep what it was sent, and add nothing to it"}},
		},
		"TombstoneFailed": {
			reason: "If it fails, all of the group stays.", inputs: []string{b}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{none, `boom`},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/a, which is gone: HookFailed: tombstone hook: boom"}},
		},
		"TombstoneAbsentList": {
			reason: "Its list has to be there.", observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{`{}`},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/a, which is gone: HookResponseInvalid: tombstone hook: outputs: is required, if only as an empty list: nothing was deleted for want of it"}},
		},
		"TombstoneClusterDefault": {
			reason: "It may leave out the namespace of the input that is gone.", cluster: true, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{pod("x")},
			want: outcome{Keep: []string{"Pod prod/x"}},
		},
		"TombstoneWantedElsewhere": {
			reason: "What is kept for an input that is gone does not go to another.", inputs: []string{b}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{pod("x"), pod("x")},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{"input /ConfigMap/prod/b: Pod prod/x stays with input /ConfigMap/prod/a: name outputs such that no two inputs want the same one"}},
		},
		"Waiting": {
			reason: "The outputs of an input that waits stay, and no other input is held up.", inputs: []string{a, b},
			observe: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/x2 of /ConfigMap/prod/b"}, answers: []string{waits, pod("z")},
			want: outcome{
				Children: []string{"Pod prod/z of /ConfigMap/prod/b"}, Keep: []string{"Pod prod/x"},
				Waiting: []string{"input /ConfigMap/prod/a: Late: not yet"},
			},
		},
		"WaitingHolder": {
			reason: "No other input gets the outputs of one that waits.", inputs: []string{a, b}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"},
			answers: []string{waits, pod("x")},
			want: outcome{
				Keep: []string{"Pod prod/x"}, Waiting: []string{"input /ConfigMap/prod/a: Late: not yet"},
				Problems: []string{"input /ConfigMap/prod/b: Pod prod/x stays with input /ConfigMap/prod/a: name outputs such that no two inputs want the same one"},
			},
		},
		"WaitingAndList": {
			reason: "Both would contradict each other.", inputs: []string{a}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"},
			answers: []string{`{outputs: [], waiting: {reason: Late, message: not yet}}`},
			want: outcome{Keep: []string{"Pod prod/x"}, Problems: []string{
				"input /ConfigMap/prod/a: HookResponseInvalid: map hook: outputs: stands beside waiting, which leaves all of them as they are: leave one of the two out",
			}},
		},
		"TombstoneWaits": {
			reason: "The outputs of an input that is gone may wait too.", observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{waits},
			want: outcome{Keep: []string{"Pod prod/x"}, Waiting: []string{"input /ConfigMap/prod/a: Late: not yet"}},
		},
		"Events": {
			reason: "Those of all inputs are the parent's.", inputs: []string{a, b},
			answers: []string{`{outputs: [], events: [{reason: One, message: done}]}`, `{waiting: {reason: Late, message: not yet}, events: [{reason: Two, message: done}]}`},
			want:    outcome{Events: []string{"One: done", "Two: done"}, Waiting: []string{"input /ConfigMap/prod/b: Late: not yet"}},
		},
		"InputAnew": {
			reason: "An input that was made anew has its outputs back.", inputs: []string{a}, observe: []string{"Pod prod/x of /ConfigMap/prod/a"}, answers: []string{pod("x")},
			want: outcome{Children: []string{"Pod prod/x of /ConfigMap/prod/a"}},
		},
		"ResyncSoonest": {
			reason: "The soonest of all counts, and no time is never.", inputs: []string{a, b, "ConfigMap prod/c"}, observe: []string{"Pod prod/x of /ConfigMap/prod/z"},
			answers: []string{`{outputs: [], resyncAfterSeconds: 30}`, none, `{outputs: [], resyncAfterSeconds: 0}`, `{outputs: [], resyncAfterSeconds: 2.5}`},
			want:    outcome{Resync: 2.5},
		},
		"ResyncNegative": {
			reason: "A time that is over fails its input.", inputs: []string{a, b}, answers: []string{`{outputs: [], resyncAfterSeconds: -1}`, `{outputs: [], resyncAfterSeconds: 7}`},
			want: outcome{Resync: 7, Problems: []string{"input /ConfigMap/prod/a: HookResponseInvalid: map hook: resyncAfterSeconds: must be at least 0 and at most 3153600000, which is 100 years, but is -1: leave it out to be called after changes only"}},
		},
		"ResyncBesideFailure": {
			reason: "A failure beside it changes nothing about it.", inputs: []string{a, b}, answers: []string{`{outputs: [], resyncAfterSeconds: 7}`, `boom`},
			want: outcome{Resync: 7, Problems: []string{"input /ConfigMap/prod/b: HookFailed: map hook: boom"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.outputs == nil {
				tc.outputs = []discovery.Resource{pods}
			}
			v := newVariant(t, either(tc.hooks, allHooks), tc.outputs...)
			s := observation{Parent: namespacedParent, Inputs: tc.inputs, Outputs: tc.observe}
			if tc.cluster {
				s.Parent = clusterParent
			}
			observed := s.observed(t, v)
			given := answers(t, v, observed, tc.answers)
			desired, err := v.Desired(observed, given)
			if err != nil {
				t.Fatal(err)
			}
			if want := failedInputs(tc.want.Problems); desired.FailedInputs != want {
				t.Errorf("%d inputs are counted as failed, want %d", desired.FailedInputs, want)
			}
			if diff := cmp.Diff(tc.want, outcomeOf(desired)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(s.observed(t, v), observed); diff != "" {
				t.Errorf("what was observed was changed:\n%s", diff)
			}
			if diff := cmp.Diff(answers(t, v, observed, tc.answers), given, cmp.Comparer(sameText)); diff != "" {
				t.Errorf("the answers were changed:\n%s", diff)
			}
		})
	}
}

func sameText(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error()
}

func either(given, otherwise string) string {
	if given == "" {
		return otherwise
	}
	return given
}

// TestProblemKinds checks that the core can tell what kind of failure it was.
func TestProblemKinds(t *testing.T) {
	v := newVariant(t, allHooks, pods)
	observed := observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/a", "ConfigMap prod/b", "ConfigMap prod/c"}}.observed(t, v)
	desired, err := v.Desired(observed, answers(t, v, observed, []string{`boom`, pod("x"), pod("x")}))
	if err != nil || len(desired.Problems) != 2 {
		t.Fatalf("want two problems, got %v (%v)", desired.Problems, err)
	}
	if !errors.Is(desired.Problems[0], errBoom) {
		t.Errorf("the hook's own error should be within %v", desired.Problems[0])
	}
	if kind := engines.KindOf(desired.Problems[1]); kind != engines.BadResponse {
		t.Errorf("two inputs wanting one output is a bad response, not %v", kind.Reason())
	}
}

// TestDesiredDeleting checks that a parent that goes takes its outputs along
// by the garbage collector alone.
func TestDesiredDeleting(t *testing.T) {
	v := newVariant(t, `{map: {}}`, pods)
	observed := observation{Parent: deletingParent, Inputs: []string{"ConfigMap prod/b"}, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a"}}.observed(t, v)
	desired, err := v.Desired(observed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[apply.Key]bool{apply.KeyOf(observed.Children[0]): true}, desired.Keep); diff != "" || len(desired.Children) != 0 {
		t.Errorf("want nothing but to keep what there is, got %v\n%s", desired.Children, diff)
	}
}
