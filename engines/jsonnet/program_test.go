package jsonnet

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	vm "github.com/google/go-jsonnet"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

//go:embed testdata/jsonnetd.jsonnet
var jsonnetdHook string

func TestJsonnetdConvention(t *testing.T) {
	request := map[string]any{
		"parent": map[string]any{"metadata": map[string]any{
			"name": "web", "annotations": map[string]any{"config": `{"replicas": 2, "mode": "755", "spec": {"containers": []}}`},
		}},
		"children": map[string]any{"Pod.v1": map[string]any{"web-0": map[string]any{}}},
	}
	pod := func(name string) any {
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name}, "spec": map[string]any{"containers": []any{}}}
	}
	want := map[string]any{
		"status":   map[string]any{"observed": int64(1), "mode": int64(0o755)},
		"children": []any{pod("web-0"), pod("web-1")},
	}
	if diff := cmp.Diff(any(want), answer(t, script(jsonnetdHook), request)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// shop reads the tree of testdata/shop.
func shop(t testing.TB) map[string]string {
	t.Helper()
	tree := map[string]string{}
	root := os.DirFS("testdata/shop")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, path)
		tree[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func shopRequest(replicas int) map[string]any {
	return map[string]any{
		"parent": map[string]any{
			"metadata": map[string]any{"name": "greengrocer"},
			"spec": map[string]any{
				"replicas": int64(replicas), "image": "registry.example.com:5000/shop:1.2", "ports": []any{int64(80), int64(8080), int64(443)},
				"config": map[string]any{"level": "debug", "limits": map[string]any{"memory": "1Gi"}, "zone": "eu-west"},
			},
		},
		"children": map[string]any{"Pod.v1": map[string]any{
			"a": map[string]any{"status": map[string]any{"ready": true}}, "b": map[string]any{"status": map[string]any{"ready": false}},
		}},
	}
}

// TestShop compares the answer of a program of many files with that of go-jsonnet
// alone: it reads the files itself, has std.format in Jsonnet, and writes JSON.
func TestShop(t *testing.T) {
	for _, replicas := range []int{1, 3, 16} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			request := shopRequest(replicas)
			got := answer(t, files("main.jsonnet", shop(t)), request)
			if diff := cmp.Diff(plainly(t, request), got); diff != "" {
				t.Errorf("answer (-go-jsonnet +engine):\n%s", diff)
			}
		})
	}
}

// plainly evaluates the shop as the jsonnet command does.
func plainly(t *testing.T, request map[string]any) any {
	t.Helper()
	t.Chdir("testdata/shop")
	input, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	machine := vm.MakeVM()
	machine.TLACode("request", string(input))
	text, err := machine.EvaluateFile("main.jsonnet")
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := utiljson.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
