package cel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// TestLibrary calls functions of the module for authors as expressions use them. What they answer is the matter of test/contract.
func TestLibrary(t *testing.T) {
	job := map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "init"},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}},
	}
	request := map[string]any{
		"parent":   map[string]any{"metadata": map[string]any{"name": "web"}, "long": strings.Repeat("a", 1<<20)},
		"children": map[string]any{"Job.batch/v1": map[string]any{"shop/init": job}},
	}
	cases := map[string]struct {
		reason, expression string
		want               any
		err                string
	}{
		"objects":       {"parts of the request are not copied", `objectsOf(children, 'batch/v1', 'Job')[0]`, job, ""},
		"ready":         {"an object of the request", `objectsOf(children, 'batch/v1', 'Job').all(j, isReady(j))`, true, ""},
		"optional":      {"an optional without a value is null", `isReady(children['Job.batch/v1'][?'shop/other'])`, false, ""},
		"some":          {"and otherwise its value", `isReady(children['Job.batch/v1'][?'shop/init'])`, true, ""},
		"condition":     {"a condition has fields", `has(findCondition(children['Job.batch/v1']['shop/init'], 'Complete').status)`, true, ""},
		"none":          {"a condition that is not there", `findCondition(parent, 'Ready') == null`, true, ""},
		"conditions":    {"the list of a new parent is not there", `setCondition(parent.?status.?conditions, {'type': 'A', 'status': 'True'}).map(c, c.status)`, []any{"True"}, ""},
		"suffix":        {"a number or a text", `[childName('web', 1), childName('web', 'a'), childName('web')]`, []any{"web-1", "web-a", "web"}, ""},
		"ordinal":       {"a number or null", `[ordinalOf('web-3', 'web'), ordinalOf('web', 'web')]`, []any{int64(3), nil}, ""},
		"group":         {"the place is that of the call", `[1].map(i, objectsOf(children, 'v1', 'Pod'))`, nil, "sync.cel:1:21: objectsOf: there is no group Pod.v1, only [Job.batch/v1]"},
		"groups":        {"a field is not all groups", `objectsOf(parent.metadata.name, 'v1', 'Pod')`, nil, `sync.cel:1:10: objectsOf: groups is "web", want children, attachments, outputs or related`},
		"conditionless": {"a condition has a type", `setCondition([], {'status': 'True'})`, nil, `sync.cel:1:13: setCondition: condition is {"status":"True"}, want an object with type and status, which are strings`},
		"no list":       {"a status is not its conditions", `setCondition({}, {'type': 'A', 'status': 'True'})`, nil, `setCondition: conditions is {}, want a list or null`},
		"no object":     {"nor is a name an object", `isConditionTrue('web', 'Ready')`, nil, `isConditionTrue: object is "web", want an object or null`},
		"large":         {"a hash is charged less than it takes", `hash(parent)`, nil, "sync.cel:1:5: hash: an argument is larger than 1 MiB"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program, err := compile(t, script(c.expression))
			if err != nil {
				t.Fatal(err)
			}
			response, err := program.Run(t.Context(), engines.Call{Request: request})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, response.Body); err != nil || diff != "" {
				t.Errorf("error %v, answer (-want +got):\n%s", err, diff)
			}
		})
	}
}
