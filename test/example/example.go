// Package example compiles the hooks of example files for tests.
package example

import (
	"bytes"
	"context"
	"maps"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// Hook compiles a hook of the definition in a YAML file. Its files are those of the ConfigMaps in it, and
// more by path. It fails the test on any error.
func Hook(t *testing.T, file, hook string, more map[string]string) engines.Program {
	t.Helper()
	script := scriptOf(t, file, hook)
	for path, text := range more {
		script.Files[path] = text
	}
	registry, err := engines.NewRegistry(engines.Config{}, standard.Scripts()...)
	if err != nil {
		t.Fatal(err)
	}
	name, err := registry.NameForPath(script.Path)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	engine, err := registry.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	program, err := engine.Compile(context.Background(), engines.Source{Hook: hook, Script: script})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return program
}

// scriptOf reads a hook's script: the path from the definition, the files from the ConfigMaps.
func scriptOf(t *testing.T, file, hook string) *engines.Script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	script := &engines.Script{Files: map[string]string{}, Signature: engines.Request}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var configMap corev1.ConfigMap
		if err := yaml.Unmarshal(document, &configMap); err == nil && configMap.Kind == "ConfigMap" {
			maps.Copy(script.Files, configMap.Data)
		}
		var definition struct {
			Spec struct{ Hooks map[string]v1alpha1.Hook }
		}
		if err := yaml.Unmarshal(document, &definition); err == nil && definition.Spec.Hooks[hook].Script != nil {
			script.Path = string(definition.Spec.Hooks[hook].Script.Path)
		}
	}
	if script.Path == "" {
		t.Fatalf("%s: no definition with a script for %s", file, hook)
	}
	return script
}
