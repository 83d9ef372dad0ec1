package catset_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/test/example"
)

func compile(t *testing.T) engines.Program {
	t.Helper()
	return example.Hook(t, "controller.yaml", "sync", map[string]string{"sync.js": string(read(t, "sync.js"))})
}

// run runs the script on the CatSet of catset.yaml in a state.
func run(t *testing.T, program engines.Program, s requestState) object {
	t.Helper()
	response, err := program.Run(t.Context(), engines.Call{
		Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Request: object{
			"parent":   s.set(t),
			"children": object{"Pod.v1": s.podGroup(), "PersistentVolumeClaim.v1": s.claimGroup()},
		},
	})
	if err != nil {
		t.Fatalf("run sync.js: %v", err)
	}
	return response.Body.(object)
}

func (s requestState) set(t *testing.T) object {
	t.Helper()
	documents := bytes.Split(read(t, "catset.yaml"), []byte("\n---\n"))
	set := object{}
	if err := yaml.Unmarshal(documents[len(documents)-1], &set); err != nil {
		t.Fatalf("catset.yaml: %v", err)
	}
	set = withInt64(set).(object)
	set["spec"].(object)["replicas"] = s.replicas
	if s.edit != nil {
		s.edit(set)
	}
	return set
}

func (s requestState) podGroup() object {
	group := object{}
	for _, pod := range s.pods {
		group["demo/"+pod["metadata"].(object)["name"].(string)] = pod
	}
	return group
}

func (s requestState) claimGroup() object {
	group := object{}
	for _, ordinal := range s.claims {
		name := "www-nginx-" + ordinal
		group["demo/"+name] = object{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim",
			"metadata": object{"name": name, "namespace": "demo", "uid": "u", "labels": object{"app": "nginx"}},
			"status":   object{"phase": "Bound"},
		}
	}
	return group
}

// pod returns the Pod with that ordinal. traits modify it.
func pod(ordinal int, traits ...func(object)) object {
	p := object{"metadata": object{"name": fmt.Sprintf("nginx-%d", ordinal), "namespace": "demo"}, "status": object{"phase": "Running"}}
	for _, trait := range traits {
		trait(p)
	}
	return p
}

func ready(p object) {
	p["status"].(object)["conditions"] = []any{object{"type": "Ready", "status": "True"}}
}

func failed(p object) { p["status"].(object)["phase"] = "Failed" }

func deleting(p object) { p["metadata"].(object)["deletionTimestamp"] = "2026-01-01T00:00:00Z" }

func readyPods(n int) []object {
	var pods []object
	for ordinal := range n {
		pods = append(pods, pod(ordinal, ready))
	}
	return pods
}

func numberedNames(format string, n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf(format, i))
	}
	return names
}

func summary(body object) answer {
	status := body["status"].(object)
	a := answer{
		Replicas: status["replicas"].(int64),
		Ready:    status["readyReplicas"].(int64),
		Now:      status["currentReplicas"].(int64),
	}
	for _, child := range body["children"].([]any) {
		name := child.(object)["metadata"].(object)["name"].(string)
		if child.(object)["kind"] == "Pod" {
			a.Pods = append(a.Pods, name)
		} else {
			a.Claims = append(a.Claims, name)
		}
	}
	return a
}

// withInt64 converts the numbers of a decoded document to int64, like those of the API server.
func withInt64(value any) any {
	switch v := value.(type) {
	case float64:
		return int64(v)
	case object:
		for key := range v {
			v[key] = withInt64(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withInt64(v[i])
		}
	}
	return value
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
