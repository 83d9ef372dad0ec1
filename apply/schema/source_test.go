package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

var errBoom = errors.New("boom")

// server is an API server whose documents change. A document has one kind, of its
// group's name, and one field, of its hash's.
type server struct {
	mu    sync.Mutex
	hash  map[string]string // by path below /openapi/v3/
	fails map[string]error  // by path
	asked []string
}

func (s *server) Fetch(_ context.Context, path string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, path)
	bare, _, _ := strings.Cut(path, "?")
	if err := s.fails[bare]; err != nil {
		return nil, err
	}
	if path == "/openapi/v3" {
		return s.index(), nil
	}
	part := strings.Split(bare, "/")
	return fmt.Appendf(nil, `{"components": {"schemas": {"a.Thing": {"type": "object", "properties": {"metadata": {}, %q: {}},
		"x-kubernetes-group-version-kind": [{"group": %q, "version": %q, "kind": "Thing"}]}}}}`,
		s.hash[strings.TrimPrefix(bare, "/openapi/v3/")], part[len(part)-2], part[len(part)-1]), nil
}

func (s *server) index() []byte {
	var paths []string
	for path, hash := range s.hash {
		paths = append(paths, fmt.Sprintf(`%q: {"serverRelativeURL": "/openapi/v3/%s?hash=%s"}`, path, path, hash))
	}
	return []byte(`{"paths": {` + strings.Join(paths, ", ") + `}}`)
}

// look returns what was asked since the last look.
func (s *server) look() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

const anIndex = "/openapi/v3"

func thing(group string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}
}

func newSource(hash map[string]string) (*Source, *server, *testclock.FakeClock) {
	s := &server{hash: hash, fails: map[string]error{}}
	clock := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return New(Config{API: s, Interval: time.Hour, Timeout: time.Second, Clock: clock, Log: logr.Discard()}), s, clock
}

// moment is what happens, what schema there is then, and what was asked for it.
type moment struct {
	what  string
	do    func(s *Source, api *server, clock *testclock.FakeClock)
	group string // "a" if empty
	want  string // the field of the schema, or "none"
	asked []string
}

func pass(d time.Duration) func(*Source, *server, *testclock.FakeClock) {
	return func(_ *Source, _ *server, clock *testclock.FakeClock) { clock.SetTime(clock.Now().Add(d)) }
}

