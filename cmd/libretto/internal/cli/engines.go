package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// SandboxedEngines starts all engines, with scripts in worker processes. stop must be called after the last hook call.
func SandboxedEngines(workers sandbox.Config, config engines.Config) (all *engines.Registry, stop func(), err error) {
	pool := sandbox.New(workers)
	all, err = engines.NewRegistry(config, definitionsOf(pool)...)
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return all, pool.Close, nil
}

func definitionsOf(pool *sandbox.Pool) []engines.Definition {
	return slices.Concat(pool.Definitions(standard.Scripts()), standard.Others())
}

// OfflineEngines starts the engines of a command that is not a host. It does so first, as workers take time to start. stop must be called
// after the last hook call.
func OfflineEngines(w Process) (all *engines.Registry, stop func(), err error) {
	w, stop = WithWorkers(w)
	if all, err = engines.NewRegistry(engines.Config{}, OfflineDefinitions(w)...); err != nil {
		stop()
		return nil, nil, err
	}
	return all, stop, nil
}

// WithWorkers returns a process whose commands run scripts in the same workers. The scripts are those of whoever runs the command, on a
// machine of theirs: workers are confined as far as that can, and nothing is required. A browser has no processes, and so no workers.
func WithWorkers(w Process) (with Process, stop func()) {
	if w.Workers != nil || runtime.GOOS == "js" {
		return w, func() {}
	}
	w.Workers = sandbox.New(OfflineWorkers(w.Version))
	return w, w.Workers.Close
}

// OfflineDefinitions returns the engines of a process that has workers if it can have any. Otherwise scripts run in it.
func OfflineDefinitions(w Process) []engines.Definition {
	if w.Workers == nil {
		return standard.Definitions()
	}
	return definitionsOf(w.Workers)
}

// OfflineWorkers returns how OfflineEngines has scripts run.
func OfflineWorkers(version string) sandbox.Config {
	return sandbox.Config{
		Require: confine.RequireNone, Command: WorkerCommand(version), Metrics: sandbox.NewMetrics(prometheus.NewRegistry()),
		Log:     logr.Discard(),
		MaxWait: 24 * time.Hour, // There is nothing else to do, and --timeout to end it.
	}
}

// WorkerCommand returns the command of a script worker: the program libretto-worker beside this one, or
// nil for this program if there is none.
func WorkerCommand(version string) []string {
	own, err := os.Executable()
	if err != nil {
		return nil
	}
	if resolved, err := filepath.EvalSymlinks(own); err == nil {
		own = resolved // As a plugin it may be a link in a folder of links.
	}
	return workerIn(filepath.Dir(own), version)
}

func workerIn(directory, version string) []string {
	path, err := exec.LookPath(filepath.Join(directory, "libretto-worker"))
	if err != nil {
		return nil
	}
	return []string{path, worker.Argument, version}
}

// CollectSeldom makes the garbage collector wait until there is much to collect, because a command ends soon: a third of the time of a
// check went into it. It returns a function that undoes this.
func CollectSeldom() func() {
	const percent, limit = 400, 512 << 20
	before, limitBefore := debug.SetGCPercent(percent), debug.SetMemoryLimit(limit)
	return func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(limitBefore)
	}
}
