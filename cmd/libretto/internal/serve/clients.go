package serve

import (
	"errors"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/objectclient"
)

// requestTimeout bounds a request of a reconcile to the API server.
const requestTimeout = time.Minute

// clients are the clients for the API server. Those of the host are its own account's, and the others make each request as the account
// of its context.
type clients struct {
	host            hostClients
	caches          rest.Interface
	bounded         dynamic.Interface // With a timeout, for reconciles. It can't watch.
	children        dynamic.Interface // bounded, but its writes are answered by metadata.
	boundedMetadata metadata.Interface
	typed           *cli.TypedClients // Without a timeout, because watches last.
	watching        dynamic.Interface // As typed.
	metadata        metadata.Interface
}

// hostClients are for what the host reads and writes for itself. They have no timeout, because watches last.
type hostClients struct {
	dynamic  dynamic.Interface
	typed    *cli.TypedClients
	metadata metadata.Interface
}

// newClients returns clients for config. The bounded ones have the given timeout.
func newClients(config *rest.Config, timeout time.Duration) (*clients, error) {
	host, err := newHostClients(config)
	if err != nil {
		return nil, err
	}
	config, err = access.NewImpersonator(host.typed, clock.RealClock{}).Wrap(config)
	if err != nil {
		return nil, err
	}
	bounded := rest.CopyConfig(config)
	bounded.Timeout = timeout
	bounded.WarningHandlerWithContext = apply.WarningHandler{}
	boundedClients, err := objectclient.New(bounded)
	caches, cachesErr := informer.RESTClientFor(config)
	typed, typedErr := cli.NewTypedClients(config)
	watching, watchingErr := dynamic.NewForConfig(config)
	metadataClient, metadataErr := metadata.NewForConfig(config)
	boundedMetadata, boundedMetadataErr := metadata.NewForConfig(bounded)
	if err := errors.Join(err, cachesErr, typedErr, watchingErr, metadataErr, boundedMetadataErr); err != nil {
		return nil, err
	}
	return &clients{
		host: host, caches: caches, bounded: boundedClients.Full, children: boundedClients.Metadata, boundedMetadata: boundedMetadata,
		typed: typed, watching: watching, metadata: metadataClient,
	}, nil
}

func newHostClients(config *rest.Config) (hostClients, error) {
	dynamicClient, err := dynamic.NewForConfig(config)
	typed, typedErr := cli.NewTypedClients(config)
	metadataClient, metadataErr := metadata.NewForConfig(config)
	return hostClients{dynamicClient, typed, metadataClient}, errors.Join(err, typedErr, metadataErr)
}