func TestSource(t *testing.T) {
	cases := map[string]struct {
		reason  string
		moments []moment
	}{
		"Lazy": {
			reason: "what is needed is fetched once, and nothing else is",
			moments: []moment{
				{what: "first", want: "1", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=1"}},
				{what: "again", want: "1"},
				{what: "another group", group: "b", want: "7", asked: []string{"/openapi/v3/apis/b/v1?hash=7"}},
				{what: "a group that is not there", group: "c", want: "none"},
			},
		},
		"Interval": {
			reason: "after a while the index is looked at, and the document only if it is another",
			moments: []moment{
				{what: "first", want: "1", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=1"}},
				{what: "soon", do: pass(59 * time.Minute), want: "1"},
				{what: "later", do: pass(time.Minute), want: "1", asked: []string{anIndex}},
				{what: "changed", do: func(s *Source, api *server, clock *testclock.FakeClock) {
					api.hash["apis/a/v1"] = "2"
					pass(time.Hour)(s, api, clock)
				}, want: "2", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=2"}},
			},
		},
		"Changed": {
			reason: "after a change the index is looked at more than once, as the API server is slow to tell",
			moments: []moment{
				{what: "first", want: "1", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=1"}},
				{what: "changed", do: func(s *Source, _ *server, _ *testclock.FakeClock) { s.Changed() }, want: "1", asked: []string{anIndex}},
				{what: "at once", want: "1"},
				{what: "a second later", do: func(s *Source, api *server, clock *testclock.FakeClock) {
					api.hash["apis/a/v1"] = "2"
					pass(time.Second)(s, api, clock)
				}, want: "2", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=2"}},
				{what: "much later", do: pass(30 * time.Minute), want: "2", asked: []string{anIndex}},
				{what: "no more", do: pass(59 * time.Minute), want: "2"},
			},
		},
		"IndexFails": {
			reason: "a failure is no reason to ask all the time, and passes",
			moments: []moment{
				{what: "fails", do: fail(anIndex, errBoom), want: "none", asked: []string{anIndex}},
				{what: "at once", want: "none"},
				{what: "still fails", do: pass(5 * time.Second), want: "none", asked: []string{anIndex}},
				{what: "waits longer", do: pass(5 * time.Second), want: "none"},
				{what: "works", do: func(s *Source, api *server, clock *testclock.FakeClock) {
					fail(anIndex, nil)(s, api, clock)
					pass(5*time.Second)(s, api, clock)
				}, want: "1", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=1"}},
			},
		},
		"DocumentFails": {
			reason: "one document that fails is no matter of the others, and an older one is better than none",
			moments: []moment{
				{what: "fails", do: fail("/openapi/v3/apis/a/v1", errBoom), want: "none", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=1"}},
				{what: "another group", group: "b", want: "7", asked: []string{"/openapi/v3/apis/b/v1?hash=7"}},
				{what: "at once", want: "none"},
				{what: "works", do: func(s *Source, api *server, clock *testclock.FakeClock) {
					fail("/openapi/v3/apis/a/v1", nil)(s, api, clock)
					pass(5*time.Second)(s, api, clock)
				}, want: "1", asked: []string{"/openapi/v3/apis/a/v1?hash=1"}},
				{what: "changed and fails", do: func(s *Source, api *server, clock *testclock.FakeClock) {
					api.hash["apis/a/v1"] = "2"
					fail("/openapi/v3/apis/a/v1", errBoom)(s, api, clock)
					s.Changed()
				}, want: "1", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=2"}},
				{what: "the old one stays", want: "1"},
			},
		},
		"Gone": {
			reason: "a group that is gone has no schemas",
			moments: []moment{
				{what: "first", want: "1", asked: []string{anIndex, "/openapi/v3/apis/a/v1?hash=1"}},
				{what: "gone", do: func(s *Source, api *server, _ *testclock.FakeClock) {
					delete(api.hash, "apis/a/v1")
					s.Changed()
				}, want: "none", asked: []string{anIndex}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, api, clock := newSource(map[string]string{"apis/a/v1": "1", "apis/b/v1": "7", "api": "0", "apis/a": "0"})
			for _, m := range tc.moments {
				if m.do != nil {
					m.do(s, api, clock)
				}
				if m.group == "" {
					m.group = "a"
				}
				if got := fieldOf(s.For(t.Context(), thing(m.group))); got != m.want {
					t.Errorf("%s: %s: the schema is %s, want %s", tc.reason, m.what, got, m.want)
				}
				if diff := cmp.Diff(m.asked, api.look()); diff != "" {
					t.Errorf("%s: %s: asked (-want, +got):\n%s", tc.reason, m.what, diff)
				}
			}
		})
	}
}

func fail(path string, err error) func(*Source, *server, *testclock.FakeClock) {
	return func(_ *Source, api *server, _ *testclock.FakeClock) { api.fails[path] = err }
}

// fieldOf returns the field that identifies the documents of a server.
func fieldOf(kind *Kind) string {
	if kind == nil {
		return "none"
	}
	for name := range kind.Root.Fields {
		if name != "metadata" {
			return name
		}
	}
	return ""
}

func TestSourceKeepsItsPointers(t *testing.T) {
	s, api, _ := newSource(map[string]string{"apis/a/v1": "1"})
	first := s.For(t.Context(), thing("a"))
	s.Changed()
	if s.For(t.Context(), thing("a")) != first {
		t.Error("a document that has not changed is another")
	}
	api.hash["apis/a/v1"] = "2"
	s.Changed()
	if s.For(t.Context(), thing("a")) == first {
		t.Error("a document that has changed is the same")
	}
}

func TestSourceOfNobody(t *testing.T) {
	var none *Source
	if none.For(t.Context(), thing("a")) != nil {
		t.Error("no source has a schema")
	}
}

func TestSourceIsForMany(t *testing.T) {
	s, api, _ := newSource(map[string]string{"apis/a/v1": "1", "apis/b/v1": "1"})
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			for range 100 {
				if s.For(t.Context(), thing(string(rune('a'+n%2)))) == nil {
					t.Error("no schema")
				}
			}
		})
	}
	all.Wait()
	if asked := api.look(); len(asked) != 3 {
		t.Errorf("asked %q, want the index and two documents, each once", asked)
	}
}
