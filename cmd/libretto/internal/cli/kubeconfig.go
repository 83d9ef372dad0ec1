package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// configSource is where the configuration of the cluster is from, for the log.
type configSource struct {
	// Context is the context of the kubeconfig, and file the file that has it. In a cluster there is no file.
	Context, File string
}

// inCluster is the context in the log of a process that uses the service account of its Pod.
const inCluster = "in-cluster"

// ClusterFlags say which cluster is used, as whom, and how much.
type ClusterFlags struct {
	kubeconfig string
	// context, asUser and asGroups are those of commands that read a cluster as kubectl does. serve has none.
	context, asUser string
	asGroups        []string
	QPS             float32
	Burst           int
}

// DefaultClusterFlags returns the flags with the limits of a command.
func DefaultClusterFlags() ClusterFlags { return ClusterFlags{QPS: 200, Burst: 400} }

// AddTo adds the flags of commands that read a cluster as kubectl does.
func (c *ClusterFlags) AddTo(f *pflag.FlagSet) {
	c.AddKubeconfig(f)
	f.StringVar(&c.context, "context", "", "the context of the kubeconfig (default its current one)")
	f.StringVar(&c.asUser, "as", "", "the user to act as, if you may impersonate; a service account is system:serviceaccount:NAMESPACE:NAME")
	f.StringArrayVar(&c.asGroups, "as-group", nil, "a group to act as, with --as; may be repeated")
}

// AddKubeconfig adds the flag that every command has that uses a cluster.
func (c *ClusterFlags) AddKubeconfig(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "",
		"kubeconfig file of the cluster (default that of kubectl: $KUBECONFIG, else ~/.kube/config, else the cluster around the process)")
}

// AddLimits adds the flags of commands that send many requests.
func (c *ClusterFlags) AddLimits(f *pflag.FlagSet) {
	f.Float32Var(&c.QPS, "kube-api-qps", c.QPS, "requests a second to the API server, on average; negative means no limit")
	f.IntVar(&c.Burst, "kube-api-burst", c.Burst, "requests to the API server at once")
}

// Config returns the configuration of the cluster: that of --kubeconfig, else the one that kubectl uses.
func (c *ClusterFlags) Config(w Process) (*rest.Config, configSource, error) {
	config, from, err := loadConfig(c.kubeconfig, c.context, w.Getenv)
	if err != nil {
		return nil, from, err
	}
	config.QPS, config.Burst, config.UserAgent = c.QPS, c.Burst, w.UserAgent()
	if c.asUser != "" || len(c.asGroups) > 0 { // Otherwise the kubeconfig may say whom to impersonate.
		config.Impersonate = rest.ImpersonationConfig{UserName: c.asUser, Groups: c.asGroups}
	}
	return config, from, nil
}

// Namespace returns the namespace of the kubeconfig's context.
func (c *ClusterFlags) Namespace(w Process) string {
	rules, _ := loadingRules(c.kubeconfig, w.Getenv)
	if loaded, err := rules.Load(); err == nil {
		if context := loaded.Contexts[cmp.Or(c.context, loaded.CurrentContext)]; context != nil && context.Namespace != "" {
			return context.Namespace
		}
	}
	return corev1.NamespaceDefault
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
	from := configSource{Context: cmp.Or(context, loaded.CurrentContext)}
	if used := loaded.Contexts[from.Context]; used != nil {
		from.File = used.LocationOfOrigin
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

// ErrNoCluster is that neither a kubeconfig nor the process has a cluster.
var ErrNoCluster = errors.New("no cluster")

// podConfig returns the configuration of the cluster around the process.
func podConfig(where string) (*rest.Config, configSource, error) {
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		err = fmt.Errorf("%w: there is none in %s, and this process is not in a Pod: give --kubeconfig", ErrNoCluster, where)
		return nil, configSource{}, err
	case err != nil:
		return nil, configSource{}, fmt.Errorf("the cluster around this process: %w", err)
	}
	return config, configSource{Context: inCluster}, nil
}
