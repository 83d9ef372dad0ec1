// Package answers has what hooks have answered: the cache of answers and of passes that changed
// nothing, the answers that a pass holds, and what of its input hooks have read.
package answers

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

// Cache remembers earlier passes by parent: the result of one that changed nothing, so that
// a pass over the same objects can be skipped, and the answers of hooks that can be reused.
type Cache struct {
	Seed    maphash.Seed
	mu      sync.Mutex
	results map[controller.Key]passResult
	// answers are of all definitions of the process, within one budget of bytes.
	answers    *lru.Cache
	definition string
}

// AnswerGroup identifies the answers about one parent, to one instance of the definition.
type AnswerGroup struct {
	Cache  *Cache
	Parent controller.Key
}

// Fingerprint stands for all input of a pass (docs/design/parent/idle.md).
type Fingerprint struct {
	// version is a hash of the parent's UID and resourceVersion, and related of the related objects and their kinds.
	version, related uint64
	// others is a hash of the rest.
	others uint64
}

// passResult is the result of a pass that would change nothing if it were repeated.
type passResult struct {
	Fingerprint
	// read is what counts besides the input that always does, and parent the hash of what counts of the parent.
	read   Inputs
	parent uint64
	result controller.Result
}

// callKey identifies a call of one parent.
type callKey struct{ hook, subject string }

// Cached is an answer that can be reused until it expires, while the programs and the
// fields that the program read are unchanged.
type Cached struct {
	revision string
	stamps   map[string]string // of the request's fields that the program read
	Read     Inputs
	Body     any
	Size     int       // of body, in bytes of memory
	Expires  time.Time // zero means never
}

// answerOverhead is about how many bytes of memory a cached answer takes beside its body.
const answerOverhead = 1 << 10

// isAnswerTo reports whether the answer can be reused for call.
func (s Cached) isAnswerTo(call variant.Call, revision string, now time.Time) bool {
	if s.revision != revision || !s.Expires.IsZero() && !now.Before(s.Expires) {
		return false
	}
	for field, stamp := range s.stamps {
		if stamp == "" || call.Stamps[field] != stamp {
			return false
		}
	}
	return true
}

// NewCache returns an empty cache of a definition, which keeps answers among those of all definitions.
func NewCache(answers *lru.Cache, definition string) *Cache {
	return &Cache{Seed: maphash.MakeSeed(), results: map[controller.Key]passResult{}, answers: answers, definition: definition}
}

// answerKey returns the key of an answer in the cache of all definitions.
func (c *Cache) answerKey(key controller.Key, call variant.Call) lru.Key {
	return lru.Key{Owner: c.definition, Group: AnswerGroup{c, key}, ID: callKey{call.Hook, call.Subject}}
}

// Fingerprint returns hashes of all input of a pass: the UIDs and versions of the objects, the
// revision of the scripts, and the number of schema changes.
func (c *Cache) Fingerprint(o variant.Observed, revision string, schemas uint64) Fingerprint {
	var h maphash.Hash
	h.SetSeed(c.Seed)
	h.WriteString(revision)
	writeVersions(&h, o.Children)
	writeVersions(&h, o.Release)
	writeVersions(&h, o.Revisions)
	writeVersions(&h, o.Inputs)
	maphash.WriteComparable(&h, schemas)
	if o.Finalizing {
		h.WriteByte(1)
	}
	return Fingerprint{version: c.VersionOf(o.Parent), related: c.hashRelated(o), others: h.Sum64()}
}

// hashRelated returns a hash of the related objects and their kinds, which hooks see even without objects.
func (c *Cache) hashRelated(o variant.Observed) uint64 {
	if len(o.Related) == 0 && len(o.RelatedKinds) == 0 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(c.Seed)
	writeVersions(&h, o.Related)
	for _, kind := range o.RelatedKinds {
		maphash.WriteComparable(&h, kind)
	}
	return h.Sum64()
}

