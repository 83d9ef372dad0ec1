package cel

import (
	"testing"
	"time"
)

// TestMissedFields checks that the error about a key that is not there names the one that was meant.
func TestMissedFields(t *testing.T) {
	request := map[string]any{
		"parent":   map[string]any{"spec": map[string]any{"greeting": "hello"}},
		"children": map[string]any{"Pod.v1": map[string]any{}, "Job.batch/v1": map[string]any{}},
		"related":  map[string]any{"Secret.v1": map[string]any{"a": map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "eA=="}}}},
	}
	for name, c := range map[string]struct{ reason, text, want string }{
		"field":     {"A letter is missing.", "parent.spec.gretings", "no such key: gretings: did you mean greeting?"},
		"group":     {"The plural is no kind.", "children['Pods.v1']", "no such key: Pods.v1: did you mean Pod.v1?"},
		"far group": {"A group that is far from all is followed by which there are.", "children['Deployment.v1']", "no such key: Deployment.v1: there are Job.batch/v1, Pod.v1, Secret.v1"},
		"unlike":    {"Nothing is near.", "parent.spec.colour", "no such key: colour: if it may be missing, write x.?colour.orValue(DEFAULT)"},
		"secret":    {"The keys of a Secret are not reported.", "related['Secret.v1'].a.data.pasword", "no such key: pasword: if it may be missing, write x.?pasword.orValue(DEFAULT)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, got := run(t, script(c.text), request, time.Minute)
			if got == nil || got.Message != c.want {
				t.Errorf("error\n%v, want\n%s", got, c.want)
			}
		})
	}
}
