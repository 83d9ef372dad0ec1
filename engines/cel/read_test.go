package cel

import (
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

func TestRead(t *testing.T) {
	request := map[string]any{
		"parent": map[string]any{"spec": map[string]any{"size": int64(1)}}, "children": map[string]any{}, "finalizing": false,
	}
	cases := map[string]struct {
		reason string
		src    engines.Source
		read   engines.ReadSet
	}{
		"nothing":   {"a constant goes by no field", script(`{"status": {}}`), engines.ReadSet{}},
		"field":     {"what is named is read", script(`{"status": parent.spec}`), engines.ReadSet{"parent"}},
		"request":   {"the request is all of its fields", script(`{"status": request.parent.spec}`), nil},
		"branch":    {"what is not evaluated is not read", script(`parent.spec.size > 0 ? {"a": 1} : {"a": children.size()}`), engines.ReadSet{"parent"}},
		"presence":  {"to ask whether a field has something reads it", script(`{"status": has(parent.spec.x)}`), engines.ReadSet{"parent"}},
		"variable":  {"a variable reads what its expression does", documentOf("variables:\n- {name: a, expression: finalizing}\nresponse: {x: '${variables.a}'}"), engines.ReadSet{"finalizing"}},
		"undecided": {"unless nobody asks for it", documentOf("variables:\n- {name: a, expression: finalizing}\nresponse: {x: '${parent}'}"), engines.ReadSet{"parent"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			caller.MustRead(t, c.src, request, c.read)
		})
	}
}
