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

// passCache remembers earlier passes by parent: the result of one that changed nothing, so that
// a pass over the same objects can be skipped, and the answers of hooks that can be reused.
type passCache struct {
	seed    maphash.Seed
	mu      sync.Mutex
	results map[controller.Key]passResult
	answers map[controller.Key]map[callKey]cachedAnswer
}

// passResult is the result of a pass that changed nothing.
type passResult struct {
	fingerprint uint64
	result      controller.Result
}

// callKey identifies a call of one parent.
type callKey struct{ hook, subject string }

// cachedAnswer is an answer that can be reused until it expires, while the programs and the
// fields that the program read are unchanged.
type cachedAnswer struct {
	revision string
	stamps   map[string]string // of the request's fields that the program read
	body     any
	expires  time.Time // zero means never
}

// isAnswerTo reports whether the answer can be reused for call.
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
	return &passCache{
		seed: maphash.MakeSeed(), results: map[controller.Key]passResult{}, answers: map[controller.Key]map[callKey]cachedAnswer{},
	}
}

// fingerprint returns a hash of all input of a pass: the UIDs and versions of the objects, the
// revision of the scripts, and the number of schema changes (docs/design/idle.md).
func (c *passCache) fingerprint(o variant.Observed, revision string, schemas uint64) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
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
	for _, kind := range o.RelatedKinds { // Hooks see them even without objects.
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

// lookupResult returns the result of the last pass over key, and whether that had the same
// fingerprint and changed nothing.
func (c *passCache) lookupResult(key controller.Key, stamp uint64) (controller.Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.results[key]
	return last.result, ok && last.fingerprint == stamp
}

// rememberResult stores the result of a pass that changed nothing and would not the next time.
func (c *passCache) rememberResult(key controller.Key, stamp uint64, result controller.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[key] = passResult{fingerprint: stamp, result: result}
}

// lookupAnswer returns a reusable answer to call and when it expires.
func (c *passCache) lookupAnswer(
	key controller.Key, call variant.Call, revision string, now time.Time,
) (body any, expires time.Time, ok bool) {
	if len(call.Stamps) == 0 {
		return nil, time.Time{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.answers[key][callKey{call.Hook, call.Subject}]
	return s.body, s.expires, ok && s.isAnswerTo(call, revision, now)
}

// rememberAnswer stores an answer until it expires.
func (c *passCache) rememberAnswer(key controller.Key, call variant.Call, revision string, response engines.Response, expires time.Time) {
	if len(call.Stamps) == 0 {
		return
	}
	read := maps.Clone(call.Stamps)
	for _, field := range response.Unread {
		delete(read, field)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[key] == nil {
		c.answers[key] = map[callKey]cachedAnswer{}
	}
	c.answers[key][callKey{call.Hook, call.Subject}] = cachedAnswer{revision: revision, stamps: read, body: response.Body, expires: expires}
}

// dropAnswers drops the answers to calls.
func (c *passCache) dropAnswers(key controller.Key, calls []variant.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range calls {
		delete(c.answers[key], callKey{call.Hook, call.Subject})
	}
}

// forget drops the entries of a deleted parent.
func (c *passCache) forget(key controller.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.results, key)
	delete(c.answers, key)
}

// retainAnswers drops all answers of a parent except those to calls.
func (c *passCache) retainAnswers(key controller.Key, calls []variant.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers[key]) <= len(calls) {
		return
	}
	wanted := make(map[callKey]bool, len(calls))
	for _, call := range calls {
		wanted[callKey{call.Hook, call.Subject}] = true
	}
	for s := range c.answers[key] {
		if !wanted[s] {
			delete(c.answers[key], s)
		}
	}
}
