// Package hello_test runs the script of hello.yaml.
package hello_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/test/example"
)

type object = map[string]any

func TestSync(t *testing.T) {
	program := example.Hook(t, "hello.yaml", "sync", nil)
	cases := map[string]struct {
		reason  string
		request object
		want    object
	}{
		"World": {
			reason: "a greeting gets a ConfigMap with its text, and shows the text itself",
			request: object{
				"parent":   object{"metadata": object{"name": "world"}, "spec": object{"who": "world"}},
				"children": object{"ConfigMap.v1": object{}},
			},
			want: object{
				"status": object{"text": "Hello, world!"},
				"children": []any{object{
					"apiVersion": "v1", "kind": "ConfigMap",
					"metadata": object{"name": "world-greeting"},
					"data":     object{"text": "Hello, world!"},
				}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			response, err := program.Run(t.Context(), engines.Call{Request: tc.request})
			if err != nil {
				t.Fatalf("%s: sync(...): %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, response.Body); diff != "" {
				t.Errorf("%s: sync(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
