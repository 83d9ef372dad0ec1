package cel

import (
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

func TestUnread(t *testing.T) {
	request := map[string]any{
		"parent": map[string]any{"spec": map[string]any{"size": int64(1)}}, "children": map[string]any{}, "finalizing": false,
	}
	cases := map[string]struct {
		reason string
		src    engines.Source
		unread []string
	}{
		"nothing":   {"a constant goes by no field", script(`{"status": {}}`), []string{"children", "finalizing", "parent"}},
		"field":     {"what is named is read", script(`{"status": parent.spec}`), []string{"children", "finalizing"}},
		"request":   {"the request is all of its fields", script(`{"status": request.parent.spec}`), nil},
		"branch":    {"what is not evaluated is not read", script(`parent.spec.size > 0 ? {"a": 1} : {"a": children.size()}`), []string{"children", "finalizing"}},
		"presence":  {"to ask whether a field has something reads it", script(`{"status": has(parent.spec.x)}`), []string{"children", "finalizing"}},
		"variable":  {"a variable reads what its expression does", documentOf("variables:\n- {name: a, expression: finalizing}\nresponse: {x: '${variables.a}'}"), []string{"children", "parent"}},
		"undecided": {"unless nobody asks for it", documentOf("variables:\n- {name: a, expression: finalizing}\nresponse: {x: '${parent}'}"), []string{"children", "finalizing"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			caller.MustLeave(t, c.src, request, c.unread)
		})
	}
}
