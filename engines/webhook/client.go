package webhook

import (
	"errors"
	"fmt"
	"net/http"
)

const (
	// idlePerHost lets as many workers as one definition is likely to have keep
	// their connections: Go's default of two makes the others dial for each call.
	idlePerHost = 32
	// maxRedirects is more than any sane server needs.
	maxRedirects = 5
)

// newClient makes the client of all webhooks. It has no timeout: the deadline is
// the caller's. Proxies and HTTP/2 are as the process has them by default.
func newClient() *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = standard.Clone()
	}
	transport.MaxIdleConnsPerHost = idlePerHost
	transport.MaxIdleConns = 0
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
}

// checkRedirect follows a server around its own house only: a request holds
// objects of the cluster, which are not for others.
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
