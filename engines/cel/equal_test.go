package cel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/cel"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// TestEqualToJavaScript asks hooks of the examples, and the same in CEL.
func TestEqualToJavaScript(t *testing.T) {
	type object = map[string]any
	statefulSet := func(ports string, ordinals any) object {
		spec := object{"replicas": int64(3)}
		if ordinals != nil {
			spec["ordinals"] = ordinals
		}
		return object{"object": object{"metadata": object{"name": "db", "annotations": object{"ctl.example.com/pod-services": ports}}, "spec": spec},
			"attachments": object{"Service.v1": object{}}, "related": object{}, "finalizing": false}
	}
	parent := func(fields object) object {
		return object{"parent": object{"metadata": object{"name": "web", "namespace": "default"}, "spec": fields}}
	}
	input := func(configMap object) object {
		request := parent(object{})
		request["input"], request["mapKey"], request["outputs"], request["related"] = configMap, "k", object{}, object{}
		return request
	}
	decorator, mapping := read(t, filepath.Join("..", "..", "examples", "decorator", "hooks.js")), example(t, "map/map.yaml")
	customize := read(t, "testdata/parity/customize.js")
	composite := read(t, filepath.Join("..", "..", "examples", "catset", "sync.js"))
	cases := map[string]struct {
		reason, hook, javaScript, cel string
		request                       object
	}{
		"decorator":            {"attachments", "sync", decorator, "decorator.cel.yaml", statefulSet("80, 443", nil)},
		"decorator, ordinals":  {"a field that may be missing", "sync", decorator, "decorator.cel.yaml", statefulSet("8080", object{"start": int64(5)})},
		"decorator, wrong":     {"a hook that says itself what is wrong", "sync", decorator, "decorator.cel.yaml", statefulSet("80, http", nil)},
		"decorator, finalize":  {"two hooks in one file", "finalize", decorator, "decorator.cel.yaml", statefulSet("none", nil)},
		"composite, empty":     {"children of two kinds", "sync", composite, "catset.cel.yaml", catSet(3)},
		"composite, growing":   {"the next one is created", "sync", composite, "catset.cel.yaml", catSet(3, "Ready")},
		"composite, waiting":   {"the next one is not created yet", "sync", composite, "catset.cel.yaml", catSet(3, "Running")},
		"composite, failed":    {"the one that failed is to go", "sync", composite, "catset.cel.yaml", catSet(3, "Ready", "Failed", "Ready")},
		"composite, going":     {"one that is being deleted stays in the answer", "sync", composite, "catset.cel.yaml", catSet(3, "Going", "Ready", "Ready")},
		"composite, shrinking": {"the highest goes first, claims stay", "sync", composite, "catset.cel.yaml", catSet(1, "Ready", "Ready", "Ready", "Running")},
		"map":                  {"outputs", "map", mapping, "map.cel.yaml", input(object{"metadata": object{"name": "c"}, "data": object{"b": "two", "a": "1", "c": ""}})},
		"map, no data":         {"a field that may be missing", "map", mapping, "map.cel.yaml", input(object{"metadata": object{"name": "c"}})},
		"customize":            {"a rule that is left out", "customize", customize, "customize.cel.yaml", parent(object{})},
		"customize, selectors": {"a rule that is not", "customize", customize, "customize.cel.yaml", parent(object{"selector": object{"matchLabels": object{"a": "b"}}})},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			wanted, wantedError := ask(t, javaScript(t), c.hook, "hooks.js", c.javaScript, c.request)
			got, gotError := ask(t, definition(t, cel.Definition()), c.hook, c.cel, read(t, filepath.Join("testdata", "parity", c.cel)), c.request)
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("answer (-JavaScript +CEL):\n%s", diff)
			}
			if diff := cmp.Diff(wantedError, gotError); diff != "" {
				t.Errorf("message (-JavaScript +CEL):\n%s", diff)
			}
		})
	}
}

// catSet returns a request of the composite, with pods in these states, by their number.
func catSet(replicas int64, states ...string) map[string]any {
	type object = map[string]any
	pods, claims := object{"default/other": object{"metadata": object{"name": "other"}}}, object{}
	for i, state := range states {
		name := fmt.Sprintf("web-%d", i)
		pod := object{"metadata": object{"name": name}, "status": object{"phase": state}}
		switch state {
		case "Ready":
			pod["status"] = object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": "True"}}}
		case "Going":
			pod["metadata"] = object{"name": name, "deletionTimestamp": "2026-10-03T12:00:00Z"}
		}
		pods["default/"+name] = pod
		claims["default/data-"+name] = object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": "data-" + name, "uid": "u", "labels": object{"app": "web"}}, "spec": object{}}
	}
	return object{
		"parent": object{"metadata": object{"name": "web"}, "spec": object{
			"replicas": replicas,
			"selector": object{"matchLabels": object{"tier": "b", "app": "web"}},
			"template": object{"metadata": object{"labels": object{"app": "web"}}, "spec": object{
				"containers": []any{object{"name": "c", "image": "i"}},
				"volumes":    []any{object{"name": "data", "emptyDir": object{}}, object{"name": "kept", "emptyDir": object{}}},
			}},
			"volumeClaimTemplates": []any{object{"metadata": object{"name": "data", "labels": object{"l": "x"}}, "spec": object{"accessModes": []any{"ReadWriteOnce"}}}},
		}},
		"children": object{"Pod.v1": pods, "PersistentVolumeClaim.v1": claims}, "related": object{}, "finalizing": false,
	}
}

// ask returns the answer of a hook, or what it says is wrong.
func ask(t *testing.T, engine engines.Engine, hook, path, text string, request map[string]any) (any, string) {
	t.Helper()
	program, err := engine.Compile(t.Context(), engines.Source{Hook: hook, Script: &engines.Script{Files: map[string]string{path: text}, Path: path}})
	if err != nil {
		t.Fatalf("compiling %s: %v", path, err)
	}
	response, err := program.Run(context.Background(), engines.Call{Request: request})
	var failure *engines.Error
	if errors.As(err, &failure) {
		return nil, failure.Message
	}
	return response.Body, ""
}

func javaScript(t *testing.T) engines.Engine {
	t.Helper()
	for _, d := range standard.Definitions() {
		if d.Name == "JavaScript" {
			return definition(t, d)
		}
	}
	t.Fatal("there is no engine for JavaScript")
	return nil
}

func definition(t *testing.T, d engines.Definition) engines.Engine {
	t.Helper()
	engine, err := d.New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// example returns the script in an example's ConfigMap.
func example(t *testing.T, path string) string {
	t.Helper()
	for document := range strings.SplitSeq(read(t, filepath.Join("..", "..", "examples", path)), "\n---\n") {
		var configMap corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &configMap); err != nil {
			t.Fatal(err)
		}
		for _, script := range configMap.Data {
			return script
		}
	}
	t.Fatalf("%s has no ConfigMap with a script", path)
	return ""
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
