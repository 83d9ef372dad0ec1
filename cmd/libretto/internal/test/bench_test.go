package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const benchDefinition = `apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: things}
spec:
  parentResource: {apiVersion: example.com/v1, resource: things}
  generateSelector: true
  hooks:
    sync: {script: {engine: CEL, inline: "{'status': {'size': parent.spec.size}}"}}
    finalize: {script: {engine: CEL, inline: "{'finalized': true, 'status': parent.status}"}}
`

const benchTest = `apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
given: [{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {size: 1}}]
cases:
- name: lives and dies
  steps:
  - want: {status: {size: 1}}
  - {apply: [{kind: Thing, metadata: {name: a}, spec: {size: 2}}], want: {status: {size: 2}}}
  - {delete: [Thing/a], want: {finalized: true}}
- name: of another script
  definitionPatch: {spec: {hooks: {sync: {script: {inline: "{'status': {'size': 9}}"}}}}}
  want: {status: {size: 9}}
- {name: fails, want: {status: {size: 7}}}
- {name: alone, hook: finalize, request: {parent: {status: {}}}, response: {finalized: true}}
`

// TestBench checks that the different calls of the cases that pass are measured by running the scripts again.
func TestBench(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"things.yaml": benchDefinition, "things_test.yaml": benchTest} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := program.Run(t, "", "test", folder, "--bench", "--bench-time", "20ms", "-o", "json")
	var report struct{ Benchmarks []benchmark }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 1 {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	want := []benchmark{
		{Name: "lives and dies", Hook: "finalize", Calls: 1, Read: []string{"parent.status"}},
		{Name: "lives and dies", Hook: "sync", Calls: 2, Read: []string{"parent.spec"}},
		{Name: "of another script", Hook: "sync", Calls: 1, Read: []string{}},
		{Name: "alone", Hook: "finalize", Calls: 1, Read: []string{"parent.status"}},
	}
	for i, m := range report.Benchmarks {
		// A call of a worker takes longer than to look an answer up, which takes a microsecond.
		if m.Operations < 2 || m.NsPerOp < 20_000 {
			t.Errorf("%s, %s: %d operations, %d ns each", m.Name, m.Hook, m.Operations, m.NsPerOp)
		}
		report.Benchmarks[i].File, report.Benchmarks[i].Operations, report.Benchmarks[i].NsPerOp = "", 0, 0
	}
	if diff := cmp.Diff(want, report.Benchmarks); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(stderr, "TIME/CALL   CALLS   HOOK ") || !strings.Contains(stderr, "things_test.yaml: of another script   nothing\n") {
		t.Errorf("the table is\n%s", stderr)
	}
	for flags, want := range map[string]string{
		"--bench --watch": "--bench measures what calls cost alone", "--bench --coverage": "--bench measures what calls cost alone",
		"--bench --bench-time 0s": "--bench-time 0s: must be more than nothing",
	} {
		code, _, stderr := program.Run(t, "", append([]string{"test", folder}, strings.Fields(flags)...)...)
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s", flags, code, stderr)
		}
	}
}
