package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// configSource is where the configuration of the cluster is from, for the log.
type configSource struct {
	// context is the context of the kubeconfig, and file the file that has it. In a cluster there is no file.
	context, file string
}

// inCluster is the context in the log of a process that uses the service account of its Pod.
const inCluster = "in-cluster"

// clusterConfig returns the configuration of the cluster: that of --kubeconfig, else the one that kubectl uses.
func clusterConfig(w process, o *options) (*rest.Config, configSource, error) {
	config, from, err := loadConfig(o.kubeconfig, o.kubeContext, w.getenv)
	if err != nil {
		return nil, from, err
	}
	config.QPS, config.Burst, config.UserAgent = o.kubeAPIQPS, o.kubeAPIBurst, userAgent()
	if o.asUser != "" || len(o.asGroups) > 0 { // Otherwise the kubeconfig may say whom to impersonate.
		config.Impersonate = rest.ImpersonationConfig{UserName: o.asUser, Groups: o.asGroups}
	}
	return config, from, nil
}

// addConnection adds the flags of commands that read a cluster as kubectl does.
func (o *options) addConnection(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster (default that of kubectl: $KUBECONFIG, else ~/.kube/config, else the cluster around the process)")
	f.StringVar(&o.kubeContext, "context", "", "the context of the kubeconfig (default its current one)")
	f.StringVar(&o.asUser, "as", "", "the user to act as, if you may impersonate; a service account is system:serviceaccount:NAMESPACE:NAME")
	f.StringArrayVar(&o.asGroups, "as-group", nil, "a group to act as, with --as; may be repeated")
}

// loadConfig reads the kubeconfig of the flag, or the files that kubectl reads, merged. Context is one of them, or empty for the
// current one. If they have no cluster, it is the one that the process runs in.
func loadConfig(flag, context string, getenv func(string) string) (*rest.Config, configSource, error) {
	rules, where := loadingRules(flag, getenv)
	loaded, err := rules.Load()
	if err != nil {
		return nil, configSource{}, fmt.Errorf("%s: %w", where, err)
	}
	if len(loaded.Clusters) == 0 && flag == "" && context == "" {
		return podConfig(where)
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && len(loaded.Contexts) > 0:
		return nil, configSource{}, fmt.Errorf("%s: it has no current context: kubectl config use-context NAME: there are %s",
			where, strings.Join(slices.Sorted(maps.Keys(loaded.Contexts)), ", "))
	case clientcmd.IsEmptyConfig(err):
		return nil, configSource{}, fmt.Errorf("%s: it has no cluster", where)
	case err != nil:
		return nil, configSource{}, fmt.Errorf("%s: %w", where, err)
	}
	from := configSource{context: cmp.Or(context, loaded.CurrentContext)}
	if used := loaded.Contexts[from.context]; used != nil {
		from.file = used.LocationOfOrigin
	}
	return config, from, nil
}

// loadingRules returns what to read, and its name in messages.
func loadingRules(flag string, getenv func(string) string) (rules *clientcmd.ClientConfigLoadingRules, where string) {
	rules = &clientcmd.ClientConfigLoadingRules{ExplicitPath: flag}
	if flag != "" {
		return rules, "kubeconfig " + flag
	}
	if listed := getenv(clientcmd.RecommendedConfigPathEnvVar); listed != "" {
		rules.Precedence = filepath.SplitList(listed)
		return rules, "$KUBECONFIG, which is " + listed
	}
	if home := cmp.Or(getenv("HOME"), getenv("USERPROFILE")); home != "" {
		rules.Precedence = []string{filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)}
		return rules, rules.Precedence[0]
	}
	return rules, "$KUBECONFIG, which is not set, as $HOME"
}

// podConfig returns the configuration of the cluster around the process.
func podConfig(where string) (*rest.Config, configSource, error) {
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, configSource{}, fmt.Errorf("no cluster: there is none in %s, and this process is not in a Pod: give --kubeconfig", where)
	case err != nil:
		return nil, configSource{}, fmt.Errorf("the cluster around this process: %w", err)
	}
	return config, configSource{context: inCluster}, nil
}
