package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// fakePool returns a pool whose workers do that, its log and its metrics.
func fakePool(t *testing.T, does string) (*sandbox.Pool, *lines, *prometheus.Registry) {
	t.Helper()
	registry, log := prometheus.NewRegistry(), &lines{}
	pool := newPool(t, sandbox.Config{
		Workers: 1, Metrics: sandbox.NewMetrics(registry), Log: funcr.New(log.add, funcr.Options{}),
		Command: []string{os.Args[0], fakeArgument, does},
	})
	return pool, log, registry
}

// TestSpeaksUnasked has workers say something when it is not their turn. They are killed, and the log says
// why.
func TestSpeaksUnasked(t *testing.T) {
	for _, does := range []string{speaksWhenIdle, speaksAfterAnswer, answersAhead} {
		t.Run(does, func(t *testing.T) {
			pool, log, registry := fakePool(t, does)
			if does != speaksWhenIdle {
				compiled(t, pool, alive)
			}
			eventually(t, "the worker is killed", func() bool {
				return figures(t, registry, "libretto_script_worker_ends_total", "reason")["protocol"] > 0
			})
			eventually(t, "the log says why", func() bool { return len(log.with("it sent what it was not asked")) > 0 })
		})
	}
}

// TestAnswersAtOnce has workers send more than their answer. Nothing of it is believed.
func TestAnswersAtOnce(t *testing.T) {
	pool, _, registry := fakePool(t, answersTwice)
	program, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), script(alive))
	wantError(t, err, engines.Failed, "script worker crashed: it was killed, because it sent what it was not asked")
	if program != nil {
		t.Error("there is a program")
	}
	if ends := figures(t, registry, "libretto_script_worker_ends_total", "reason"); len(ends) > 1 || ends["protocol"] > 1 {
		t.Errorf("workers ended %v", ends)
	}
	pool, log, _ := fakePool(t, speaksWithReady)
	_, err = engineOf(t, pool, "JavaScript").Compile(t.Context(), script(alive))
	wantError(t, err, engines.Failed, "script workers do not start")
	var e *engines.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "it sent what it was not asked") {
		t.Errorf("error %v", err)
	}
	if said := log.with("script worker did not start"); len(said) < 3 {
		t.Errorf("the log says %q", said)
	}
}

// TestStderrFloodOfWorker has workers write to stderr without end. The host reads it no faster than it
// allows, and says how much it dropped.
func TestStderrFloodOfWorker(t *testing.T) {
	pool, log, _ := fakePool(t, floodsStderr)
	program := compiled(t, pool, alive)
	for range 100 {
		if response, err := program.Run(t.Context(), request(nil)); err != nil || response.Body != "the fake worker's" {
			t.Fatalf("answer %v, error %v", response.Body, err)
		}
	}
	pool.Close() // Ends the workers.
	if len(log.with("stderrBytesDropped")) == 0 {
		t.Fatalf("the log says %q", log.with(""))
	}
	line := log.with("stderrBytesDropped")[0]
	var dropped int
	_, number, _ := strings.Cut(line, `"stderrBytesDropped"=`)
	if _, err := fmt.Sscan(number, &dropped); err != nil || dropped < 1000 || len(line) > 2000 {
		t.Errorf("the log says %q", line)
	}
}
