// Package webhook is the engine for hooks that are answered over HTTP, as
// metacontroller calls them.
package webhook

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/libretto-k8s/libretto/engines"
)

// defaultMaxResponseBytes bounds a response if its endpoint does not.
const defaultMaxResponseBytes = 8 << 20

// Definition describes the engine.
func Definition() engines.Definition {
	return engines.Definition{
		Name: "webhook",
		Doc:  "Asks an HTTP server, with the request in the body of a POST.",
		New: func(config engines.Config) (engines.Engine, error) {
			return &engine{client: newClient(), userAgent: config.UserAgent}, nil
		},
	}
}

// engine holds what all webhooks share: one pool of connections.
type engine struct {
	client    *http.Client
	userAgent string
}

// Compile checks the endpoint. It does not call it: a server that is down now may be up for the first call.
func (e *engine) Compile(_ context.Context, src engines.Source) (engines.Program, error) {
	if src.Endpoint == nil {
		return nil, invalid("the webhook engine calls endpoints, and this source is a script")
	}
	target, err := url.Parse(src.Endpoint.URL)
	if err != nil {
		return nil, invalid(err.Error())
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return nil, invalid(fmt.Sprintf("the URL %q must be complete and start with http:// or https://", target.Redacted()))
	}
	limit := src.Endpoint.MaxResponseBytes
	if limit <= 0 {
		limit = defaultMaxResponseBytes
	}
	return &program{engine: e, url: target.String(), limit: limit}, nil
}

func invalid(message string) *engines.Error {
	return &engines.Error{Kind: engines.Invalid, Message: message}
}
