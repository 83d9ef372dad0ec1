package controllertest

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkCase runs a case of a small JavaScript hook: set-up, three passes, comparison.
func BenchmarkCase(b *testing.B) { benchmark(b, "testdata/basics.txtar", "makes Pods") }

// BenchmarkHook calls a hook alone.
func BenchmarkHook(b *testing.B) { benchmark(b, "testdata/hooks.txtar", "customize alone") }

func benchmark(b *testing.B, file, name string) {
	a := openArchive(b, file)
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
		before, n := processorTime(b), 0
		for b.Loop() {
			n++
			if r := RunCase(b.Context(), registry, test, &test.Cases[i], subject); r.Outcome != Passed {
				b.Fatal(r.Failures)
			}
		}
		b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(n), "cpu-µs/op")
	}
}

// processorTime returns what the process has used, which depends less than time on what else the machine does.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
