package cli

import (
	"errors"

	"k8s.io/client-go/discovery"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// TypedClients are those of a kubernetes.Clientset that the program uses. With that one, the linker would keep the clients and apply
// configurations of all groups, because reflection may call any method of a type that is there.
type TypedClients struct {
	discovery     *discovery.DiscoveryClient
	apps          *appsv1.AppsV1Client
	authorization *authorizationv1.AuthorizationV1Client
	core          *corev1.CoreV1Client
}

// NewTypedClients returns clients that share connections and the limit of requests of config, which sets QPS.
func NewTypedClients(config *rest.Config) (*TypedClients, error) {
	config = rest.CopyConfig(config)
	if config.RateLimiter == nil && config.QPS > 0 {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	var c TypedClients
	var errs [4]error
	c.discovery, errs[0] = discovery.NewDiscoveryClientForConfigAndClient(config, client)
	c.apps, errs[1] = appsv1.NewForConfigAndClient(config, client)
	c.authorization, errs[2] = authorizationv1.NewForConfigAndClient(config, client)
	c.core, errs[3] = corev1.NewForConfigAndClient(config, client)
	return &c, errors.Join(errs[:]...)
}

// Discovery returns the client of discovery.
func (c *TypedClients) Discovery() discovery.DiscoveryInterface { return c.discovery }

// AppsV1 returns the client of apps/v1.
func (c *TypedClients) AppsV1() appsv1.AppsV1Interface { return c.apps }

// AuthorizationV1 returns the client of authorization.k8s.io/v1.
func (c *TypedClients) AuthorizationV1() authorizationv1.AuthorizationV1Interface {
	return c.authorization
}

// CoreV1 returns the client of v1.
func (c *TypedClients) CoreV1() corev1.CoreV1Interface { return c.core }
