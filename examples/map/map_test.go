// Package map_test runs the script of map.yaml.
package map_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/javascript"
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
	program := compile(t, hooks(t))
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
			response, err := program.Run(context.Background(), engines.Call{Request: object{
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

// hooks gives the files of the ConfigMap in map.yaml.
func hooks(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("map.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var c corev1.ConfigMap
		if err := yaml.Unmarshal(document, &c); err == nil && c.Kind == "ConfigMap" {
			return c.Data
		}
	}
	t.Fatal("map.yaml: no ConfigMap")
	return nil
}

func compile(t *testing.T, files map[string]string) engines.Program {
	t.Helper()
	engine, err := javascript.Definition().New(engines.Config{})
	if err != nil {
		t.Fatalf("engine: %v", err)
	}
	program, err := engine.Compile(context.Background(), engines.Source{
		Hook:   "map",
		Script: &engines.Script{Files: files, Path: "map.js", Signature: engines.Request},
	})
	if err != nil {
		t.Fatalf("compile map.js: %v", err)
	}
	return program
}
