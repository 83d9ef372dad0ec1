// Package hello_test runs the script of hello.yaml.
package hello_test

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

func TestSync(t *testing.T) {
	program := compile(t, hooks(t))
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
			response, err := program.Run(context.Background(), engines.Call{Request: tc.request})
			if err != nil {
				t.Fatalf("%s: sync(...): %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, response.Body); diff != "" {
				t.Errorf("%s: sync(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// hooks gives the files of the ConfigMap in hello.yaml.
func hooks(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("hello.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var c corev1.ConfigMap
		if err := yaml.Unmarshal(document, &c); err == nil && c.Kind == "ConfigMap" {
			return c.Data
		}
	}
	t.Fatal("hello.yaml: no ConfigMap")
	return nil
}

func compile(t *testing.T, files map[string]string) engines.Program {
	t.Helper()
	engine, err := javascript.Definition().New(engines.Config{})
	if err != nil {
		t.Fatalf("engine: %v", err)
	}
	program, err := engine.Compile(context.Background(), engines.Source{
		Hook:   "sync",
		Script: &engines.Script{Files: files, Path: "sync.js", Signature: engines.Request},
	})
	if err != nil {
		t.Fatalf("compile sync.js: %v", err)
	}
	return program
}
