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

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

// server serves the page and its API.
type server struct {
	meta     metaMessage
	root     string
	stream   *stream
	recorder *recorder
	tests    *tests
	objects  *objects
	// kubernetes serves the Kubernetes API.
	kubernetes http.Handler
	page       http.Handler
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
	mux.HandleFunc("GET /dev/v1/meta", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.meta) })
	mux.HandleFunc("GET /dev/v1/passes/{id}", s.getPass)
	if !s.meta.Live {
		mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{name}/log", s.getLog)
		mux.HandleFunc("POST /dev/v1/ready", s.postReady)
	}
	if s.meta.Edit {
		mux.HandleFunc("PUT /dev/v1/files/{path...}", s.putFile)
	}
	mux.HandleFunc("POST /dev/v1/tests", func(w http.ResponseWriter, _ *http.Request) {
		s.tests.start()
		conclude(w, 0, nil)
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
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, (&url.URL{Host: host}).Hostname())
}

// answer answers a request.
func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // Who asked may be gone.
}

// conclude answers a request that is done if there is no error.
func conclude(w http.ResponseWriter, code int, err error) {
	if err == nil {
		answer(w, http.StatusOK, struct{}{})
		return
	}
	answer(w, code, map[string]string{"error": err.Error()})
}

func (s *server) getPass(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if p := s.recorder.pass(id); p != nil {
		answer(w, http.StatusOK, p)
		return
	}
	conclude(w, http.StatusNotFound, fmt.Errorf("pass %s is not kept: the last %d are", r.PathValue("id"), maxPasses))
}

func (s *server) postReady(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		reference
		Ready *bool `json:"ready"`
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	if err == nil {
		kind := schema.FromAPIVersionAndKind(asked.APIVersion, asked.Kind)
		s.objects.setReady(objectkey.Key{Kind: kind, Namespace: asked.Namespace, Name: asked.Name}, asked.Ready)
	}
	conclude(w, http.StatusBadRequest, err)
}

// putFile writes a file of the folder.
func (s *server) putFile(w http.ResponseWriter, r *http.Request) {
	given := r.PathValue("path")
	name := filepath.FromSlash(given)
	if !filepath.IsLocal(name) || slices.ContainsFunc(strings.Split(given, "/"), directory.IsIgnored) {
		conclude(w, http.StatusBadRequest, fmt.Errorf("%s: must be a file in the folder that is not hidden", given))
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, directory.MaxBytes))
	if err == nil {
		err = s.write(name, text)
	}
	conclude(w, http.StatusInternalServerError, err)
}

// write writes a file, through no link that leads out of the folder.
func (s *server) write(name string, text []byte) error {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return err
	}
	defer root.Close()
	return errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.WriteFile(name, text, 0o644))
}

func (s *server) postExplore(w http.ResponseWriter, r *http.Request) {
	var asked struct{ File, Case string }
	err := json.NewDecoder(r.Body).Decode(&asked)
	if err == nil {
		var steps []exploreStep
		var failure string
		if steps, failure, err = s.tests.explore(r.Context(), asked.File, asked.Case); err == nil {
			answer(w, http.StatusOK, map[string]any{"steps": steps, "failure": failure})
			return
		}
	}
	conclude(w, http.StatusBadRequest, err)
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
			conclude(w, http.StatusForbidden, errors.New("libretto dev --kubeconfig shows a cluster, and writes nothing"))
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
