package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// isolation configures where scripts run.
type isolation struct {
	kind    string
	workers int
	trust   string
	seccomp bool
}

const (
	isolationProcess = "process"
	isolationNone    = "none"

	trustNamespace = "namespace"
	trustShared    = "shared"
)

func defaultIsolation() isolation {
	return isolation{kind: isolationProcess, trust: trustNamespace, seccomp: true}
}

func (i *isolation) addTo(f *pflag.FlagSet) {
	f.StringVar(&i.kind, "script-isolation", i.kind, "where scripts run: process, in worker processes, or none, in this one, for development only: a script can then end it or use it up")
	f.IntVar(&i.workers, "script-workers", i.workers, "scripts that run at once, each in a process of its own (default one for each processor, at least 2)")
	f.StringVar(&i.trust, "script-trust", i.trust, "which scripts may use one worker, one after another: namespace, those from the same namespaces, or shared, all")
	f.BoolVar(&i.seccomp, "script-seccomp", i.seccomp, "filter the system calls of script workers, where the system can")
}

func (i *isolation) check() error {
	if i.kind != isolationProcess && i.kind != isolationNone {
		return fmt.Errorf("--script-isolation must be %s or %s, not %q", isolationProcess, isolationNone, i.kind)
	}
	if i.trust != trustNamespace && i.trust != trustShared {
		return fmt.Errorf("--script-trust must be %s or %s, not %q", trustNamespace, trustShared, i.trust)
	}
	if i.workers < 0 {
		return fmt.Errorf("--script-workers must not be negative")
	}
	return nil
}

// engines starts all engines. stop must be called after the last hook call.
func (i *isolation) engines(
	log logr.Logger, registry prometheus.Registerer, config engines.Config,
) (all *engines.Registry, stop func(), err error) {
	definitions, stop := standard.Definitions(), func() {}
	if i.kind == isolationProcess {
		pool := sandbox.New(sandbox.Config{
			Workers: i.workers, ShareWorkers: i.trust == trustShared, WithoutSeccomp: !i.seccomp, Command: workerCommand(),
			Metrics: sandbox.NewMetrics(registry), Log: log.WithName("sandbox"),
		})
		definitions, stop = slices.Concat(pool.Definitions(standard.Scripts()), standard.Others()), pool.Close
	} else {
		log.Info("scripts run in this process: a single one can end it or use it up; --script-isolation=none is for development only")
	}
	all, err = engines.NewRegistry(config, definitions...)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return all, stop, nil
}

// offlineEngines starts the engines of a command that needs no cluster. It does so first, as workers take time to start. stop must be
// called after the last hook call.
func offlineEngines() (all *engines.Registry, stop func(), err error) {
	scriptsIn := defaultIsolation()
	return scriptsIn.engines(logr.Discard(), prometheus.NewRegistry(), engines.Config{})
}

// workerCommand returns the command of a script worker: the program libretto-worker beside this one, or
// nil for this program if there is none.
func workerCommand() []string {
	own, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(own); err == nil {
		own = real // As a plugin it may be a link in a folder of links.
	}
	return workerIn(filepath.Dir(own))
}

func workerIn(directory string) []string {
	path, err := exec.LookPath(filepath.Join(directory, "libretto-worker"))
	if err != nil {
		return nil
	}
	return []string{path, worker.Argument, version}
}
