package serve

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// addAliases adds metacontroller's flags (section 5.1 of the specification) that have another name here.
// They set the same options, are hidden in the help, and print which flag to use.
func (o *options) addAliases(f *pflag.FlagSet) {
	f.DurationVar(&o.resyncPeriod, "cache-flush-interval", o.resyncPeriod, "")
	f.StringVar(&o.listen.metrics, "metrics-address", o.listen.metrics, "")
	f.StringVar(&o.listen.profiling, "pprof-address", o.listen.profiling, "")
	f.Float32Var(&o.cluster.QPS, "client-go-qps", o.cluster.QPS, "")
	f.IntVar(&o.cluster.Burst, "client-go-burst", o.cluster.Burst, "")
	f.BoolVar(&o.election.on, "leader-election", o.election.on, "")
	f.StringVar(&o.election.name, "leader-election-id", o.election.name, "")
	f.StringVar(&o.election.namespace, "leader-election-namespace", o.election.namespace, "")
	f.StringVar(&o.log.format, "zap-encoder", o.log.format, "")
	f.Var(aliasFlag{o.checkLock}, "leader-election-resource-lock", "")
	f.Var(aliasFlag{o.setLogLevel}, "zap-log-level", "")
	f.Var(aliasFlag{o.setDevelopment}, "zap-devel", "")
	f.Lookup("zap-devel").NoOptDefVal = "true"
	f.Var(aliasFlag{ignoreValue}, "zap-stacktrace-level", "")
	f.Var(aliasFlag{ignoreValue}, "zap-time-encoding", "")
	for alias, instead := range map[string]string{
		"cache-flush-interval": "use --resync-period", "metrics-address": "use --metrics-bind-address",
		"pprof-address": "use --profiling-bind-address", "client-go-qps": "use --kube-api-qps", "client-go-burst": "use --kube-api-burst",
		"leader-election": "use --leader-elect", "leader-election-id": "use --leader-elect-resource-name",
		"leader-election-namespace":     "use --leader-elect-resource-namespace",
		"leader-election-resource-lock": "leases are used", "zap-encoder": "use --logging-format", "zap-log-level": "use --v",
		"zap-devel": "use --logging-format console", "zap-stacktrace-level": "it has no effect", "zap-time-encoding": "it has no effect",
	} {
		if err := f.MarkDeprecated(alias, instead); err != nil {
			panic(err) // All flags are added above.
		}
	}
}

// aliasFlag is a flag whose value sets other options.
type aliasFlag struct{ set func(string) error }

func (u aliasFlag) Set(value string) error { return u.set(value) }
func (u aliasFlag) String() string         { return "" }
func (u aliasFlag) Type() string           { return "string" }

func ignoreValue(string) error { return nil }

func (o *options) checkLock(kind string) error {
	if kind != "leases" {
		return fmt.Errorf("%q: leases are the only lock there is", kind)
	}
	return nil
}

// metacontrollerDecisions is the log level at which metacontroller logs its decisions.
const metacontrollerDecisions = 4

// setLogLevel sets the verbosity from a word or a number. Levels from metacontrollerDecisions on become
// verbosity 1.
func (o *options) setLogLevel(level string) error {
	switch level {
	case "info", "error", "panic":
		o.log.verbosity = 0
		return nil
	case "debug":
		o.log.verbosity = 1
		return nil
	}
	n, err := strconv.Atoi(level)
	switch {
	case err != nil || n < 0:
		return fmt.Errorf("%q: must be info, debug, error, panic or a number", level)
	case n < metacontrollerDecisions:
		o.log.verbosity = 0
	default:
		o.log.verbosity = 1
	}
	return nil
}

func (o *options) setDevelopment(value string) error {
	on, err := strconv.ParseBool(value)
	if on {
		o.log.format, o.log.verbosity = "console", max(o.log.verbosity, 1)
	}
	return err
}
