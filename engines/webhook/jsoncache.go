package webhook

import (
	"reflect"
	"sync"
)

// jsonCache keeps the JSON of objects that are sent repeatedly, up to a number of bytes. It
// has one version of each object, and the object itself: by the contract of engines.Call the
// same map has the same content, and the reference keeps its address from being reused.
type jsonCache struct {
	half int // of the bytes that there is room for

	mu sync.Mutex
	// recent are the entries used since recent was last full. Then the older ones are
	// evicted, and recent become older.
	recent, older map[string]cachedJSON
	bytes         int // of recent
}

// identity identifies one version of an object.
type identity struct {
	uid, version string
	address      uintptr
}

type cachedJSON struct {
	id   identity
	of   map[string]any
	text []byte
}

func newJSONCache(size int) *jsonCache {
	return &jsonCache{half: size / 2, recent: map[string]cachedJSON{}}
}

// identify returns the identity of an object of the cluster, and none for any other. The cache may be nil.
func (s *jsonCache) identify(fields map[string]any) identity {
	if s == nil {
		return identity{}
	}
	metadata, _ := fields["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	version, _ := metadata["resourceVersion"].(string)
	if uid == "" || version == "" {
		return identity{}
	}
	return identity{uid: uid, version: version, address: reflect.ValueOf(fields).Pointer()}
}

// get returns the JSON of just that object, or nil. It must not be changed.
func (s *jsonCache) get(id identity) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.recent[id.uid]; ok {
		if found.id != id {
			return nil
		}
		return found.text
	}
	found, ok := s.older[id.uid]
	if !ok || found.id != id {
		return nil
	}
	s.store(found)
	return found.text
}

// put keeps the JSON of an object, in place of that of its other versions.
func (s *jsonCache) put(id identity, of map[string]any, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(cachedJSON{id: id, of: of, text: text})
}

func (s *jsonCache) store(next cachedJSON) {
	uid := next.id.uid
	delete(s.older, uid)
	s.bytes += len(next.text) - len(s.recent[uid].text)
	s.recent[uid] = next
	if s.bytes > s.half {
		s.recent, s.older, s.bytes = map[string]cachedJSON{}, s.recent, 0
	}
}
