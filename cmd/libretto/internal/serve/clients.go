package serve

import (
	"errors"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/objectclient"
)

// requestTimeout bounds a request of a reconcile to the API server.
const requestTimeout = time.Minute

// clients are the clients for the API server.
type clients struct {
	unbounded       dynamic.Interface // Without a timeout, because watches last.
	bounded         dynamic.Interface // With a timeout, for reconciles. It can't watch.
	children        dynamic.Interface // bounded, but its writes are answered by metadata.
	reading         rest.Interface    // For the caches: also without a timeout.
	typed           kubernetes.Interface
	metadata        metadata.Interface // Without a timeout, because watches last.
	boundedMetadata metadata.Interface // With a timeout, for objects that are released.
}

// newClients returns clients for config. The bounded ones have the given timeout.
func newClients(config *rest.Config, timeout time.Duration) (*clients, error) {
	bounded := rest.CopyConfig(config)
	bounded.Timeout = timeout
	bounded.WarningHandlerWithContext = apply.WarningHandler{}
	unbounded, err := dynamic.NewForConfig(config)
	boundedClients, boundedErr := objectclient.New(bounded)
	reading, readingErr := informer.RESTClientFor(config)
	typed, typedErr := kubernetes.NewForConfig(config)
	metadataClient, metadataErr := metadata.NewForConfig(config)
	boundedMetadata, boundedMetadataErr := metadata.NewForConfig(bounded)
	if err := errors.Join(err, boundedErr, readingErr, typedErr, metadataErr, boundedMetadataErr); err != nil {
		return nil, err
	}
	return &clients{
		unbounded: unbounded, bounded: boundedClients.Full, children: boundedClients.Metadata, reading: reading, typed: typed,
		metadata: metadataClient, boundedMetadata: boundedMetadata,
	}, nil
}
