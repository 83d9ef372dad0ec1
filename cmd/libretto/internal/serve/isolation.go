package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// isolation configures where scripts run.
type isolation struct {
	kind    string
	workers int
	trust   string
	seccomp bool
	require string
}

const (
	isolationProcess = "process"
	isolationNone    = "none"

	trustNamespace = "namespace"
	trustShared    = "shared"
)

func defaultIsolation() isolation {
	return isolation{kind: isolationProcess, trust: trustNamespace, seccomp: true, require: string(confine.RequireAny)}
}

func (i *isolation) addTo(f *pflag.FlagSet) {
	f.StringVar(&i.kind, "script-isolation", i.kind,
		"where scripts run: process, in worker processes, or none, in this one, for development only: a script can then end it or use it up")
	f.IntVar(&i.workers, "script-workers", i.workers,
		"scripts that run at once, each in a process of its own (default one for each processor, at least 2)")
	f.StringVar(&i.trust, "script-trust", i.trust,
		"which scripts may use one worker, one after another: namespace, those from the same namespaces, or shared, all")
	f.StringVar(&i.require, "require-confinement", i.require,
		"what has to confine script workers, or else the host does not start: all, every measure in full; seccomp, the filter of system calls; any, that or Landlock; none, for scripts that you trust")
	f.BoolVar(&i.seccomp, "script-seccomp", i.seccomp, "filter the system calls of script workers, where the system can")
}

func (i *isolation) check() error {
	if i.kind != isolationProcess && i.kind != isolationNone {
		return fmt.Errorf("--script-isolation must be %s or %s, not %q", isolationProcess, isolationNone, i.kind)
	}
	if i.trust != trustNamespace && i.trust != trustShared {
		return fmt.Errorf("--script-trust must be %s or %s, not %q", trustNamespace, trustShared, i.trust)
	}
	if !slices.Contains(requirements, i.require) {
		return fmt.Errorf("--require-confinement must be one of %s, not %q", strings.Join(requirements, ", "), i.require)
	}
	if i.kind == isolationNone && (i.require == string(confine.RequireAll) || i.require == string(confine.RequireSeccomp)) {
		return fmt.Errorf("--require-confinement=%s can't be had with --script-isolation=none, by which scripts run in this process: give one of the two", i.require)
	}
	if i.workers < 0 {
		return errors.New("--script-workers must not be negative")
	}
	return nil
}

// requirements are the values of --require-confinement.
var requirements = []string{string(confine.RequireAll), string(confine.RequireSeccomp), string(confine.RequireAny),
	string(confine.RequireNone)}

// pool returns the configuration of the workers of a program of that version.
func (i *isolation) pool(version string) sandbox.Config {
	return sandbox.Config{
		Workers: i.workers, ShareWorkers: i.trust == trustShared, WithoutSeccomp: !i.seccomp, Require: confine.Requirement(i.require),
		Command: cli.WorkerCommand(version),
	}
}

// requireConfinement returns an error if script workers are confined less here than --require-confinement says. If none can be started,
// that is not known: each worker is checked again before it gets a script.
func (i *isolation) requireConfinement(version string) error {
	if i.kind == isolationNone || i.require == string(confine.RequireNone) {
		return nil
	}
	var unconfined *sandbox.UnconfinedError
	if !errors.As(sandbox.Probe(i.pool(version)), &unconfined) {
		return nil
	}
	return fmt.Errorf("--require-confinement=%s: script workers are not confined enough here: %s: "+
		"run the host on Linux where these are in force, or give --require-confinement=none if you trust all scripts that it runs",
		i.require, strings.Join(unconfined.Unmet, "; "))
}

// engines starts all engines. stop must be called after the last hook call.
func (i *isolation) engines(
	version string, log logr.Logger, registry prometheus.Registerer, config engines.Config,
) (all *engines.Registry, stop func(), err error) {
	if i.kind == isolationNone {
		verbosity.Warn(log, "scripts run in this process: a single one can end it or use it up; --script-isolation=none is for development only")
		all, err = engines.NewRegistry(config, standard.Definitions()...)
		return all, func() {}, err
	}
	c := i.pool(version)
	c.Metrics, c.Log = sandbox.NewMetrics(registry), log.WithName("sandbox")
	return cli.SandboxedEngines(c, config)
}
