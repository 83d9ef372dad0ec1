package delayproxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// backend is an API server that counts what it gets, answers with an object, and has a watch that tells nothing.
type backend struct {
	*Proxy
	config *rest.Config
	served atomic.Int64

	mu  sync.Mutex
	ids []string
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.served.Add(1)
		b.mu.Lock()
		b.ids = append(b.ids, r.Header.Get("Audit-ID"))
		b.mu.Unlock()
		if r.URL.Query().Get("watch") != "" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind": "Node", "apiVersion": "v1"}`)
	}))
	t.Cleanup(server.Close)
	proxy, err := Start(&rest.Config{Host: server.URL}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Stop() })
	b.Proxy = proxy
	if b.config, err = clientcmd.BuildConfigFromFlags("", proxy.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	return b
}

// send sends a request as client-go does, which tries nothing again here.
func (b *backend) send(ctx context.Context, t *testing.T, verb string) error {
	t.Helper()
	config := rest.CopyConfig(b.config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Verb(verb).AbsPath("/api/v1/nodes/a").MaxRetries(0).Do(ctx).Error()
}

func TestFaults(t *testing.T) {
	b := newBackend(t)
	for name, c := range map[string]struct {
		fault Fault
		is    func(error) bool
		acts  bool // whether the API server gets the request
	}{
		"gone":        {Fault{Status: 410}, apierrors.IsResourceExpired, false},
		"too many":    {Fault{Status: 429}, apierrors.IsTooManyRequests, false},
		"failed":      {Fault{Status: 500}, apierrors.IsInternalError, false},
		"conflict":    {Fault{Status: 409}, apierrors.IsConflict, false},
		"forbidden":   {Fault{Status: 403}, apierrors.IsForbidden, false},
		"unavailable": {Fault{Status: 503}, apierrors.IsServiceUnavailable, false},
		"unreachable": {Fault{Unreachable: true}, isCut, false},
		"lost":        {Fault{Lost: true}, isCut, true},
		"nothing":     {Fault{}, func(err error) bool { return err == nil }, true},
		"other verb":  {Fault{Verbs: []string{"delete"}, Status: 500}, func(err error) bool { return err == nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b.SetFaults(1, c.fault)
			before := b.served.Load()
			if err := b.send(t.Context(), t, "PATCH"); !c.is(err) {
				t.Errorf("the client gets %v", err)
			}
			if acted := b.served.Load() > before; acted != c.acts {
				t.Errorf("the API server got the request: %v, want %v", acted, c.acts)
			}
		})
	}
}

func isCut(err error) bool { return errors.Is(err, io.EOF) }

// TestSkip lets some requests pass, hits some, and lets all others pass.
func TestSkip(t *testing.T) {
	b := newBackend(t)
	b.SetFaults(1, Fault{Skip: 2, Times: 1, Status: 409})
	var got []bool
	for range 5 {
		got = append(got, b.send(t.Context(), t, "PATCH") == nil)
	}
	if want := []bool{true, true, false, true, true}; !slices.Equal(got, want) {
		t.Errorf("requests are done: %v, want %v", got, want)
	}
	if b.Hits() != 1 {
		t.Errorf("it has hit %d requests, want 1", b.Hits())
	}
}

// TestChance hits the same requests with the same seed.
func TestChance(t *testing.T) {
	b := newBackend(t)
	run := func(seed uint64) []bool {
		b.SetFaults(seed, Fault{Chance: 0.5, Status: 409})
		var done []bool
		for range 40 {
			done = append(done, b.send(t.Context(), t, "PATCH") == nil)
		}
		if hits := b.Hits(); hits < 8 || hits > 32 {
			t.Errorf("seed %d has hit %d of 40, want about a half", seed, hits)
		}
		return done
	}
	if one, again, other := run(1), run(1), run(2); !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("seed 1 gives %v and %v, and seed 2 %v", one, again, other)
	}
}

// TestHit calls a function, and holds the request until its client is gone.
func TestHit(t *testing.T) {
	for name, lost := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t)
			ctx, cancel := context.WithCancel(t.Context())
			b.SetFaults(1, Fault{Lost: lost, Hit: cancel})
			if err := b.send(ctx, t, "PATCH"); !errors.Is(err, context.Canceled) {
				t.Errorf("the client gets %v, and was to be ended", err)
			}
			if acted := b.served.Load() == 1; acted != lost {
				t.Errorf("the API server got the request: %v, want %v", acted, lost)
			}
		})
	}
}

// TestCutWatches ends what is open, and nothing that comes later.
func TestCutWatches(t *testing.T) {
	b := newBackend(t)
	b.Name("one")
	open := func() io.ReadCloser {
		response, err := http.Get(b.config.Host + "/api/v1/nodes?watch=true")
		if err != nil {
			t.Fatal(err)
		}
		return response.Body
	}
	first := open()
	defer first.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(first)
		ended <- err
	}()
	if n := b.CutWatches(); n != 1 {
		t.Errorf("%d watches are cut, want 1", n)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the watch ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the watch goes on")
	}
	second := open()
	defer second.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ids) != 2 || !strings.HasPrefix(b.ids[0], "one-") || b.ids[0] == b.ids[1] {
		t.Errorf("the IDs of requests are %q, want different ones that begin with the name", b.ids)
	}
}
