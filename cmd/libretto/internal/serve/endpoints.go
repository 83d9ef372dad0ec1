package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// probes serves liveness and readiness. A process that waits to become the leader is ready.
type probes struct {
	check, folder atomic.Pointer[func() error]
	waits         atomic.Pointer[func() string]
}

// setCheck sets the readiness check of the leader.
func (p *probes) setCheck(check func() error) { p.check.Store(&check) }

// setFolderCheck sets the readiness check of each process with a folder.
func (p *probes) setFolderCheck(check func() error) { p.folder.Store(&check) }

// setWaits sets what says why a process that is ready waits, or "".
func (p *probes) setWaits(waits func() string) { p.waits.Store(&waits) }

func (p *probes) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		for _, check := range []*func() error{p.folder.Load(), p.check.Load()} {
			if check == nil {
				continue
			}
			if err := (*check)(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "ok")
		if waits := p.waits.Load(); waits != nil && (*waits)() != "" {
			fmt.Fprintln(w, "waiting:", (*waits)())
		}
	})
	return mux
}

// endpoints are the HTTP servers of the process.
type endpoints struct{ running sync.WaitGroup }

func (e *endpoints) wait() { e.running.Wait() }

// listen serves metrics, profiles and probes until ctx ends.
func listen(ctx context.Context, log logr.Logger, on addresses, metrics http.Handler, p *probes) (*endpoints, error) {
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	e := &endpoints{}
	if err := e.start(ctx, log, "metrics", on.metrics, mux); err != nil {
		return nil, err
	}
	if err := e.start(ctx, log, "profiling", on.profiling, profiling()); err != nil {
		return nil, err
	}
	return e, e.start(ctx, log, "probes", on.probes, p.handler())
}

func profiling() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

func (e *endpoints) start(ctx context.Context, log logr.Logger, name, address string, handler http.Handler) error {
	if address == "0" || address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s on %s: %w", name, address, err)
	}
	log.Info("listening", "for", name, "address", listener.Addr().String())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	e.running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error(err, "server failed", "for", name)
		}
	})
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return nil
}
