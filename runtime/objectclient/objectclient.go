// Package objectclient makes dynamic clients that write objects for little: objects are encoded by package objectjson, and
// the answers to writes of children are asked for as metadata alone.
//
// They are client-go's dynamic client with another codec and another Accept header, so that rate limits, retries, metrics,
// warnings and errors are client-go's.
package objectclient

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// acceptMetadata asks for an answer without the content of the object. What serves no such answers returns the whole object:
// it is what client-go's metadata client sends to every API server.
const acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// Clients are two clients with one limit of rate.
type Clients struct {
	// Full is answered by whole objects.
	Full dynamic.Interface
	// Metadata is answered by a PartialObjectMetadata when it creates, updates or applies an object. Of its managedFields, the
	// answer has only what was applied, and not when. What else it returns is whole. An API server may ignore what it asks for,
	// and return the whole object.
	Metadata dynamic.Interface
}

// New returns clients for config.
func New(config *rest.Config) (Clients, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = nil, ""
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.NegotiatedSerializer = newSerializer()
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return Clients{}, err
	}
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return Clients{}, err
	}
	return Clients{Full: dynamic.New(client), Metadata: dynamic.New(metadataAnswers{client})}, nil
}

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
