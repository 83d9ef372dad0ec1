package rolling

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/libretto-k8s/libretto/test/env"
)

// gate stands between libretto and the API server. Once it is armed it lets so many writes through, keeps back the
// answer to the last of them, and all writes after it.
type gate struct {
	// path is that of a kubeconfig that leads through the gate.
	path string

	mu              sync.Mutex
	armed, answered bool
	left            int
}

func newGate(t *testing.T, config *rest.Config) *gate {
	t.Helper()
	target, err := url.Parse(config.Host)
	env.NoError(t, err)
	transport, err := rest.TransportFor(config) // A client sends no token where there is no TLS: the gate does.
	env.NoError(t, err)
	g := &gate{}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: g.answer,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed, last := !counted(r), false
		if !allowed {
			allowed, last = g.enter()
		}
		if !allowed {
			hold(r)
			return
		}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), lastWrite{}, last)))
	}))
	// Watches would keep Close waiting.
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	g.path = writeKubeconfig(t, server.URL)
	return g
}

// hold waits until the client is gone, which shows once the request has been read to its end.
func hold(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// counted reports whether a request is a write of a rollout: of no event, definition, review of access, or record of finalizers.
func counted(r *http.Request) bool {
	return r.Method != http.MethodGet && !slices.ContainsFunc(
		[]string{"/events", "/compositecontrollers/", "/selfsubjectaccessreviews", "/configmaps"},
		func(part string) bool { return strings.Contains(r.URL.Path, part) })
}

// lastWrite is the key of the last write in a request's context.
type lastWrite struct{}

// answer holds the answer to the last write until the client is gone.
func (g *gate) answer(r *http.Response) error {
	if r.Request.Context().Value(lastWrite{}) == true {
		g.mu.Lock()
		g.answered = true
		g.mu.Unlock()
		<-r.Request.Context().Done()
		return context.Cause(r.Request.Context())
	}
	return nil
}

// enter counts a write. It reports whether the write may pass, and whether it is the last that may.
func (g *gate) enter() (allowed, last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.armed {
		return true, false
	}
	g.left--
	return g.left >= 0, g.left == 0
}

// shut reports whether the API server has done the last write.
func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answered
}

func (g *gate) arm(writes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed, g.answered, g.left = true, false, writes
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed, g.answered = false, false
}

func writeKubeconfig(t *testing.T, address string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["gate"] = &clientcmdapi.Cluster{Server: address}
	config.Contexts["gate"] = &clientcmdapi.Context{Cluster: "gate"}
	config.CurrentContext = "gate"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	env.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}
