package javascript

import (
	"testing"
	"time"
)

// TestMissedFields checks that the error of a script that did something with nothing names the field that was meant.
func TestMissedFields(t *testing.T) {
	request := map[string]any{"parent": map[string]any{"spec": map[string]any{"greeting": "hello"}}, "children": map[string]any{"Pod.v1": map[string]any{}, "Job.batch/v1": map[string]any{}},
		"related": map[string]any{"Secret.v1": map[string]any{"a": map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "eA=="}}}}}
	for name, c := range map[string]struct{ reason, body, want string }{
		"field":       {"A letter is missing.", "request.parent.spec.gretings.length", "TypeError: Cannot read property 'length' of undefined: there is no gretings: did you mean greeting?"},
		"group":       {"The plural is no kind.", "Object.keys(request.children['Pods.v1'])", "TypeError: undefined or null is given where an object is needed, in Object.keys(request.children['Pods.v1']): there is no Pods.v1: did you mean Pod.v1?"},
		"far group":   {"A group that is far from all is followed by which there are.", "for (const job of request.children['Deployment.v1']) {}", "TypeError: a value is undefined or null where an object or a list is needed, in request.children['Deployment.v1']: there is no Deployment.v1: there are Job.batch/v1, Pod.v1"},
		"destructure": {"The request is taken apart.", "const {chidlren} = request; chidlren['Pod.v1']", "TypeError: Cannot read property 'Pod.v1' of undefined: there is no chidlren: did you mean children?"},
		"other kind":  {"A decorator's hook is used for a composite.", "const {object} = request; object.spec", "TypeError: Cannot read property 'spec' of undefined: there is no object: did you mean parent?"},
		"unlike":      {"Nothing is near.", "request.parent.spec.colour.length", "TypeError: Cannot read property 'length' of undefined"},
		"thrown":      {"A script's own error is its own.", "request.parent.spec.gretings; throw new Error('boom')", "boom"},
		"secret":      {"The keys of a Secret are not reported.", "request.related['Secret.v1'].a.data.pasword.length", "TypeError: Cannot read property 'length' of undefined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, got := run(t, script("exports.sync = function sync(request) {\n"+c.body+"\n}"), request, time.Minute)
			if got == nil || got.Message != c.want {
				t.Errorf("error\n%v, want\n%s", got, c.want)
			}
		})
	}
}
