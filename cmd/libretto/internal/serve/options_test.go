package serve

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// parse parses a command line of serve.
func parse(args ...string) (*options, error) {
	o := defaultOptions()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.addTo(flags)
	o.addAliases(flags)
	return o, flags.Parse(args)
}

func TestAliases(t *testing.T) {
	cases := map[string]struct {
		reason, line string
		want         func(*options)
	}{
		"manifest":   {"flags of metacontroller's own manifest", "--zap-log-level=4 --discovery-interval=20s", func(o *options) { o.log.verbosity, o.discoveryInterval = 1, 20*time.Second }},
		"client":     {"limits of the client", "--client-go-qps=5 --client-go-burst=10", func(o *options) { o.cluster.QPS, o.cluster.Burst = 5, 10 }},
		"addresses":  {"listen addresses", "--metrics-address=0 --pprof-address=:6060", func(o *options) { o.listen.metrics, o.listen.profiling = "0", ":6060" }},
		"lease":      {"leader election", "--leader-election --leader-election-id=x --leader-election-namespace=y --leader-election-resource-lock=leases", func(o *options) { o.election.on, o.election.name, o.election.namespace = true, "x", "y" }},
		"resync":     {"how often all parents are synced", "--cache-flush-interval=10m", func(o *options) { o.resyncPeriod = 10 * time.Minute }},
		"quiet":      {"levels below its decisions map to 0", "--zap-log-level=3", func(*options) {}},
		"loud":       {"levels above its decisions map to 1", "--zap-log-level=7", func(o *options) { o.log.verbosity = 1 }},
		"debug":      {"levels may be words", "--zap-log-level=debug", func(o *options) { o.log.verbosity = 1 }},
		"console":    {"development mode", "--zap-devel --zap-time-encoding=iso8601 --zap-stacktrace-level=error", func(o *options) { o.log.verbosity, o.log.format = 1, "console" }},
		"encoder":    {"encoder by name", "--zap-encoder=console", func(o *options) { o.log.format = "console" }},
		"strategies": {"metacontroller's values", "--apply-strategy=server-side-apply --apply-strategy-ssa-field-manager=metacontroller", func(o *options) { o.applyStrategy, o.fieldManager = "server-side-apply", "metacontroller" }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got, err := parse(strings.Fields(c.line)...)
			if err != nil {
				t.Fatal(err)
			}
			want := defaultOptions()
			c.want(want)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{}, hostedOptions{}, accountOptions{}, cli.ClusterFlags{}, addresses{}, election{}, leaseTimes{}, logOptions{}, scriptOptions{}, isolation{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.line, diff)
			}
		})
	}
}

func TestRefusedFlags(t *testing.T) {
	for line, says := range map[string]string{
		"--leader-election-resource-lock=configmaps": "leases",
		"--zap-log-level=loud":                       "info, debug",
		"--zap-devel=perhaps":                        "invalid syntax",
		"--workers=0":                                "--workers",
		"--apply-strategy=none":                      "dynamic-apply or server-side-apply",
		"--target-label-selector=a=(":                "--target-label-selector",
		"--resync-period=-1s":                        "--resync-period",
		"--response-cache-size=-1Mi":                 "--response-cache-size",
		"--max-sync-response-size=1000":              "--max-sync-response-size",
		"--max-sync-response-size=much":              "quantities must match",
		"-f options.go":                              "is a file: name the directory that holds it",
		"--script-trust=none":                        "namespace or shared",
		"--leader-elect-retry-period=0s":             "--leader-elect-retry-period must be more than 0",
		"--leader-elect-retry-period=2s":             "--leader-elect-renew-deadline must be more than twice",
		"--leader-elect-renew-deadline=5500ms":       "--leader-elect-lease-duration must be more than",
		"--leader-elect-lease-duration=6500ms":       "whole seconds",
		"--shards=0 --leader-elect":                  "--shards must be at least 1",
		"--shards=4":                                 "--shards needs --leader-elect",
		"--shards=4 --leader-elect --leader-elect-resource-name=" + strings.Repeat("a", 64): "at most 63 characters",
		"--require-confinement=some":                        "all, seccomp, any, none",
		"--require-confinement=all --script-isolation=none": "give one of the two",
	} {
		o, err := parse(strings.Fields(line)...)
		if err == nil {
			err = o.check()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want one with %q", line, err, says)
		}
	}
	if err := defaultOptions().check(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

// TestFlagGroups checks that the help shows every flag exactly once.
func TestFlagGroups(t *testing.T) {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o := defaultOptions()
	o.addTo(flags)
	var grouped []string
	for _, group := range flagGroups {
		grouped = append(grouped, group.flags...)
	}
	var all []string
	flags.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	slices.Sort(grouped)
	slices.Sort(all)
	if diff := cmp.Diff(all, grouped); diff != "" {
		t.Errorf("flags and those of flagGroups (-flags +groups):\n%s", diff)
	}
	o.addAliases(flags)
	text := usage(flags)
	for _, name := range all {
		if strings.Count(text, "--"+name+" ") != 1 {
			t.Errorf("--%s is not in the help exactly once:\n%s", name, text)
		}
	}
	if strings.Contains(text, "--client-go-qps") {
		t.Errorf("the help names a flag of metacontroller:\n%s", text)
	}
}
