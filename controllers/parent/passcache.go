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
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
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

// fingerprint stands for all input of a pass (docs/design/parent/idle.md).
type fingerprint struct {
	// version is a hash of the parent's UID and resourceVersion, and related of the related objects and their kinds.
	version, related uint64
	// others is a hash of the rest.
	others uint64
}

// passResult is the result of a pass that would change nothing if it were repeated.
type passResult struct {
	fingerprint
	// read is what counts besides the input that always does, and parent the hash of what counts of the parent.
	read   readInputs
	parent uint64
	result controller.Result
}

// callKey identifies a call of one parent.
type callKey struct{ hook, subject string }

// cachedAnswer is an answer that can be reused until it expires, while the programs and the
// fields that the program read are unchanged.
type cachedAnswer struct {
	revision string
	stamps   map[string]string // of the request's fields that the program read
	read     readInputs
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

// fingerprint returns hashes of all input of a pass: the UIDs and versions of the objects, the
// revision of the scripts, and the number of schema changes.
func (c *passCache) fingerprint(o variant.Observed, revision string, schemas uint64) fingerprint {
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.WriteString(revision)
	writeVersions(&h, o.Children)
	writeVersions(&h, o.Release)
	writeVersions(&h, o.Revisions)
	writeVersions(&h, o.Inputs)
	maphash.WriteComparable(&h, schemas)
	if o.Finalizing {
		h.WriteByte(1)
	}
	return fingerprint{version: c.versionOf(o.Parent), related: c.hashRelated(o), others: h.Sum64()}
}

// hashRelated returns a hash of the related objects and their kinds, which hooks see even without objects.
func (c *passCache) hashRelated(o variant.Observed) uint64 {
	if len(o.Related) == 0 && len(o.RelatedKinds) == 0 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	writeVersions(&h, o.Related)
	for _, kind := range o.RelatedKinds {
		maphash.WriteComparable(&h, kind)
	}
	return h.Sum64()
}

// versionOf returns a hash of the UID and resourceVersion of an object.
func (c *passCache) versionOf(object *unstructured.Unstructured) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	writeVersions(&h, []*unstructured.Unstructured{object})
	return h.Sum64()
}

func writeVersions(h *maphash.Hash, objects []*unstructured.Unstructured) {
	h.WriteByte(0)
	for _, object := range objects {
		meta := jsonvalue.ObjectIn(object.Object, "metadata")
		uid, _ := meta["uid"].(string)
		version, _ := meta["resourceVersion"].(string)
		h.WriteString(uid)
		h.WriteByte('@')
		h.WriteString(version)
		h.WriteByte(0)
	}
}

// lookupResult returns the result of the last pass over key, and whether a pass with that fingerprint
// and parent has the same. Otherwise it forgets the result: what a parent waits for and which events its hooks have asked for is
// known of the last pass alone.
func (c *passCache) lookupResult(key controller.Key, now fingerprint, parent *unstructured.Unstructured) (controller.Result, bool) {
	c.mu.Lock()
	last, ok := c.results[key]
	c.mu.Unlock()
	if !ok {
		return controller.Result{}, false
	}
	same := last.isOf(now, parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !same {
		delete(c.results, key)
		return controller.Result{}, false
	}
	if last.version != now.version {
		last.version = now.version
		c.results[key] = last
	}
	return last.result, true
}

// isOf reports whether a pass with that fingerprint and parent has the same result. The content of a parent is looked at only if its
// version is new.
func (r passResult) isOf(now fingerprint, parent *unstructured.Unstructured) bool {
	switch {
	case r.others != now.others, r.read&readRelated != 0 && r.related != now.related:
		return false
	case r.version == now.version:
		return true
	default:
		return r.read&readVersion == 0 && r.parent == hashParent(parent, r.read)
	}
}

// rememberResult stores the result of a pass that would change nothing the next time, with the parent as it is after the pass. read is
// what counts of the input that does not always.
func (c *passCache) rememberResult(
	key controller.Key, at fingerprint, parent *unstructured.Unstructured, read readInputs, result controller.Result,
) {
	at.version = c.versionOf(parent)
	known := passResult{fingerprint: at, read: read, result: result}
	if read&readVersion == 0 {
		known.parent = hashParent(parent, read)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[key] = known
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

// rememberAnswers stores the new ones of the answers that a pass holds, except the invalid ones.
func (c *passCache) rememberAnswers(key controller.Key, revision string, held *heldAnswers, invalid []variant.Call) {
	isInvalid := callKeys(invalid)
	for _, a := range held.answers {
		if a.isNew && !isInvalid[callKey{a.Call.Hook, a.Call.Subject}] {
			c.rememberAnswer(key, a.Call, a.read, cachedAnswer{
				revision: revision, body: a.Body, size: a.size, expires: a.expires, read: inputsIn(a.read),
			})
		}
	}
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
