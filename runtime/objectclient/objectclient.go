// Package objectclient makes dynamic clients that write objects for little: objects are encoded and decoded by package
// objectjson, and the answers to writes of children are asked for as metadata alone.
//
// They are client-go's dynamic client with another codec and another Accept header, so that rate limits, retries, metrics,
// warnings and errors are client-go's.
package objectclient

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// acceptMetadata asks for an answer without the content of the object. What serves no such answers returns the whole object:
// it is what client-go's metadata client sends to every API server.
const acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// Clients are two clients with one limit of rate. What they return of a write has no more of managedFields than what was
// applied, and not when. They can't watch.
type Clients struct {
	// Full is answered by whole objects.
	Full dynamic.Interface
	// Metadata is answered by a PartialObjectMetadata when it creates, updates or applies an object. What else it returns is
	// whole. An API server may ignore what it asks for, and return the whole object.
	Metadata dynamic.Interface
}

// New returns clients for config.
func New(config *rest.Config) (Clients, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = nil, ""
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.RateLimiter = rateLimiter(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return Clients{}, err
	}
	config.NegotiatedSerializer = newSerializer(decodeAll)
	reads, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return Clients{}, err
	}
	config.NegotiatedSerializer = newSerializer(decodeAnswer)
	writes, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return Clients{}, err
	}
	full := split{writes, reads}
	return Clients{Full: dynamic.New(full), Metadata: dynamic.New(metadataAnswers{full})}, nil
}

// rateLimiter returns the limit of a config, which several clients can share.
func rateLimiter(config *rest.Config) flowcontrol.RateLimiter {
	qps, burst := cmp.Or(config.QPS, rest.DefaultQPS), cmp.Or(config.Burst, rest.DefaultBurst)
	if config.RateLimiter != nil || qps < 0 {
		return config.RateLimiter
	}
	return flowcontrol.NewTokenBucketRateLimiter(qps, burst)
}

// split reads with another client than it writes with.
type split struct {
	rest.Interface
	reads rest.Interface
}

// Get begins a read.
func (s split) Get() *rest.Request { return s.reads.Get() }

// metadataAnswers asks for metadata in answer to what sends whole objects. The answer to another patch is whole: it has what
// others have written.
type metadataAnswers struct{ rest.Interface }

// Post begins a creation.
func (m metadataAnswers) Post() *rest.Request {
	return m.Interface.Post().SetHeader("Accept", acceptMetadata)
}

// Put begins an update.
func (m metadataAnswers) Put() *rest.Request {
	return m.Interface.Put().SetHeader("Accept", acceptMetadata)
}

// Patch begins a patch, which may be an apply.
func (m metadataAnswers) Patch(kind types.PatchType) *rest.Request {
	request := m.Interface.Patch(kind)
	if kind == types.ApplyPatchType {
		request.SetHeader("Accept", acceptMetadata)
	}
	return request
}
