package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
)

// spawned is a worker without calls.
type spawned struct {
	command *exec.Cmd
	in      io.WriteCloser
	ready   time.Duration // From before it was started until it said that it is ready.
}

// buildWorker builds the program that libretto runs scripts in.
func buildWorker(tb testing.TB) string {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), "libretto-worker")
	build := exec.Command("go", "build", "-ldflags", "-s -w -X main.version=bench", "-o", program, "../../cmd/libretto-worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return program
}

// spawn starts a worker.
func spawn(tb testing.TB, program string) *spawned {
	tb.Helper()
	s := &spawned{command: exec.Command(program, worker.Argument, "bench")}
	s.command.Env = worker.Environment()
	in, err := s.command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	start := time.Now()
	if err := s.command.Start(); err != nil {
		tb.Fatal(err)
	}
	first, err := wire.ReadFrame(bufio.NewReader(out), protocol.MaxAnswer)
	s.in, s.ready = in, time.Since(start)
	if err == nil {
		_, err = protocol.ReadReady(first)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *spawned) end(tb testing.TB) {
	tb.Helper()
	_ = s.in.Close()
	if err := s.command.Wait(); err != nil {
		tb.Fatal(err)
	}
}

// memory returns what the worker has of memory, and what of that is no part of the binary, in bytes.
func (s *spawned) memory(tb testing.TB) (resident, own int) {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.command.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	var size, pages, shared int
	if _, err := fmt.Sscan(string(text), &size, &pages, &shared); err != nil {
		tb.Fatal(err)
	}
	return pages * os.Getpagesize(), (pages - shared) * os.Getpagesize()
}

// BenchmarkEnginesSpawn starts workers, and looks at what they have while they wait.
func BenchmarkEnginesSpawn(b *testing.B) {
	var ready []time.Duration
	var resident, own []int
	program := buildWorker(b)
	for b.Loop() {
		s := spawn(b, program)
		all, private := s.memory(b)
		ready, resident, own = append(ready, s.ready), append(resident, all), append(own, private)
		s.end(b)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ready).Seconds()*1000, "ms/ready")
	b.ReportMetric(float64(median(resident))/(1<<20), "MiB/resident")
	b.ReportMetric(float64(median(own))/(1<<20), "MiB/own")
}
