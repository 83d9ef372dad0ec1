//go:build linux

package hostile

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

// probe is an engine whose scripts are names of probes: Go code that does in a worker
// what a script could that has found a way out of its engine.
func probe() engines.Definition {
	return engines.Definition{
		Name: "Probe", Doc: "Tries what a worker must not do.", Extensions: []string{".probe"},
		New: func(engines.Config) (engines.Engine, error) { return probeEngine{}, nil },
	}
}

type probeEngine struct{}

func (probeEngine) Compile(_ context.Context, src engines.Source) (engines.Program, error) {
	return probeProgram{probe: src.Script.Files[src.Script.Path]}, nil
}

type probeProgram struct {
	engines.ProgramBase
	probe string
}

func (p probeProgram) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	if p.probe == keeping {
		return keep(call), nil
	}
	text := func(key string) string {
		s, _ := call.Request[key].(string)
		return s
	}
	host, _ := call.Request["host"].(int64)
	if err := allProbes()[p.probe](canary{file: text("file"), tcp: text("tcp"), udp: text("udp"), host: int(host)}); err != nil {
		return engines.Response{}, &engines.Error{Message: err.Error()}
	}
	return engines.Response{Body: "done"}, nil
}

// refusals are how the system says no.
var refusals = []error{unix.EPERM, unix.EACCES, unix.ENOSYS, errNothing}

func refused(err error) bool {
	for _, refusal := range refusals {
		if err != nil && strings.Contains(err.Error(), refusal.Error()) {
			return true
		}
	}
	return false
}

// TestProbes runs every probe in a worker that is confined as far as it can be here.
func TestProbes(t *testing.T) {
	c := newCanary(t)
	inherited, err := unix.Open(c.file, unix.O_RDONLY, 0) // Which is not closed on exec.
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	registry := prometheus.NewRegistry()
	l := newLane(t, givenTerms(), sandbox.Config{Metrics: sandbox.NewMetrics(registry)})
	measures := inForce(t, registry)
	t.Logf("in force: %v", measures)
	if !measures[confine.Seccomp] {
		t.Skip("no filter of system calls can be had here, so that probes would be let through")
	}
	asked := request("probe")
	asked.Request = map[string]any{"file": c.file, "tcp": c.tcp, "udp": c.udp, "host": int64(c.host)}
	for name := range allProbes() {
		t.Run(name, func(t *testing.T) {
			program, err := l.compile(t.Context(), one("Probe", "sync.probe", name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := program.Run(t.Context(), asked); !refused(err) {
				t.Errorf("error %v, want one that says that it is not permitted", err)
			} else {
				t.Log(err)
			}
		})
	}
	if err := l.stillGood(t.Context(), "JavaScript"); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if n := c.touched.Load(); n > 0 {
		t.Errorf("%d connections or packets came", n)
	}
}

// inForce says of each measure whether the pool's workers have it.
func inForce(t *testing.T, registry *prometheus.Registry) map[string]bool {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	measures := map[string]bool{}
	for _, family := range families {
		if family.GetName() != "libretto_script_worker_confinement" {
			continue
		}
		for _, metric := range family.GetMetric() {
			measures[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue() == 1
		}
	}
	if len(measures) != len(confine.Measures()) {
		t.Fatalf("the pool speaks of %d measures, want %d", len(measures), len(confine.Measures()))
	}
	return measures
}
