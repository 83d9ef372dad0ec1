package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

const (
	// minIdleConnections is how many connections to one server are kept at least: Go's
	// default of two makes other workers dial for each call.
	minIdleConnections = 32
	// maxRedirects is more than servers need.
	maxRedirects = 5
	// pingAfter is how long an HTTP/2 connection may be silent before a ping is sent,
	// and pingTimeout how long the answer may take.
	pingAfter, pingTimeout = 15 * time.Second, 5 * time.Second
)

// NewClient returns a client for other requests to servers that definitions name: by the same proxies, and without being sent elsewhere.
func NewClient() *http.Client { return newClient(nil, 1) }

// newClient makes a client that keeps up to that many connections to a server.
// It has no timeout: the deadline is the caller's. Proxies are as the process has
// them; HTTP/2 is used where the server offers it.
func newClient(config *tls.Config, connections int) *http.Client {
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		IdleConnTimeout:   90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = standard.Clone()
	}
	transport.Proxy = hidingProxy(http.ProxyFromEnvironment)
	if config != nil {
		transport.TLSClientConfig = config.Clone()
	}
	transport.MaxIdleConnsPerHost = max(connections, minIdleConnections)
	transport.MaxIdleConns = 0
	transport.WriteBufferSize, transport.ReadBufferSize = 64<<10, 64<<10
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
}

// hidingProxy returns find with errors that do not quote the proxy's address, which may hold a password.
func hidingProxy(find func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(request *http.Request) (*url.URL, error) {
		proxy, err := find(request)
		if err != nil {
			return nil, errors.New("the host's environment has an address of a proxy that is no URL: see HTTP_PROXY and HTTPS_PROXY")
		}
		return proxy, nil
	}
}

// checkRedirect refuses redirects to other hosts: a request holds objects of the cluster
// and credentials.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme:
		return fmt.Errorf("redirected to another server, %s://%s: name it in the definition if that is meant", next.URL.Scheme, next.URL.Host)
	case next.Method != first.Method:
		return errors.New("redirected in a way that would drop the request: answer 307 or 308 instead")
	default:
		return nil
	}
}
