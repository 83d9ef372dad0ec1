package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

var endings = map[string]string{engineJavaScript: ".js", engineJsonnet: ".jsonnet", engineCEL: ".cel"}

// TestHooks checks that the hook answers the same in every language, whether or not it reads the annotation.
func TestHooks(t *testing.T) {
	w, err := startWebhook()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.stop() }()
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	want := answer(t, registry, "webhook", engines.Source{Hook: "sync", Endpoint: &engines.Endpoint{URL: "http://" + w.address() + "/sync"}})
	if children, _ := want["children"].([]any); len(children) != 2 {
		t.Fatalf("the webhook answers %v, want two children", want)
	}
	for name, s := range scripts {
		for reading, text := range map[string]string{"": s.text, ", touched": s.touched} {
			t.Run(name+reading, func(t *testing.T) {
				got := answer(t, registry, s.engine, engines.Source{Hook: "sync", Script: &engines.Script{
					Files: map[string]string{"hook" + endings[name]: text}, Path: "hook" + endings[name],
				}})
				if !jsonvalue.Equal(want, got) {
					t.Error(cmp.Diff(want, got))
				}
			})
		}
	}
}

// answer calls a hook.
func answer(t *testing.T, registry *engines.Registry, engine string, source engines.Source) map[string]any {
	t.Helper()
	e, err := registry.ByName(engine)
	if err != nil {
		t.Fatal(err)
	}
	program, err := e.Compile(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	parent := parentObject(namespace, "a", &options{children: 2, payload: 100}, 1)
	parent.SetAnnotations(map[string]string{touchAnnotation: "now"})
	response, err := program.Run(t.Context(), engines.Call{Now: time.Unix(0, 0), Seed: "uid", Request: map[string]any{
		"parent":   parent.Object,
		"children": map[string]any{"ConfigMap.v1": map[string]any{"a-0": child("a", "0", "old")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	body, ok := response.Body.(map[string]any)
	if !ok {
		t.Fatalf("%s answers %v, want an object", engine, response.Body)
	}
	return body
}

// TestWebhook checks the children and the status that the webhook answers, and that it counts.
func TestWebhook(t *testing.T) {
	w, err := startWebhook()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	}()
	const request = `{
  "parent": {"metadata": {"name": "a"}, "spec": {"children": ["0", "1"], "payload": "text"}},
  "children": {"ConfigMap.v1": {"a-0": {}}}
}`
	response, err := http.Post("http://"+w.address()+"/sync", "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var got any
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	configMap := func(name, config string) any {
		return map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"config": config},
		}
	}
	want := map[string]any{
		"status":   map[string]any{"children": 1.0},
		"children": []any{configMap("a-0", "# 0\ntext"), configMap("a-1", "# 1\ntext")},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if calls := w.calls.Load(); calls != 1 {
		t.Errorf("got %d calls, want 1", calls)
	}
}
