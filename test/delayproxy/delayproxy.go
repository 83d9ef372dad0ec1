// Package delayproxy stands between a program and an API server, and makes what is fast on one machine as slow as a network, a busy API
// server or a lagging watch cache would: requests before the API server sees them, replies after it has acted, and the events of watches.
// Delays are set by verb and resource, and can be changed at any time. So are faults: requests that are refused or don't arrive, replies
// that are lost, and watches that are cut.
//
//	proxy, err := delayproxy.Start(config, t.TempDir())
//	...
//	proxy.Set(delayproxy.Watches(300*time.Millisecond), delayproxy.Rule{Verbs: []string{"patch"}, Reply: time.Second})
//	libretto := start("--kubeconfig", proxy.Kubeconfig)
//
// Whoever uses the proxy has the rights of the config that it was started with.
package delayproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Rule delays the requests that it matches. An empty field matches everything.
type Rule struct {
	// Verbs are those of the API server: get, list, watch, create, update, patch, delete, deletecollection.
	Verbs []string
	// Resources are plurals, and of a subresource "things/status".
	Resources []string
	// Group is the API group, where Resources alone would not do.
	Group string

	// Request is how long a request is held before the API server gets it. A client that gives up meanwhile has
	// changed nothing.
	Request time.Duration
	// Reply is how long an answer is held. A client that gives up meanwhile does not know that its write was done.
	Reply time.Duration
	// Events is how late each event of a watch comes, those with which it begins included. Their order is kept.
	Events time.Duration
}

// Watches is the rule that delays the events of all watches.
func Watches(by time.Duration) Rule { return Rule{Verbs: []string{"watch"}, Events: by} }

// Proxy is a running proxy.
type Proxy struct {
	// Kubeconfig is the path of a file that leads to the proxy.
	Kubeconfig string

	server *http.Server
	done   chan struct{}

	faults   faults
	name     atomic.Pointer[string]
	requests atomic.Int64

	mu      sync.RWMutex
	rules   []Rule
	streams map[*stream]bool // of the watches that are open
}

// Start starts a proxy to the API server of config, on a port of this machine, and writes a kubeconfig into dir. It has
// to be stopped.
func Start(config *rest.Config, dir string) (*Proxy, error) {
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("delay proxy: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("delay proxy: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("delay proxy: %w", err)
	}
	p := &Proxy{Kubeconfig: filepath.Join(dir, "delayed.kubeconfig"), done: make(chan struct{}), streams: map[*stream]bool{}}
	p.server = &http.Server{Handler: p.handler(target, transport), ReadHeaderTimeout: time.Minute}
	if err := writeKubeconfig(p.Kubeconfig, "http://"+listener.Addr().String()); err != nil {
		return nil, errors.Join(fmt.Errorf("delay proxy: %w", err), listener.Close())
	}
	go func() {
		defer close(p.done)
		_ = p.server.Serve(listener) // It always ends with an error, which Close is the reason of.
	}()
	return p, nil
}

// Set replaces all rules. The first one that matches a request counts. Replies and events that are on their way are
// delivered no earlier than was said when they came.
func (p *Proxy) Set(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
}

// Stop ends the proxy and all connections through it.
func (p *Proxy) Stop() error {
	err := p.server.Close()
	<-p.done
	return err
}

// ruleFor returns the rule that counts for a request at present, or an empty one.
func (p *Proxy) ruleFor(r request) Rule {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, rule := range p.rules {
		if rule.matches(r) {
			return rule
		}
	}
	return Rule{}
}

// handler forwards to target.
func (p *Proxy) handler(target *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     roundTripper(func(r *http.Request) (*http.Response, error) { return p.roundTrip(transport, r) }),
		FlushInterval: -1, // Events are not to wait for more of them.
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, errCut) || p.name.Load() != nil { // Nor does a client get an answer from an API server that is gone.
				panic(http.ErrAbortHandler)
			}
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
}

// errCut is why a client gets no answer.
var errCut = errors.New("the connection was cut")

// roundTrip delays one request, or has it go wrong.
func (p *Proxy) roundTrip(transport http.RoundTripper, r *http.Request) (*http.Response, error) {
	what := parse(r)
	if id := p.auditID(); id != "" {
		r.Header.Set("Audit-ID", id)
	}
	fault := p.faults.next(what)
	if response, err := fault.before(r, what); response != nil || err != nil {
		return response, err
	}
	if err := sleep(r.Context(), p.ruleFor(what).Request); err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response, err = fault.after(r, response); err != nil {
		return nil, err
	}
	if err := sleep(r.Context(), p.ruleFor(what).Reply); err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	if what.verb == "watch" {
		response.Body = p.watched(response.Body, func() time.Duration { return p.ruleFor(what).Events })
	}
	return response, nil
}

// watched returns the body of a watch, with its delays, which is cut when all are.
func (p *Proxy) watched(body io.ReadCloser, delay func() time.Duration) io.ReadCloser {
	s := delayed(body, delay)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams[s] = true
	s.ended = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.streams, s)
	}
	return s
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeKubeconfig writes a file that names a server and no credentials.
func writeKubeconfig(path, server string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["delayed"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["delayed"] = &clientcmdapi.Context{Cluster: "delayed"}
	config.CurrentContext = "delayed"
	return clientcmd.WriteToFile(*config, path)
}
