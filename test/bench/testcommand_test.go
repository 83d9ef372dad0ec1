package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const testedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: greetings.ctl.example.com}
spec:
  group: ctl.example.com
  scope: Namespaced
  names: {kind: Greeting, plural: greetings}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {who: {type: string}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: hello}
spec:
  generateSelector: true
  parentResource: {apiVersion: ctl.example.com/v1, resource: greetings}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  hooks:
    sync:
      version: v2
      script:
        engine: JavaScript
        inline: |
          export function sync({ parent }) {
            const text = "Hello, " + parent.spec.who + "!";
            return {
              status: { text },
              children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: parent.metadata.name + "-greeting" }, data: { text } }],
            };
          }
`

const testedCase = `
  apply: [{apiVersion: ctl.example.com/v1, kind: Greeting, metadata: {name: a}, spec: {who: "w${i}"}}]
  want:
    status: {text: "Hello, w${i}!"}
    children: [{kind: ConfigMap, metadata: {name: a-greeting}, data: {text: "Hello, w${i}!"}}]
`

const testedHook = `
  hook: sync
  request: {parent: {metadata: {name: a}, spec: {who: "w${i}"}}}
  response: {status: {text: "Hello, w${i}!"}, children: [{kind: ConfigMap, metadata: {name: a-greeting}, data: {text: "Hello, w${i}!"}}]}
`

// BenchmarkTestCommand runs a thousand cases of a small hook with libretto test, as a process: whole cases, and the hook alone. It reports
// the time and the processor time for each case, and the time from the start until the first result.
func BenchmarkTestCommand(b *testing.B) {
	libretto := buildLibretto(b)
	for name, body := range map[string]string{"case": testedCase, "hook": testedHook} {
		b.Run(name, func(b *testing.B) {
			const cases = 1000
			folder := writeTests(b, body, cases)
			var first, processor time.Duration
			for b.Loop() {
				run := runTests(b, libretto, folder, cases)
				first, processor = first+run.first, processor+run.processor
			}
			total := float64(b.N * cases)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/total, "µs/case")
			b.ReportMetric(float64(processor.Microseconds())/total, "cpu-µs/case")
			b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "ms/first")
		})
	}
}

// buildLibretto builds libretto and its worker, and returns the path of the former.
func buildLibretto(tb testing.TB) string {
	tb.Helper()
	folder := tb.TempDir()
	const flags = "-s -w -X main.version=bench"
	build := exec.Command("go", "build", "-ldflags", flags, "-o", folder+string(filepath.Separator), "../../cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(folder, "libretto")
}

// writeTests writes a definition and a test file with that many cases.
func writeTests(tb testing.TB, body string, cases int) string {
	tb.Helper()
	var each strings.Builder
	for n := range cases {
		fmt.Fprintf(&each, "  - {i: %d}\n", n)
	}
	folder := tb.TempDir()
	const head = "apiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\ncases:\n- name: \"case ${i}\"\n  each:\n"
	test := head + each.String() + strings.TrimPrefix(body, "\n")
	for name, text := range map[string]string{"definition.yaml": testedDefinition, "hello_test.yaml": test} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return folder
}

// testRun is what a run of libretto test took.
type testRun struct{ first, processor time.Duration }

// runTests runs libretto test, all of whose cases must pass.
func runTests(tb testing.TB, libretto, folder string, cases int) testRun {
	tb.Helper()
	command := exec.Command(libretto, "test", "-v", folder)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	start := time.Now()
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n')
	run := testRun{first: time.Since(start)}
	rest, err := io.ReadAll(lines)
	if err := command.Wait(); err != nil {
		tb.Fatalf("libretto test: %v\n%s%s%s", err, line, rest, stderr.String())
	}
	if err != nil {
		tb.Fatal(err)
	}
	if passed := strings.Count(line+string(rest), "case "); passed < cases {
		tb.Fatalf("%d cases are reported, want %d", passed, cases)
	}
	run.processor = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return run
}
