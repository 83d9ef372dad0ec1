package jsonnet_test

import (
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/jsonnet"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// answered compiles a file with an engine and calls a hook in it.
func answered(t *testing.T, d engines.Definition, hook, path string, request map[string]any) any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := d.New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	program, err := engine.Compile(t.Context(), engines.Source{Hook: hook, Script: &engines.Script{
		Files: map[string]string{path: string(text)}, Path: path,
	}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := program.Run(t.Context(), engines.Call{Request: request, Now: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return response.Body
}

// compare calls a hook in both languages, which must answer the same.
func compare(t *testing.T, hook, javaScript, jsonnetPath string, request map[string]any) {
	t.Helper()
	before := runtime.DeepCopyJSON(request)
	want := answered(t, languageOf(t, "JavaScript"), hook, javaScript, request)
	got := answered(t, jsonnet.Definition(), hook, jsonnetPath, request)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hook %s (-JavaScript +Jsonnet):\n%s", hook, diff)
	}
	if diff := cmp.Diff(before, request); diff != "" {
		t.Errorf("the request was changed (-before +after):\n%s", diff)
	}
}

func languageOf(t *testing.T, name string) engines.Definition {
	t.Helper()
	for _, d := range standard.Definitions() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("no engine %s", name)
	return engines.Definition{}
}

func named(name string, fields map[string]any) map[string]any {
	object := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": name, "namespace": "default"}}
	maps.Copy(object, fields)
	return object
}

// TestCatSet compares the example with its twin, in states that a StatefulSet goes through.
func TestCatSet(t *testing.T) {
	for _, c := range []struct {
		replicas int
		states   []string
	}{
		{0, nil}, {3, nil}, {3, []string{"ready"}}, {3, []string{"ready", "pending"}}, {3, []string{"ready", "failed", "ready"}},
		{3, []string{"ready", "ready", "going"}}, {1, []string{"ready", "ready", "ready", "going"}}, {0, []string{"ready"}}, {12, []string{"ready", "ready", "ready", "ready", "ready", "ready", "ready", "ready", "ready", "ready", "ready"}},
	} {
		t.Run(fmt.Sprint(c.replicas, c.states), func(t *testing.T) {
			compare(t, "sync", "../../examples/catset/sync.js", "testdata/parity/catset.jsonnet", catSetRequest(c.replicas, c.states))
		})
	}
}

func catSetRequest(replicas int, states []string) map[string]any {
	pods, claims := map[string]any{}, map[string]any{}
	for i, state := range states {
		name := fmt.Sprintf("nyan-%d", i)
		pods["default/"+name] = podIn(state, name)
		claims["default/data-"+name] = named("data-"+name, nil)
	}
	pods["default/nyan-stranger"] = named("nyan-stranger", nil)
	claims["default/data-nyan-90"] = named("data-nyan-90", nil)
	set := named("nyan", map[string]any{"spec": map[string]any{
		"replicas": int64(replicas), "serviceName": "nyan",
		"selector": map[string]any{"matchLabels": map[string]any{"app": "nyan", "tier": "cat"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "nyan"}},
			"spec": map[string]any{
				"containers": []any{map[string]any{"name": "cat", "image": "cat:1"}},
				"volumes":    []any{map[string]any{"name": "data", "emptyDir": map[string]any{}}, map[string]any{"name": "tmp"}},
			},
		},
		"volumeClaimTemplates": []any{map[string]any{
			"metadata": map[string]any{"name": "data", "labels": map[string]any{"app": "other"}},
			"spec":     map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}},
		}},
	}})
	return map[string]any{"parent": set, "children": map[string]any{"Pod.v1": pods, "PersistentVolumeClaim.v1": claims}, "finalizing": false}
}

func podIn(state, name string) map[string]any {
	pod := named(name, map[string]any{"status": map[string]any{"phase": "Running", "conditions": []any{
		map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[state != "pending"]},
	}}})
	switch state {
	case "failed":
		pod["status"] = map[string]any{"phase": "Failed"}
	case "going":
		pod["metadata"].(map[string]any)["deletionTimestamp"] = "2026-10-03T12:00:00Z"
	}
	return pod
}
