package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// addAliases adds metacontroller's flags (section 5.1 of the specification) that
// have another name here. They set the same options, are left out of the help, and
// say which flag to use.
func (o *options) addAliases(f *pflag.FlagSet) {
	f.DurationVar(&o.resyncPeriod, "cache-flush-interval", o.resyncPeriod, "")
	f.StringVar(&o.metricsAddress, "metrics-address", o.metricsAddress, "")
	f.StringVar(&o.profilingAddress, "pprof-address", o.profilingAddress, "")
	f.Float32Var(&o.kubeAPIQPS, "client-go-qps", o.kubeAPIQPS, "")
	f.IntVar(&o.kubeAPIBurst, "client-go-burst", o.kubeAPIBurst, "")
	f.BoolVar(&o.leaderElect, "leader-election", o.leaderElect, "")
	f.StringVar(&o.leaseName, "leader-election-id", o.leaseName, "")
	f.StringVar(&o.leaseNamespace, "leader-election-namespace", o.leaseNamespace, "")
	f.StringVar(&o.loggingFormat, "zap-encoder", o.loggingFormat, "")
	f.Var(understood{o.lock}, "leader-election-resource-lock", "")
	f.Var(understood{o.logLevel}, "zap-log-level", "")
	f.Var(understood{o.development}, "zap-devel", "")
	f.Lookup("zap-devel").NoOptDefVal = "true"
	f.Var(understood{anything}, "zap-stacktrace-level", "")
	f.Var(understood{anything}, "zap-time-encoding", "")
	for alias, instead := range map[string]string{
		"cache-flush-interval": "use --resync-period", "metrics-address": "use --metrics-bind-address",
		"pprof-address": "use --profiling-bind-address", "client-go-qps": "use --kube-api-qps", "client-go-burst": "use --kube-api-burst",
		"leader-election": "use --leader-elect", "leader-election-id": "use --leader-elect-resource-name",
		"leader-election-namespace":     "use --leader-elect-resource-namespace",
		"leader-election-resource-lock": "leases are used", "zap-encoder": "use --logging-format", "zap-log-level": "use --v",
		"zap-devel": "use --logging-format console", "zap-stacktrace-level": "it has no effect", "zap-time-encoding": "it has no effect",
	} {
		if err := f.MarkDeprecated(alias, instead); err != nil {
			panic(err) // The flag is one of those above.
		}
	}
}

// understood is a flag whose value sets other options.
type understood struct{ set func(string) error }

func (u understood) Set(value string) error { return u.set(value) }
func (u understood) String() string         { return "" }
func (u understood) Type() string           { return "string" }

func anything(string) error { return nil }

func (o *options) lock(kind string) error {
	if kind != "leases" {
		return fmt.Errorf("%q: leases are the only lock there is", kind)
	}
	return nil
}

// metacontrollerDecisions is the log level at which metacontroller tells what it decides.
const metacontrollerDecisions = 4

// logLevel takes a word or a number: what it logs from 4 on is logged here from 1 on.
func (o *options) logLevel(level string) error {
	switch level {
	case "info", "error", "panic":
		o.verbosity = 0
		return nil
	case "debug":
		o.verbosity = 1
		return nil
	}
	n, err := strconv.Atoi(level)
	switch {
	case err != nil || n < 0:
		return fmt.Errorf("%q: must be info, debug, error, panic or a number", level)
	case n < metacontrollerDecisions:
		o.verbosity = 0
	default:
		o.verbosity = 1
	}
	return nil
}

func (o *options) development(value string) error {
	on, err := strconv.ParseBool(value)
	if on {
		o.loggingFormat, o.verbosity = "console", max(o.verbosity, 1)
	}
	return err
}
