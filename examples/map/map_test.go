// Package map_test runs the script of map.yaml.
package map_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/test/example"
)

type object = map[string]any

func entry(of, keys, characters string) object {
	return object{"outputs": []any{object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": object{"name": "shop-" + of},
		"data":     object{"of": of, "keys": keys, "characters": characters},
	}}}
}

func TestMap(t *testing.T) {
	program := example.Hook(t, "map.yaml", "map", nil)
	cases := map[string]struct {
		reason string
		input  object
		want   object
	}{
		"Keys": {
			reason: "an entry has the keys in order, and the characters of all values",
			input:  object{"metadata": object{"name": "prices"}, "data": object{"pear": "0.40", "apple": "0.3"}},
			want:   entry("prices", "apple pear", "7"),
		},
		"Empty": {
			reason: "a ConfigMap without data has an entry too",
			input:  object{"metadata": object{"name": "hours"}},
			want:   entry("hours", "", "0"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			response, err := program.Run(t.Context(), engines.Call{Request: object{
				"parent": object{"metadata": object{"name": "shop"}}, "input": tc.input, "outputs": object{"ConfigMap.v1": object{}},
			}})
			if err != nil {
				t.Fatalf("%s: map(...): %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, response.Body); diff != "" {
				t.Errorf("%s: map(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