// VersionOf returns a hash of the UID and resourceVersion of an object.
func (c *Cache) VersionOf(object *unstructured.Unstructured) uint64 {
	var h maphash.Hash
	h.SetSeed(c.Seed)
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

// LookupResult returns the result of the last pass over key, and whether a pass with that fingerprint
// and parent has the same. Otherwise it forgets the result: what a parent waits for and which events its hooks have asked for is
// known of the last pass alone.
func (c *Cache) LookupResult(key controller.Key, now Fingerprint, parent *unstructured.Unstructured) (controller.Result, bool) {
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
func (r passResult) isOf(now Fingerprint, parent *unstructured.Unstructured) bool {
	switch {
	case r.others != now.others, r.read&readRelated != 0 && r.related != now.related:
		return false
	case r.version == now.version:
		return true
	default:
		return r.read&ReadVersion == 0 && r.parent == HashParent(parent, r.read)
	}
}

// RememberResult stores the result of a pass that would change nothing the next time, with the parent as it is after the pass. read is
// what counts of the input that does not always.
func (c *Cache) RememberResult(
	key controller.Key, at Fingerprint, parent *unstructured.Unstructured, read Inputs, result controller.Result,
) {
	at.version = c.VersionOf(parent)
	known := passResult{Fingerprint: at, read: read, result: result}
	if read&ReadVersion == 0 {
		known.parent = HashParent(parent, read)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[key] = known
}

// LookupAnswer returns a reusable answer to call.
func (c *Cache) LookupAnswer(key controller.Key, call variant.Call, revision string, now time.Time) (Cached, bool) {
	if len(call.Stamps) == 0 {
		return Cached{}, false
	}
	value, ok := c.answers.Get(c.answerKey(key, call))
	if !ok {
		return Cached{}, false
	}
	s := value.(Cached)
	return s, s.isAnswerTo(call, revision, now)
}

// rememberAnswer stores an answer until it expires or is evicted. read is what the program
// read of the request.
func (c *Cache) rememberAnswer(key controller.Key, call variant.Call, read engines.ReadSet, answer Cached) {
	if len(call.Stamps) == 0 {
		return
	}
	answer.stamps = maps.Clone(call.Stamps)
	maps.DeleteFunc(answer.stamps, func(field, _ string) bool { return !read.Contains(field) })
	c.answers.Put(c.answerKey(key, call), answer, int64(answer.Size+answerOverhead))
}

// RememberAnswers stores the new ones of the answers that a pass holds, except the invalid ones.
func (c *Cache) RememberAnswers(key controller.Key, revision string, collector *Collector, invalid []variant.Call) {
	isInvalid := callKeys(invalid)
	for _, a := range collector.answers {
		if a.IsNew && !isInvalid[callKey{a.Call.Hook, a.Call.Subject}] {
			c.rememberAnswer(key, a.Call, a.Read, Cached{
				revision: revision, Body: a.Body, Size: a.Size, Expires: a.Expires, Read: InputsIn(a.Read),
			})
		}
	}
}

// DropAnswers drops the answers to calls.
func (c *Cache) DropAnswers(key controller.Key, calls []variant.Call) {
	if len(calls) == 0 {
		return
	}
	unwanted := callKeys(calls)
	c.answers.DeleteFunc(c.definition, AnswerGroup{c, key}, func(id, _ any) bool { return unwanted[id.(callKey)] })
}

// Forget drops the entries of a deleted parent.
func (c *Cache) Forget(key controller.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.results, key)
	c.answers.DeleteFunc(c.definition, AnswerGroup{c, key}, func(_, _ any) bool { return true })
}

// RetainAnswers drops all answers of a parent except those to calls.
func (c *Cache) RetainAnswers(key controller.Key, calls []variant.Call) {
	group := AnswerGroup{c, key}
	if c.answers.Len(c.definition, group) <= len(calls) {
		return
	}
	wanted := callKeys(calls)
	c.answers.DeleteFunc(c.definition, group, func(id, _ any) bool { return !wanted[id.(callKey)] })
}

// Close drops all answers of this instance of the definition.
func (c *Cache) Close() {
	c.answers.DeleteGroups(c.definition, func(group any) bool {
		g, ok := group.(AnswerGroup)
		return ok && g.Cache == c
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
