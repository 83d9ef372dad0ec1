package webhook

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// Unknown and missing fields are the core's to judge: only here it can be seen
// that a field was there twice.
func TestDoubledFields(t *testing.T) {
	cases := map[string]struct {
		reason, body string
		loose        any
		strict       string // what the error says
	}{
		"once": {reason: "as it should be", body: `{"a":{"b":1},"c":{"b":1}}`,
			loose: map[string]any{"a": map[string]any{"b": int64(1)}, "c": map[string]any{"b": int64(1)}}},
		"twice": {reason: "the last one counts where it is not refused", body: `{"a":1,"a":2}`,
			loose: map[string]any{"a": int64(2)}, strict: `duplicate field "a": write it once`},
		"in a rule": {reason: "rules of customize are read strictly too", body: `{"relatedResources":[{"names":[],"names":[]}]}`,
			loose:  map[string]any{"relatedResources": []any{map[string]any{"names": []any{}}}},
			strict: `"relatedResources[0].names"`},
		"in a child": {reason: "metacontroller does not look into children", body: `{"children":[{"a":1,"a":2}]}`,
			loose: map[string]any{"children": []any{map[string]any{"a": int64(2)}}}},
		"twice the list": {reason: "one of them would be lost", body: `{"children":[],"children":[]}`,
			loose: map[string]any{"children": []any{}}, strict: `"children"`},
		"case": {reason: "names differ by case", body: `{"a":1,"A":2}`,
			loose: map[string]any{"a": int64(1), "A": int64(2)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.body) }))
			defer server.Close()
			for _, strict := range []bool{false, true} {
				program := compile(t, engines.Source{Endpoint: &engines.Endpoint{URL: server.URL, RefuseDoubled: strict}})
				got, failure := call(t, program, engines.Call{})
				if strict && c.strict != "" {
					compareFailure(t, failure, engines.BadResponse, c.strict, 0)
					continue
				}
				if diff := cmp.Diff(c.loose, got); diff != "" || failure != nil {
					t.Errorf("strict %v: error %v, answer (-want +got):\n%s", strict, failure, diff)
				}
			}
		})
	}
}
