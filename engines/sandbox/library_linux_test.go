package sandbox_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/test/race"
)

func jsonnetSource(hook string, files map[string]string) engines.Source {
	tree := map[string]string{"sync.jsonnet": hook}
	maps.Copy(tree, files)
	return engines.Source{Hook: "sync", Script: &engines.Script{Files: tree, Path: "sync.jsonnet"}}
}

// TestEditedHook loads revisions of a hook with a library, in workers that have it and in new ones. Each answers for itself.
func TestEditedHook(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1})
	engine := engineOf(t, pool, "Jsonnet")
	library := map[string]string{
		"vendor/k/main.libsonnet": "{ a:: import 'a.libsonnet', b:: import 'b.libsonnet', missing:: import 'c.libsonnet' }",
		"vendor/k/a.libsonnet":    "{ name: 'a' }", "vendor/k/b.libsonnet": "{ name: importstr 'b.txt' }", "vendor/k/b.txt": "b",
		"notes.txt": strings.Repeat("x", 100_000),
	}
	used := []engines.UsedFile{
		{Path: "sync.jsonnet", Checked: true}, {Path: "vendor/k/a.libsonnet", Checked: true}, {Path: "vendor/k/b.libsonnet", Checked: true},
		{Path: "vendor/k/b.txt"}, {Path: "vendor/k/main.libsonnet", Checked: true},
	}
	var programs []engines.Program
	for revision := range 4 {
		hook := fmt.Sprintf("local k = import 'k/main.libsonnet'; function(request) [%d, k.a.name, k.b.name]", revision)
		program, err := engine.Compile(t.Context(), jsonnetSource(hook, library))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(used, program.Files()); diff != "" || len(program.Warnings()) != 1 {
			t.Errorf("warnings %v, files (-want +got):\n%s", program.Warnings(), diff)
		}
		if programs = append(programs, program); revision == 1 {
			endWorker(t, pool)
		}
	}
	endWorker(t, pool)
	for revision, program := range programs {
		response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{}})
		if diff := cmp.Diff(any([]any{int64(revision), "a", "b"}), response.Body); err != nil || diff != "" {
			t.Errorf("revision %d: error %v, (-want +got):\n%s", revision, err, diff)
		}
	}
}

// endWorker has a worker end, so that the next call is in another one.
func endWorker(t *testing.T, pool *sandbox.Pool) {
	t.Helper()
	if _, err := compiled(t, pool, `export const sync = () => 'x'.repeat(2**40)`).Run(t.Context(), request(nil)); err == nil {
		t.Fatal("the worker lives on")
	}
}

// TestLargeFile refuses what its worker has no memory to parse, and says which limit that is.
func TestLargeFile(t *testing.T) {
	race.Skip(t)
	pool := newPool(t, sandbox.Config{Workers: 1})
	src := jsonnetSource("local l = import 'l.libsonnet'; function(request) 1", map[string]string{"l.libsonnet": "[" + strings.Repeat("{ a: [1, 2], b: 'c' },\n", 600_000) + "]"})
	src.Script.MemoryBytes = 64 << 20
	_, err := engineOf(t, pool, "Jsonnet").Compile(t.Context(), src)
	failure := enginetest.AsError(t, err)
	if failure == nil || failure.Kind != engines.Exhausted || !strings.Contains(failure.Message, "memory limit of 64Mi") {
		t.Errorf("error %v", failure)
	}
}

// TestUnusedFiles has 15 MB beside the hook: they are not even parsed.
func TestUnusedFiles(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1})
	src := jsonnetSource("function(request) 'ok'", map[string]string{"broken.libsonnet": strings.Repeat("]", 15_000_000)})
	src.Script.MemoryBytes = 64 << 20
	program, err := engineOf(t, pool, "Jsonnet").Compile(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{}, Now: time.Unix(1, 0)}); err != nil || response.Body != "ok" {
			t.Errorf("answer %v, error %v", response.Body, err)
		}
		endWorker(t, pool)
	}
}
