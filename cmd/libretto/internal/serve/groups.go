package serve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// flagGroups are the groups of flags in the help of serve.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"Cluster", []string{"kubeconfig", "kube-api-qps", "kube-api-burst", "namespace", "discovery-interval"}},
	{"Definitions", []string{"filename", "target-label-selector", "namespaces", "require-service-account", "require-account-annotation",
		"definitions-per-namespace", "workers", "concurrent-calls", "concurrent-writes", "response-cache-size", "max-sync-response-size",
		"resync-period", "apply-strategy", "apply-strategy-ssa-field-manager"}},
	{"Scripts", []string{"scripts-dir", "flux-artifact-hosts", "script-isolation", "script-workers", "script-trust", "require-confinement",
		"script-seccomp", "script-preview", "reload-spread"}},
	{"Several processes", []string{"leader-elect", "shards", "leader-elect-resource-name", "leader-elect-resource-namespace",
		"leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period"}},
	{"Telling", []string{"metrics-bind-address", "health-probe-bind-address", "profiling-bind-address", "events-qps", "events-burst",
		"logging-format", "v"}},
}

// usage returns the usage of flags by group. Flags without a group come last.
func usage(flags *pflag.FlagSet) string {
	var b strings.Builder
	grouped := map[string]bool{}
	for _, group := range flagGroups {
		for _, name := range group.flags {
			grouped[name] = true
		}
		section(&b, group.title, flags, func(f *pflag.Flag) bool { return slices.Contains(group.flags, f.Name) })
	}
	section(&b, "Other", flags, func(f *pflag.Flag) bool { return !grouped[f.Name] })
	return b.String()
}

func section(b *strings.Builder, title string, flags *pflag.FlagSet, in func(*pflag.Flag) bool) {
	of := pflag.NewFlagSet(title, pflag.ContinueOnError)
	of.SortFlags = false
	flags.VisitAll(func(f *pflag.Flag) {
		if in(f) && !f.Hidden && f.Deprecated == "" {
			of.AddFlag(f)
		}
	})
	if of.HasFlags() {
		fmt.Fprintf(b, "\n%s:\n%s", title, of.FlagUsages())
	}
}
