package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

// secure serves {} over TLS, and returns the certificates that a client has to trust.
func secure(t *testing.T, edit func(*httptest.Server), handler http.HandlerFunc) (*httptest.Server, *tls.Config) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = discard
	edit(server)
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server, &tls.Config{RootCAs: roots}
}

func unchanged(*httptest.Server) {}

func TestAccess(t *testing.T) {
	server, trusting := secure(t, unchanged, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `%q`, r.Proto)
	})
	wrongName := trusting.Clone()
	wrongName.ServerName = "other.test"
	cases := map[string]struct {
		reason  string
		url     string
		access  engines.Access
		err     error
		message string
	}{
		"right":           {reason: "HTTP/2 where the server offers it", access: engines.Access{TLS: trusting, Authorization: "Bearer right"}},
		"wrong token":     {reason: "the message says where tokens come from", access: engines.Access{TLS: trusting, Authorization: "Bearer wrong"}, message: "401 Unauthorized: who are you?: see authorization"},
		"no token":        {reason: "nothing is sent that is not given", access: engines.Access{TLS: trusting}, message: "401"},
		"no authority":    {reason: "the system does not know the server's", access: engines.Access{Authorization: "Bearer right"}, message: "in caBundle"},
		"other name":      {reason: "the certificate is somebody else's", access: engines.Access{TLS: wrongName}, message: "a name that its certificate has"},
		"no access":       {reason: "what keeps the credentials says why", err: &engines.Error{Message: "Secret a/b is not there"}, message: "Secret a/b is not there"},
		"HTTP by mistake": {reason: "the port speaks TLS", url: strings.Replace(server.URL, "https", "http", 1), message: "HTTP request to an HTTPS server"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			url := server.URL
			if c.url != "" {
				url = c.url
			}
			program := compile(t, engines.Source{Endpoint: &engines.Endpoint{URL: url, Access: func() (*engines.Access, error) { return &c.access, c.err }}})
			got, failure := call(t, program, engines.Call{})
			compareFailure(t, failure, engines.Failed, c.message, 0)
			if c.message == "" && got != "HTTP/2.0" {
				t.Errorf("answer %v, want the protocol HTTP/2.0", got)
			}
		})
	}
}

func TestClientCertificate(t *testing.T) {
	server, trusting := secure(t, func(s *httptest.Server) { s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert} },
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.TLS.PeerCertificates)) })
	shown := trusting.Clone()
	shown.Certificates = server.TLS.Certificates
	access := &engines.Access{TLS: trusting}
	program := compile(t, engines.Source{Endpoint: &engines.Endpoint{URL: server.URL, Access: func() (*engines.Access, error) { return access, nil }}})
	_, failure := call(t, program, engines.Call{})
	compareFailure(t, failure, engines.Failed, "the right one in clientTLS", 0)
	access = &engines.Access{TLS: shown}
	if got, failure := call(t, program, engines.Call{}); failure != nil || got != int64(1) {
		t.Errorf("with a certificate: answer %v, error %v", got, failure)
	}
}

func TestHTTPSCallOfAnHTTPServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, failure := askURL(t, strings.Replace(server.URL, "http", "https", 1))
	compareFailure(t, failure, engines.Failed, "write http:// in url", 0)
}

// Calls go on while token and certificates are replaced, and the server takes
// the old ones no longer once the new ones are there: none may fail.
func TestRotationFailsNoCall(t *testing.T) {
	const workers, rotations, calls = 8, 20, 150
	var valid atomic.Int64
	server, trusting := secure(t, unchanged, func(w http.ResponseWriter, r *http.Request) {
		var sent int64
		if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer %d", &sent); err != nil || sent < valid.Load() {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, "{}")
	})
	var current atomic.Pointer[engines.Access]
	var rotating sync.Mutex
	rotate := func(n int64) {
		rotating.Lock()
		defer rotating.Unlock()
		if n < valid.Load() {
			return
		}
		current.Store(&engines.Access{TLS: trusting.Clone(), Authorization: fmt.Sprint("Bearer ", n)})
		valid.Store(n)
	}
	rotate(0)
	program := compile(t, engines.Source{Endpoint: &engines.Endpoint{URL: server.URL, Access: func() (*engines.Access, error) { return current.Load(), nil }}})
	var done atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range calls {
				if _, err := program.Run(t.Context(), engines.Call{}); err != nil {
					t.Errorf("a call failed: %v", err)
				}
				if n := done.Add(1); n%(workers*calls/rotations) == 0 {
					rotate(n)
				}
			}
		})
	}
	group.Wait()
}

func TestURLsAreToldWithoutSecrets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	url := strings.Replace(server.URL, "//", "//user:hidden@", 1) + "/sync?token=hidden"
	for name, stop := range map[string]func(){"answered": func() {}, "unreachable": server.Close} {
		stop()
		program := compile(t, endpoint(url))
		response, err := program.Run(t.Context(), engines.Call{})
		var failure *engines.Error
		if !errors.As(err, &failure) {
			t.Fatal(err)
		}
		wrapped := failure.Detail() + fmt.Sprint(response.Logs)
		if strings.Contains(wrapped, "hidden") || !strings.Contains(wrapped, server.URL+"/sync") {
			t.Errorf("%s: it must name the place and no secret: %s", name, wrapped)
		}
	}
}
