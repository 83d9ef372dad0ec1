package jsonnet

import (
	"testing"
	"time"
)

// TestMissedFields checks that the error about a field that is not there names the one that was meant.
func TestMissedFields(t *testing.T) {
	request := map[string]any{"parent": map[string]any{"spec": map[string]any{"greeting": "hello"}}, "children": map[string]any{"Pod.v1": map[string]any{}, "Job.batch/v1": map[string]any{}},
		"related": map[string]any{"Secret.v1": map[string]any{"a": map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "eA=="}}}}}
	for name, c := range map[string]struct{ reason, text, want string }{
		"field":     {"A letter is missing.", "function(request) request.parent.spec.gretings", "Field does not exist: gretings: did you mean greeting?"},
		"group":     {"The plural is no kind.", "function(request) request.children['Pods.v1']", "Field does not exist: Pods.v1: did you mean Pod.v1?"},
		"far group": {"A group that is far from all is followed by which there are.", "function(request) request.children['Deployment.v1']", "Field does not exist: Deployment.v1: there are Job.batch/v1, Pod.v1, Secret.v1"},
		"other":     {"A decorator's hook is used for a composite.", "function(request) request.object.spec", "Field does not exist: object: did you mean parent?"},
		"not there": {"A field of an object may be called as one of requests.", "function(request) request.parent.spec.object", "Field does not exist: object: if it may be missing, write std.get(object, 'object', default)"},
		"function":  {"A function of the module is meant.", "local l = import 'libretto.libsonnet'; function(request) l.objectOf(request.children, 'v1', 'Pod')", "Field does not exist: objectOf: the module libretto has no such function: did you mean objectsOf?"},
		"unlike":    {"Nothing is near.", "function(request) request.parent.spec.colour", "Field does not exist: colour: if it may be missing, write std.get(object, 'colour', default)"},
		"secret":    {"The keys of a Secret are not reported.", "function(request) request.related['Secret.v1'].a.data.pasword", "Field does not exist: pasword: if it may be missing, write std.get(object, 'pasword', default)"},
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
