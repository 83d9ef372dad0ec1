package parent

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// memory is what is known of earlier passes: that one over just the same objects
// changed nothing, so that there is no need for it, and answers that are used again.
type passCache struct {
	seed    maphash.Seed
	mu      sync.Mutex
	results map[controller.Key]passResult
	answers map[controller.Key]map[callKey]cachedAnswer
}

// idle is a pass that changed nothing.
type passResult struct {
	fingerprint uint64
	result      controller.Result
}

// subject names what a call of one parent is about.
type callKey struct{ hook, subject string }

// said is an answer to use again while what it went by and the programs are the
// same, until it expires.
type cachedAnswer struct {
	revision string
	stamps   map[string]string // of the fields of the request that were read
	body     any
	expires  time.Time // zero means never
}

// answers reports whether s is the answer to call too.
func (s cachedAnswer) isAnswerTo(call variant.Call, revision string, now time.Time) bool {
	if s.revision != revision || !s.expires.IsZero() && !now.Before(s.expires) {
		return false
	}
	for field, stamp := range s.stamps {
		if stamp == "" || call.Stamps[field] != stamp {
			return false
		}
	}
	return true
}

func newPassCache() *passCache {
	return &passCache{seed: maphash.MakeSeed(), results: map[controller.Key]passResult{}, answers: map[controller.Key]map[callKey]cachedAnswer{}}
}

// stamp stands for all that a pass goes by: the identities and versions of the objects, the
// revision of the scripts, and how often the schemas have changed (docs/design/idle.md).
func (m *passCache) fingerprint(o variant.Observed, revision string, schemas uint64) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	h.WriteString(revision)
	list := func(objects []*unstructured.Unstructured) {
		h.WriteByte(0)
		for _, object := range objects {
			h.WriteString(string(object.GetUID()))
			h.WriteByte('@')
			h.WriteString(object.GetResourceVersion())
			h.WriteByte(0)
		}
	}
	list([]*unstructured.Unstructured{o.Parent})
	list(o.Children)
	list(o.Release)
	list(o.Revisions)
	list(o.Inputs)
	list(o.Related)
	for _, kind := range o.RelatedKinds { // They are shown even where there is no object of them.
		h.WriteString(kind.Group)
		h.WriteByte('/')
		h.WriteString(kind.Version)
		h.WriteByte('/')
		h.WriteString(kind.Kind)
		h.WriteByte(0)
	}
	maphash.WriteComparable(&h, schemas)
	if o.Finalizing {
		h.WriteByte(1)
	}
	return h.Sum64()
}

// idled gives the result of the last pass over key if that saw the same and changed nothing.
func (m *passCache) lookupResult(key controller.Key, stamp uint64) (controller.Result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.results[key]
	return last.result, ok && last.fingerprint == stamp
}

// remember notes a pass that changed nothing, and would not another time.
func (m *passCache) rememberResult(key controller.Key, stamp uint64, result controller.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.results[key] = passResult{fingerprint: stamp, result: result}
}

// recall gives the answer to an earlier call, if it still holds, and until when it does.
func (m *passCache) lookupAnswer(key controller.Key, call variant.Call, revision string, now time.Time) (body any, expires time.Time, ok bool) {
	if len(call.Stamps) == 0 {
		return nil, time.Time{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.answers[key][callKey{call.Hook, call.Subject}]
	return s.body, s.expires, ok && s.isAnswerTo(call, revision, now)
}

// note keeps an answer until it expires.
func (m *passCache) rememberAnswer(key controller.Key, call variant.Call, revision string, response engines.Response, expires time.Time) {
	if len(call.Stamps) == 0 {
		return
	}
	read := maps.Clone(call.Stamps)
	for _, field := range response.Unread {
		delete(read, field)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers[key] == nil {
		m.answers[key] = map[callKey]cachedAnswer{}
	}
	m.answers[key][callKey{call.Hook, call.Subject}] = cachedAnswer{revision: revision, stamps: read, body: response.Body, expires: expires}
}

// distrust drops the answers to calls.
func (m *passCache) dropAnswers(key controller.Key, calls []variant.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range calls {
		delete(m.answers[key], callKey{c.Hook, c.Subject})
	}
}

// forget drops what is known of a parent that is gone.
func (m *passCache) forget(key controller.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.results, key)
	delete(m.answers, key)
}

// keep drops the answers to calls that are no longer made.
func (m *passCache) retainAnswers(key controller.Key, calls []variant.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.answers[key]) <= len(calls) {
		return
	}
	wanted := make(map[callKey]bool, len(calls))
	for _, c := range calls {
		wanted[callKey{c.Hook, c.Subject}] = true
	}
	for s := range m.answers[key] {
		if !wanted[s] {
			delete(m.answers[key], s)
		}
	}
}
