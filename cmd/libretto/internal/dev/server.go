package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/scripts/directory"
)

// maxSent is how long a body may be that the page sends.
const maxSent = directory.MaxBytes

// server serves the page and its API.
type server struct {
	meta     metaMessage
	root     string
	stream   *stream
	recorder *recorder
	tests    *tests
	// kubernetes serves the Kubernetes API.
	kubernetes http.Handler
	// setReady has an object become ready, or not, or, with nil, as others do. It is nil for a cluster that is not this command's.
	setReady func(object reference, ready *bool)
	page     http.Handler
}

// metaMessage is what the page is told of the command.
type metaMessage struct {
	Live    bool   `json:"live"`
	Edit    bool   `json:"edit"`
	Folder  string `json:"folder"`
	Version string `json:"version"`
}

// handler returns all that is served.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/api", "/api/", "/apis", "/apis/", "/openapi/", "/version"} {
		mux.Handle(path, s.kubernetes)
	}
	mux.Handle("GET /dev/v1/stream", s.stream)
	mux.HandleFunc("GET /dev/v1/meta", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.meta, nil) })
	mux.HandleFunc("GET /dev/v1/passes/{id}", s.getPass)
	if !s.meta.Live {
		mux.HandleFunc("POST /dev/v1/ready", s.postReady)
	}
	if s.meta.Edit {
		mux.HandleFunc("PUT /dev/v1/files/{path...}", s.putFile)
	}
	mux.HandleFunc("POST /dev/v1/tests", func(w http.ResponseWriter, _ *http.Request) {
		s.tests.start()
		answer(w, struct{}{}, nil)
	})
	mux.HandleFunc("POST /dev/v1/explore", s.postExplore)
	mux.Handle("/dev/", http.NotFoundHandler()) // Also what this command does not allow.
	mux.Handle("/", s.page)
	return fromHere(mux)
}

// fromHere refuses requests that a page of another site may have sent: by its own address, or by a name that it has given this address to.
func fromHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if !isLocal(r.Host) || origin != "" && origin != "http://"+r.Host {
			http.Error(w, "libretto dev answers its own page and programs on this machine alone: open it as localhost", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a host with or without a port is this machine.
func isLocal(host string) bool {
	name := host
	if without, _, err := net.SplitHostPort(host); err == nil {
		name = without
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, strings.Trim(name, "[]"))
}

// answer answers a request, with an error if there is one.
func answer(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		var refused *refusedError
		code := http.StatusInternalServerError
		if errors.As(err, &refused) {
			code = refused.code
		}
		w.WriteHeader(code)
		value = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(value) // Who asked may be gone.
}

// refusedError is an error with a code of HTTP.
type refusedError struct {
	code    int
	message string
}

func (e *refusedError) Error() string { return e.message }

// read reads the body of a request.
func read(r *http.Request, into any) error {
	if err := json.NewDecoder(io.LimitReader(r.Body, maxSent)).Decode(into); err != nil {
		return &refusedError{http.StatusBadRequest, "the body: " + err.Error()}
	}
	return nil
}

func (s *server) getPass(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	p := s.recorder.pass(id)
	if p == nil {
		answer(w, nil, &refusedError{http.StatusNotFound, fmt.Sprintf("pass %s is not kept: the last %d are", r.PathValue("id"), maxPasses)})
		return
	}
	answer(w, p, nil)
}

func (s *server) postReady(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		reference
		Ready *bool `json:"ready"`
	}
	err := read(r, &asked)
	if err == nil {
		s.setReady(asked.reference, asked.Ready)
	}
	answer(w, struct{}{}, err)
}

// putFile writes a file of the folder, through no link that leads out of it.
func (s *server) putFile(w http.ResponseWriter, r *http.Request) {
	name := filepath.FromSlash(r.PathValue("path"))
	err := func() error {
		if !filepath.IsLocal(name) || slices.ContainsFunc(strings.Split(r.PathValue("path"), "/"), directory.IsIgnored) {
			return &refusedError{http.StatusBadRequest, r.PathValue("path") + ": must be a file in the folder that is not hidden"}
		}
		text, err := io.ReadAll(io.LimitReader(r.Body, maxSent+1))
		if err != nil || len(text) > maxSent {
			return errors.Join(err, &refusedError{http.StatusRequestEntityTooLarge, "the file is too large"})
		}
		root, err := os.OpenRoot(s.root)
		if err != nil {
			return err
		}
		defer root.Close()
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return root.WriteFile(name, text, 0o644)
	}()
	answer(w, struct{}{}, err)
}

func (s *server) postExplore(w http.ResponseWriter, r *http.Request) {
	var asked struct{ File, Case string }
	if err := read(r, &asked); err != nil {
		answer(w, nil, err)
		return
	}
	steps, failure, err := s.tests.explore(r.Context(), asked.File, asked.Case)
	answer(w, map[string]any{"steps": steps, "failure": failure}, err)
}

// readable are the requests that are passed on to a cluster that is not this command's: for events, and for archived scripts. The page has
// all else from the stream.
var readable = regexp.MustCompile(`^/api/v1/(namespaces/[\w.-]+/)?events(\?.*)?$|^/version$|` +
	`^/apis/apps/v1/controllerrevisions\?labelSelector=metacontroller\.k8s\.io%2Fscripts-of%3D[\w-]+$`)

// readOnly passes on to a cluster what is readable.
func readOnly(config *rest.Config) (http.Handler, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path})
		r.Out.Header = http.Header{"Accept": r.In.Header["Accept"]}
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !readable.MatchString(r.URL.RequestURI()) {
			answer(w, nil, &refusedError{http.StatusForbidden, "libretto dev --kubeconfig shows a cluster, and writes nothing"})
			return
		}
		proxy.ServeHTTP(w, r)
	}), nil
}

// listen listens on this machine, on a port or the next one that is free.
func listen(ctx context.Context, port int) (net.Listener, error) {
	const tries = 100
	var config net.ListenConfig
	for next := port; ; next++ {
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(next)))
		if err == nil || next == port+tries || next >= 1<<16-1 || !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
	}
}
