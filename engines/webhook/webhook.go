// Package webhook is the engine for hooks that are answered over HTTP, as
// metacontroller calls them (section 2 of its specification).
//
// Beyond a pool of connections it keeps two things that do not
// change what calls return: the JSON of objects that are sent again and again, and,
// for endpoints that ask for it, answers by their ETag.
package webhook

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

const (
	engineName = "webhook"
	// defaultMaxResponseBytes bounds a response if its endpoint does not.
	defaultMaxResponseBytes = 8 << 20
	// jsonCacheBytes bounds the JSON that is kept of objects, for all endpoints together.
	jsonCacheBytes = 64 << 20
	// etagCacheBytes bounds the answers that are remembered by their ETag if the caller has no cache for them.
	etagCacheBytes = 32 << 20
)

// Definition describes the engine.
func Definition() engines.Definition {
	return engines.Definition{
		Name: engineName,
		Doc:  "Asks an HTTP server, with the request in the body of a POST.",
		New: func(config engines.Config) (engines.Engine, error) {
			e := &engine{
				userAgent: config.UserAgent, connections: config.Calls, jsonCache: newJSONCache(jsonCacheBytes), answers: config.Answers,
				decodings: newDecodings(),
			}
			if e.answers == nil {
				e.answers = lru.New(etagCacheBytes)
			}
			e.client = newClient(nil, e.connections)
			return e, nil
		},
	}
}

// engine holds what all webhooks share.
type engine struct {
	// client is for endpoints without a TLS configuration of their own.
	client      *http.Client
	connections int
	userAgent   string
	jsonCache   *jsonCache
	answers     *lru.Cache
	decodings   decodings
}

// Compile checks the endpoint. It does not call it: a server that is down now may be up for the first call.
func (e *engine) Compile(_ context.Context, src engines.Source) (engines.Program, error) {
	if src.Endpoint == nil {
		return nil, engines.InvalidError(engines.Location{}, "the webhook engine calls endpoints, and this source is a script")
	}
	target, err := url.Parse(src.Endpoint.URL)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // Without the URL, which may hold a password.
		}
		return nil, engines.InvalidError(engines.Location{}, "the URL is not valid: %v", err)
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return nil, engines.InvalidError(engines.Location{}, "the URL %q must be complete and start with http:// or https://", displayURL(target))
	}
	p := &program{engine: e, url: target, displayURL: displayURL(target), endpoint: *src.Endpoint, limit: src.Endpoint.MaxResponseBytes}
	if p.limit <= 0 {
		p.limit = defaultMaxResponseBytes
	}
	if src.Endpoint.Etag != nil {
		p.etagCache = newEtagCache(*src.Endpoint.Etag, e.answers)
	}
	p.tlsClient.Store(&tlsClient{client: e.client})
	if transport := src.Endpoint.Transport; transport != nil {
		p.tlsClient.Store(&tlsClient{client: &http.Client{Transport: transport, CheckRedirect: checkRedirect}})
	}
	return p, nil
}

// displayURL returns a URL as messages and logs have it: without user, password and query,
// any of which may be a secret.
func displayURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
