package controllertest

import (
	"testing"

	"golang.org/x/tools/txtar"
)

// BenchmarkCase runs a case of a small JavaScript hook: set-up, three passes, comparison.
func BenchmarkCase(b *testing.B) { benchmark(b, "testdata/basics.txtar", "makes Pods") }

// BenchmarkHook calls a hook alone.
func BenchmarkHook(b *testing.B) { benchmark(b, "testdata/hooks.txtar", "customize alone") }

func benchmark(b *testing.B, file, name string) {
	parsed, err := txtar.ParseFile(file)
	if err != nil {
		b.Fatal(err)
	}
	a := &archive{parsed, file}
	registry := newRegistry(b)
	subject := a.subject(b, registry)
	f, problems := Parse("x_test.yaml", a.file("x_test.yaml"))
	if len(problems) > 0 {
		b.Fatal(problems[0])
	}
	test := f.Tests[0]
	for i := range test.Cases {
		if test.Cases[i].Name != name {
			continue
		}
		for b.Loop() {
			if r := RunCase(b.Context(), registry, test, &test.Cases[i], subject); r.Outcome != Passed {
				b.Fatal(r.Failures)
			}
		}
	}
}
