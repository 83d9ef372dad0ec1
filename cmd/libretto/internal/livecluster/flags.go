package livecluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	libdiscovery "github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Connect returns the clients of the cluster.
func Connect(ctx context.Context, w cli.Process, cluster *cli.ClusterFlags, ofHost *cli.HostFlags) (*Config, error) {
	host, err := ofHost.Host()
	if err != nil {
		return nil, err
	}
	config, err := cluster.BoundConfig(ctx, w)
	if err != nil {
		return nil, err
	}
	client, clientErr := informer.RESTClientFor(config)
	discoveryClient, discoveryErr := discovery.NewDiscoveryClientForConfig(config)
	typed, typedErr := cli.NewTypedClients(config)
	if err := errors.Join(clientErr, discoveryErr, typedErr); err != nil {
		return nil, err
	}
	warned := map[string]bool{}
	return &Config{
		Reader: &Reader{Client: client, Warn: func(text string) {
			if !warned[text] {
				warned[text] = true
				fmt.Fprintln(w.Stderr, "warning:", text)
			}
		}},
		Discovery: discoveryClient, OpenAPI: schema.Over(discoveryClient.RESTClient()), Host: host, Kubernetes: typed,
	}, nil
}

// ParentFlags name one parent of a cluster.
type ParentFlags struct {
	cluster   cli.ClusterFlags
	namespace string
	Timeout   time.Duration
	host      cli.HostFlags
}

// NewParentFlags returns the flags with their defaults.
func NewParentFlags() ParentFlags {
	return ParentFlags{cluster: cli.DefaultClusterFlags(), Timeout: time.Minute, host: cli.NewHostFlags()}
}

// AddTo adds the flags to a command about one parent.
func (o *ParentFlags) AddTo(c *cobra.Command) {
	f := c.Flags()
	o.host.AddTo(c)
	f.StringVarP(&o.namespace, "namespace", "n", "", "the namespace of the parent (default that of the kubeconfig's context)")
	o.cluster.AddTo(f)
	f.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long it may take in all, by the clock")
}

// Parent is a parent of a cluster, and how to read what is about it.
type Parent struct {
	*Config
	Resource libdiscovery.Resource
	Object   *unstructured.Unstructured
}

// Find reads the parent that KIND/NAME, or KIND and NAME, name.
func (o *ParentFlags) Find(ctx context.Context, w cli.Process, args []string) (*Parent, error) {
	kind, name, err := kindAndName(args)
	if err != nil {
		return nil, err
	}
	config, err := Connect(ctx, w, &o.cluster, &o.host)
	if err != nil {
		return nil, err
	}
	p := &Parent{Config: config}
	if p.Resource, err = resourceOf(config.Discovery, kind); err != nil {
		return nil, err
	}
	namespace := ""
	if p.Resource.Namespaced {
		if namespace = o.namespace; namespace == "" {
			namespace = o.cluster.Namespace(w)
		}
	}
	if p.Object, err = config.Reader.Get(ctx, p.Resource, namespace, name); err != nil {
		return nil, err
	}
	if p.Object == nil {
		where := ""
		if namespace != "" {
			where = " in namespace " + namespace + ": is it in another one (-n)?"
		}
		return nil, fmt.Errorf("there is no %s %s%s", p.Resource.GroupResource(), name, where)
	}
	p.Set, err = manifest.Load(ctx, manifest.Options{Namespace: namespace})
	return p, err
}

// NoDefinition is the error for an object that is no parent.
func (p *Parent) NoDefinition() error {
	owner := metav1.GetControllerOf(p.Object)
	if owner == nil {
		return fmt.Errorf("%s %s: no definition of the cluster looks after it", p.Object.GetKind(), p.Object.GetName())
	}
	kind := owner.Kind
	if gv, err := apischema.ParseGroupVersion(owner.APIVersion); err == nil && gv.Group != "" {
		kind += "." + gv.Version + "." + gv.Group
	}
	namespace := ""
	if p.Object.GetNamespace() != "" {
		namespace = " -n " + p.Object.GetNamespace()
	}
	return fmt.Errorf("%s %s is the parent of no definition of the cluster: it belongs to %s %s, of which libretto explain %s/%s%s tells",
		p.Object.GetKind(), p.Object.GetName(), owner.Kind, owner.Name, kind, owner.Name, namespace)
}

// kindAndName returns the parts of KIND/NAME, or of two arguments.
func kindAndName(args []string) (kind, name string, err error) {
	if len(args) == 1 {
		args = strings.SplitN(args[0], "/", 2)
	}
	if len(args) != 2 || args[0] == "" || args[1] == "" || strings.Contains(args[1], "/") {
		return "", "", errors.New("name one parent, as KIND/NAME: KIND is a kind, a resource or a short name, or resource.group")
	}
	return args[0], args[1], nil
}

// resourceOf returns the resource that kubectl finds for a kind, a resource or a short name.
func resourceOf(api discovery.DiscoveryInterface, name string) (libdiscovery.Resource, error) {
	groups, err := restmapper.GetAPIGroupResources(api)
	if err != nil {
		return libdiscovery.Resource{}, err
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), api, nil)
	found, err := findResource(mapper, name)
	if err != nil {
		return libdiscovery.Resource{}, fmt.Errorf("the cluster serves no resource %q: see kubectl api-resources", name)
	}
	served, err := libdiscovery.List(api)
	if err != nil {
		return libdiscovery.Resource{}, err
	}
	i := slices.IndexFunc(served, func(r libdiscovery.Resource) bool { return r.GroupVersionResource == found })
	if i < 0 {
		return libdiscovery.Resource{}, fmt.Errorf("%s can't be listed and watched: it is no parent", found.GroupResource())
	}
	return served[i], nil
}

// findResource looks a name up in the order in which kubectl does.
func findResource(mapper meta.RESTMapper, name string) (apischema.GroupVersionResource, error) {
	full, partial := apischema.ParseResourceArg(strings.ToLower(name))
	if full != nil {
		if found, err := mapper.ResourceFor(*full); err == nil {
			return found, nil
		}
	}
	if found, err := mapper.ResourceFor(partial.WithVersion("")); err == nil {
		return found, nil
	}
	_, kind := apischema.ParseKindArg(name)
	mapping, err := mapper.RESTMapping(kind)
	if err != nil {
		return apischema.GroupVersionResource{}, err
	}
	return mapping.Resource, nil
}
