package mapping

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

func TestStatus(t *testing.T) {
	const noInputs = `configmaps: {total: 0}, nodes: {total: 0}`
	cases := map[string]struct {
		reason  string
		before  string   // the parent's status
		inputs  []string // as in observation
		outputs []string // statuses of pods
		fail    bool
		waits   bool
		want    string
	}{
		"Nothing": {
			reason: "Every declared resource is counted, be there nothing of it.", before: `{}`,
			want: `{inputs: {` + noInputs + `}, outputs: {pods: {total: 0}}, observedGeneration: 4}`,
		},
		"Totals": {
			reason: "Inputs and outputs are counted by plural.", before: `{}`, inputs: []string{"ConfigMap prod/a", "ConfigMap prod/b", "Node n"}, outputs: []string{`{}`, `{}`, `{}`},
			want: `{inputs: {configmaps: {total: 2}, nodes: {total: 1}}, outputs: {pods: {total: 3}}, observedGeneration: 4}`,
		},
		"Conditions": {
			reason: "So are outputs with a condition that is True, in lower camel case.", before: `{}`,
			outputs: []string{`{conditions: [{type: Ready, status: "True"}, {type: PodScheduled, status: "True"}]}`, `{conditions: [{type: Ready, status: "False"}, {type: PodScheduled, status: "True"}]}`},
			want:    `{inputs: {` + noInputs + `}, outputs: {pods: {total: 2, ready: 1, podScheduled: 2}}, observedGeneration: 4}`,
		},
		"ConditionsZero": {
			reason: "A condition that none has True is shown at 0 while there is any.", before: `{outputs: {pods: {total: 1, ready: 1}}}`,
			outputs: []string{`{conditions: [{type: Ready, status: "Unknown"}]}`},
			want:    `{inputs: {` + noInputs + `}, outputs: {pods: {total: 1, ready: 0}}, observedGeneration: 4}`,
		},
		"ConditionsGone": {
			reason: "It goes with the last that has it.", before: `{outputs: {pods: {total: 1, ready: 1}}}`, outputs: []string{`{}`},
			want: `{inputs: {` + noInputs + `}, outputs: {pods: {total: 1}}, observedGeneration: 4}`,
		},
		"ConditionTwice": {
			reason: "An output counts once, whatever it repeats.", before: `{}`,
			outputs: []string{`{conditions: [{type: Ready, status: "True"}, {type: ready, status: "False"}, {type: Ready, status: "True"}]}`},
			want:    `{inputs: {` + noInputs + `}, outputs: {pods: {total: 1, ready: 1}}, observedGeneration: 4}`,
		},
		"ConditionTotal": {
			reason: "No condition passes for the total.", before: `{}`, outputs: []string{`{conditions: [{type: Total, status: "False"}]}`},
			want: `{inputs: {` + noInputs + `}, outputs: {pods: {total: 1}}, observedGeneration: 4}`,
		},
		"ConditionsOdd": {
			reason: "What is no condition is not counted.", before: `{}`, outputs: []string{`{conditions: [1, {status: "True"}, {type: 5}, {type: "", status: "True"}]}`, `{conditions: {Ready: true}}`},
			want: `{inputs: {` + noInputs + `}, outputs: {pods: {total: 2}}, observedGeneration: 4}`,
		},
		"Merged": {
			reason: "All else in the status stays: other fields, and counters of another definition's resources.", before: `{phase: Open, inputs: {secrets: {total: 7}}, outputs: {jobs: {total: 8}, pods: {total: 9, stale: 1}}}`,
			want: `{phase: Open, inputs: {secrets: {total: 7}, ` + noInputs + `}, outputs: {jobs: {total: 8}, pods: {total: 0}}, observedGeneration: 4}`,
		},
		"Odd": {
			reason: "What is no object is replaced.", before: `{inputs: 5, outputs: [1]}`,
			want: `{inputs: {` + noInputs + `}, outputs: {pods: {total: 0}}, observedGeneration: 4}`,
		},
		"Waiting": {
			reason: "Inputs that wait are counted, and those that are gone are not.", before: `{inputs: {nodes: {total: 1, waiting: 1}}}`,
			inputs: []string{"ConfigMap prod/a", "ConfigMap prod/b"}, outputs: []string{`{}`}, waits: true,
			want: `{inputs: {configmaps: {total: 2, waiting: 2}, nodes: {total: 0}}, outputs: {pods: {total: 1}}, observedGeneration: 4}`,
		},
		"Failed": {
			reason: "A generation that an input has not been mapped in is not called observed.", before: `{observedGeneration: 3}`, inputs: []string{"Node n"}, fail: true,
			want: `{inputs: {configmaps: {total: 0}, nodes: {total: 1}}, outputs: {pods: {total: 0}}, observedGeneration: 3}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := newVariant(t, allHooks, pods)
			observed := observation{Parent: namespacedParent, Inputs: tc.inputs}.observed(t, v)
			observed.Parent.Object["status"] = parse(t, tc.before)
			bodies := make([]string, len(tc.inputs))
			for i := range bodies {
				bodies[i] = either(map[bool]string{true: "boom"}[tc.fail], none)
			}
			for range tc.outputs {
				bodies = append(bodies, none)
			}
			for i := range bodies {
				if tc.waits {
					bodies[i] = waits
				}
			}
			for i, status := range tc.outputs {
				o := output(v, "Pod prod/x"+strconv.Itoa(i)+" of /ConfigMap/prod/gone"+strconv.Itoa(i))
				o.Object["status"] = parse(t, status)
				observed.Children = append(observed.Children, o)
			}
			desired, err := v.Desired(observed, answers(t, v, observed, bodies))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tc.want), desired.Status); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(parse(t, tc.before), observed.Parent.Object["status"]); diff != "" {
				t.Errorf("the parent's status was changed:\n%s", diff)
			}
		})
	}
}

// TestStatusOfUndeclared checks that what no rule names has no counter.
func TestStatusOfUndeclared(t *testing.T) {
	v := newVariant(t, allHooks, pods)
	observed := observation{Parent: namespacedParent, Outputs: []string{"ConfigMap prod/x of /Node//n"}}.observed(t, v)
	want := parse(t, `{inputs: {configmaps: {total: 0}, nodes: {total: 0}}, outputs: {pods: {total: 0}}, observedGeneration: 4}`)
	if diff := cmp.Diff(want, v.status(observed, nil, true)); diff != "" {
		t.Errorf("a rule that was taken out counts no more\n-want +got:\n%s", diff)
	}
}

// TestStatusIsStable checks that a status, once written, is not written again.
func TestStatusIsStable(t *testing.T) {
	v := newVariant(t, allHooks, pods)
	observed := observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/a"}, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a"}}.observed(t, v)
	var last map[string]any
	for range 2 {
		desired, err := v.Desired(observed, answers(t, v, observed, []string{pod("x")}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(last, desired.Status); last != nil && diff != "" {
			t.Errorf("a second reconcile of the same state wants another status:\n%s", diff)
		}
		last = desired.Status
		observed.Parent.Object["status"] = last
	}
}

// TestStatusOfTwo checks that two definitions with one parent reach a stable status too.
func TestStatusOfTwo(t *testing.T) {
	one, other := newVariant(t, allHooks, pods), newVariant(t, allHooks, configMaps)
	observed := variant.Observed{Parent: object(t, namespacedParent)}
	for range 2 {
		for _, v := range []*Variant{one, other} {
			observed.Parent.Object["status"] = v.status(observed, nil, true)
		}
	}
	want := parse(t, `{inputs: {configmaps: {total: 0}, nodes: {total: 0}}, outputs: {pods: {total: 0}, configmaps: {total: 0}}, observedGeneration: 4}`)
	if diff := cmp.Diff(want, observed.Parent.Object["status"]); diff != "" {
		t.Errorf("each keeps the counters of the other\n-want +got:\n%s", diff)
	}
}

func TestResourceNames(t *testing.T) {
	gk := func(group string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: "Service"} }
	services := func(group string) discovery.Resource { return resource(group, "v1", "Service", "services", true) }
	cases := map[string]struct {
		reason    string
		resources []discovery.Resource
		want      map[schema.GroupKind]string
	}{
		"Plural": {"The plural is enough.", []discovery.Resource{services("a.b")}, map[schema.GroupKind]string{gk("a.b"): "services"}},
		"Shared": {"Unless two groups have the same plural.", []discovery.Resource{services("a.b"), services("")},
			map[schema.GroupKind]string{gk("a.b"): "services.a.b", gk(""): "services"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, resourceNames(tc.resources, func(r discovery.Resource) discovery.Resource { return r })); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLowerCamel(t *testing.T) {
	cases := map[string]struct{ reason, given, want string }{
		"Word":       {"One word is lowered.", "Ready", "ready"},
		"Words":      {"Of several the first is.", "PodScheduled", "podScheduled"},
		"Lower":      {"What is lower stays.", "ready", "ready"},
		"Initialism": {"An initialism is lowered whole.", "URLReady", "urlReady"},
		"Only":       {"Even if there is nothing else.", "OK", "ok"},
		"Digits":     {"Digits stay.", "Phase2Done", "phase2Done"},
		"Domain":     {"Domains and dashes are words.", "example.com/feature-1", "exampleComFeature1"},
		"Empty":      {"Nothing is nothing.", "", ""},
		"Signs":      {"Signs alone are nothing.", "--/", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := lowerCamel(tc.given); got != tc.want {
				t.Errorf("%s\nlowerCamel(%q) = %q, want %q", tc.reason, tc.given, got, tc.want)
			}
		})
	}
}
