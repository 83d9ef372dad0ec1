package parent

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/lru"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// passCache remembers earlier passes by parent: the result of one that changed nothing, so that
// a pass over the same objects can be skipped, and the answers of hooks that can be reused.
type passCache struct {
	seed    maphash.Seed
	mu      sync.Mutex
	results map[controller.Key]passResult
	// answers are of all definitions of the process, within one budget of bytes.
	answers    *lru.Cache
	definition string
}

// answerGroup identifies the answers about one parent, to one instance of the definition.
type answerGroup struct {
	cache  *passCache
	parent controller.Key
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
	size     int       // of body, in bytes of memory
	expires  time.Time // zero means never
}

// answerOverhead is about how many bytes of memory a cached answer takes beside its body.
const answerOverhead = 1 << 10

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

func newPassCache(answers *lru.Cache, definition string) *passCache {
	return &passCache{seed: maphash.MakeSeed(), results: map[controller.Key]passResult{}, answers: answers, definition: definition}
}

// answerKey returns the key of an answer in the cache of all definitions.
func (c *passCache) answerKey(key controller.Key, call variant.Call) lru.Key {
	return lru.Key{Owner: c.definition, Group: answerGroup{c, key}, ID: callKey{call.Hook, call.Subject}}
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

// lookupAnswer returns a reusable answer to call.
func (c *passCache) lookupAnswer(key controller.Key, call variant.Call, revision string, now time.Time) (cachedAnswer, bool) {
	if len(call.Stamps) == 0 {
		return cachedAnswer{}, false
	}
	value, ok := c.answers.Get(c.answerKey(key, call))
	if !ok {
		return cachedAnswer{}, false
	}
	s := value.(cachedAnswer)
	return s, s.isAnswerTo(call, revision, now)
}

// rememberAnswer stores an answer until it expires or is evicted. read is what the program
// read of the request.
func (c *passCache) rememberAnswer(key controller.Key, call variant.Call, read engines.ReadSet, answer cachedAnswer) {
	if len(call.Stamps) == 0 {
		return
	}
	answer.stamps = maps.Clone(call.Stamps)
	maps.DeleteFunc(answer.stamps, func(field, _ string) bool { return !read.Contains(field) })
	c.answers.Put(c.answerKey(key, call), answer, int64(answer.size+answerOverhead))
}

// dropAnswers drops the answers to calls.
func (c *passCache) dropAnswers(key controller.Key, calls []variant.Call) {
	if len(calls) == 0 {
		return
	}
	unwanted := callKeys(calls)
	c.answers.DeleteFunc(c.definition, answerGroup{c, key}, func(id, _ any) bool { return unwanted[id.(callKey)] })
}

// forget drops the entries of a deleted parent.
func (c *passCache) forget(key controller.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.results, key)
	c.answers.DeleteFunc(c.definition, answerGroup{c, key}, func(_, _ any) bool { return true })
}

// retainAnswers drops all answers of a parent except those to calls.
func (c *passCache) retainAnswers(key controller.Key, calls []variant.Call) {
	group := answerGroup{c, key}
	if c.answers.Len(c.definition, group) <= len(calls) {
		return
	}
	wanted := callKeys(calls)
	c.answers.DeleteFunc(c.definition, group, func(id, _ any) bool { return !wanted[id.(callKey)] })
}

// close drops all answers of this instance of the definition.
func (c *passCache) close() {
	c.answers.DeleteGroups(c.definition, func(group any) bool {
		g, ok := group.(answerGroup)
		return ok && g.cache == c
	})
}

// callKeys returns the keys of calls as a set.
func callKeys(calls []variant.Call) map[callKey]bool {
	keys := make(map[callKey]bool, len(calls))
	for _, call := range calls {
		keys[callKey{call.Hook, call.Subject}] = true
	}
	return keys
}
