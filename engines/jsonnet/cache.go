package jsonnet

import (
	"crypto/sha256"
	"io"

	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

const (
	// maxParsedBytes bounds the files that are kept parsed, and those that one call evaluates. A file takes about 30 times
	// its size, and up to 80 times if it has no comments and short names.
	maxParsedBytes = 96 << 20
	// maxKnownBytes bounds what is known of files that are not kept parsed.
	maxKnownBytes = 8 << 20
	// maxKeptByLoad bounds what a load keeps of files that it parses to check them.
	maxKeptByLoad = 8 << 20
)

// cache holds parsed files by their path and content. All programs of an engine share it, of whatever definition or revision:
// what is in it never changes, and depends on nothing else.
type cache struct {
	parsed, known *lru.Cache
	// mostParsed is what parsed may take, in bytes.
	mostParsed int64
}

func newCache() *cache { return newCacheOf(maxParsedBytes) }

func newCacheOf(mostParsed int64) *cache {
	return &cache{parsed: lru.New(mostParsed), known: lru.New(maxKnownBytes), mostParsed: mostParsed}
}

// known is what is kept of a file that was read.
type known struct {
	imports []importRef
	// checked is true once the file has been parsed without an error.
	checked bool
}

// knownBytes is about what an entry takes, beside imports.
const knownBytes, importBytes = 300, 80

func (c *cache) putKnown(key lru.Key, k known) {
	c.known.Put(key, k, knownBytes+int64(len(k.imports))*importBytes)
}

// contentKey returns the key of a file.
func contentKey(path, text string) lru.Key {
	hash := sha256.New()
	_, _ = io.WriteString(hash, path+"\x00") // It never fails.
	_, _ = io.WriteString(hash, text)
	return lru.Key{ID: [sha256.Size]byte(hash.Sum(nil))}
}

// CachedBytes returns about how much memory the cache takes, for the process that bounds it.
func (e engine) CachedBytes() int64 {
	bytes := int64(0)
	for _, of := range []*lru.Cache{e.cache.parsed, e.cache.known} {
		for _, usage := range of.Usage() {
			bytes += usage.Bytes
		}
	}
	return bytes
}
