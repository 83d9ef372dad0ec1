package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/values/listeners"
)

// Config is what a Source is made of.
type Config struct {
	API Fetcher
	// Interval is how often the API server is asked whether a document has changed.
	// It is asked when a schema is needed then, and not otherwise.
	Interval time.Duration
	// Timeout is how long it may take to answer.
	Timeout time.Duration
	Clock   clock.Clock
	Log     logr.Logger
}

// After Changed, the API server takes a while to bring its documents up to date.
var lookAgain = []time.Duration{0, time.Second, 5 * time.Second, 30 * time.Second}

// retryFirst is how long nothing is asked after a failure. It doubles up to Config.Interval.
const retryFirst = 5 * time.Second

// Source returns schemas, and fetches them when they are first asked for. It is used by
// many goroutines at once.
type Source struct {
	config Config

	// fetching is held while talking to the API server.
	fetching sync.Mutex

	// changed wakes Run.
	changed chan struct{}

	mu        sync.RWMutex
	listeners listeners.List[func()]
	index     index
	documents map[schema.GroupVersion]*fetched
	given     map[schema.GroupVersionKind]given
	checks    []time.Time // when the index is to be asked for
	looks     []time.Time // when Run looks for what has changed
	retry     backoff     // of the index
}

// fetched is the result of fetching a document.
type fetched struct {
	url      string
	document *document // nil if there never was one
	retry    backoff
}

// backoff is how long to wait after a failure.
type backoff struct {
	until time.Time
	delay time.Duration
}

// New makes a Source that knows nothing yet.
func New(config Config) *Source {
	return &Source{
		config: config, changed: make(chan struct{}, 1),
		documents: map[schema.GroupVersion]*fetched{}, given: map[schema.GroupVersionKind]given{}, checks: []time.Time{{}},
	}
}

// For returns the schema of a kind, or nil if the API server has none or can't be asked
// now; then it is asked again later. The same schema is the same pointer. It fetches
// what is missing, which takes no longer than Config.Timeout; failures are logged.
func (s *Source) For(ctx context.Context, kind schema.GroupVersionKind) *Kind {
	if s == nil {
		return nil
	}
	if known, fresh := s.known(kind.GroupVersion()); !fresh {
		s.refresh(ctx, kind.GroupVersion(), known)
	}
	return s.give(kind)
}

// Changed notes that the API server may have other schemas than before, as when a
// CustomResourceDefinition was changed.
func (s *Source) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Clock.Now()
	s.checks = nil
	for _, after := range lookAgain {
		s.checks = append(s.checks, now.Add(after))
	}
	s.looks = slices.Clone(s.checks)
	select {
	case s.changed <- struct{}{}:
	default: // Run has yet to wake up for an earlier one.
	}
}

// known returns what is known of a group and version, and whether that need not be looked at again yet.
func (s *Source) known(gv schema.GroupVersion) (d *document, fresh bool) {
	now := s.config.Clock.Now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	have := s.documents[gv]
	if have != nil {
		d = have.document
	}
	if s.indexDue(now) {
		return d, false
	}
	url, listed := s.index[gv]
	switch {
	case !listed:
		return nil, true
	case have == nil:
		return nil, false
	default:
		return d, have.url == url && d != nil || now.Before(have.retry.until)
	}
}

// indexDue reports whether it is time to ask for the index. The caller holds mu.
func (s *Source) indexDue(now time.Time) bool {
	return len(s.checks) > 0 && !now.Before(s.checks[0]) && !now.Before(s.retry.until)
}

// refresh asks the API server for what is out of date. A caller that has an older schema
// goes on with that while another goroutine asks.
func (s *Source) refresh(ctx context.Context, gv schema.GroupVersion, old *document) {
	if old == nil {
		s.fetching.Lock()
	} else if !s.fetching.TryLock() {
		return
	}
	defer s.fetching.Unlock()
	if _, fresh := s.known(gv); fresh {
		return // Another goroutine has asked meanwhile.
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	s.refreshIndex(ctx)
	s.refreshDocument(ctx, gv)
}

// refreshIndex asks for the index, if it is time to.
func (s *Source) refreshIndex(ctx context.Context) {
	now := s.config.Clock.Now()
	s.mu.RLock()
	due := s.indexDue(now)
	s.mu.RUnlock()
	if !due {
		return
	}
	found, err := fetchIndex(ctx, s.config.API)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.retry.failed(now, s.config.Interval)
		s.config.Log.Error(err, "schemas may be out of date")
		return
	}
	s.index, s.retry = found, backoff{}
	for len(s.checks) > 0 && !now.Before(s.checks[0]) {
		s.checks = s.checks[1:]
	}
	if len(s.checks) == 0 {
		s.checks = []time.Time{now.Add(s.config.Interval)}
	}
	for gv := range s.documents {
		if _, listed := found[gv]; !listed {
			delete(s.documents, gv)
		}
	}
}

// refreshDocument fetches a document, if there is one other than what is known. If
// that fails, what is known stays.
func (s *Source) refreshDocument(ctx context.Context, gv schema.GroupVersion) {
	s.mu.RLock()
	url, have := s.index[gv], s.documents[gv]
	s.mu.RUnlock()
	if url == "" || have != nil && (have.url == url && have.document != nil || s.config.Clock.Now().Before(have.retry.until)) {
		return
	}
	next := fetched{}
	if have != nil {
		next = *have
	}
	document, err := fetchDocument(ctx, s.config.API, url)
	if err != nil {
		next.retry.failed(s.config.Clock.Now(), s.config.Interval)
		s.config.Log.Error(err, "schemas may be out of date", "apiVersion", gv.String())
	} else {
		if have != nil {
			document.keep(have.document)
		}
		next = fetched{url: url, document: document}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.documents[gv] = &next
}

func fetchDocument(ctx context.Context, api Fetcher, url string) (*document, error) {
	text, err := api.Fetch(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document %s: %w", url, err)
	}
	return parse(text)
}

// failed notes a failure.
func (b *backoff) failed(now time.Time, most time.Duration) {
	b.delay = min(max(2*b.delay, retryFirst), max(most, retryFirst))
	b.until = now.Add(b.delay)
}

// cutSegments returns the segments of a path behind its first, if there are just so many.
func cutSegments(path, first string, count int) ([]string, bool) {
	rest, ok := strings.CutPrefix(path, first+"/")
	parts := strings.Split(rest, "/")
	return parts, ok && len(parts) == count
}
