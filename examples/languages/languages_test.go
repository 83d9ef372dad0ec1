// Package languages_test runs one hook in all languages.
package languages_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/test/example"
)

type object = map[string]any

func TestSameAnswer(t *testing.T) {
	request := object{
		"parent":   object{"metadata": object{"name": "all"}, "spec": object{"who": "all of you"}},
		"children": object{"ConfigMap.v1": object{}},
	}
	want := object{
		"status": object{"text": "Hello, all of you!"},
		"children": []any{object{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": object{"name": "all-greeting"},
			"data":     object{"text": "Hello, all of you!"},
		}},
	}
	for _, file := range []string{"../hello/hello.yaml", "typescript.yaml", "jsonnet.yaml", "cel.yaml"} {
		t.Run(file, func(t *testing.T) {
			response, err := example.Hook(t, file, "sync", nil).Run(t.Context(), engines.Call{Request: request})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, response.Body); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
