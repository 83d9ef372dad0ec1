package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

func pod(name string, bytes int) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": name, "uid": name, "resourceVersion": "1"},
		"data":     strings.Repeat("x", bytes),
	}
}

// message encodes a message of values and returns its length.
func message(o *objectCache, values ...any) int {
	e := wire.NewEncoder(nil)
	e.Share = o.share
	e.Value(values)
	return len(e.Bytes())
}

func TestIsImmutable(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  map[string]any
		want   bool
	}{
		"object":     {"an object with UID and version never changes", pod("a", 1), true},
		"no version": {"a hook's own object may change", map[string]any{"metadata": map[string]any{"uid": "a"}}, false},
		"no UID":     {"an object without UID is not from the API server", map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}, false},
		"empty":      {"an empty value counts as absent", map[string]any{"metadata": map[string]any{"uid": "a", "resourceVersion": ""}}, false},
		"other":      {"any map", map[string]any{"metadata": "a"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := isImmutable(c.value); got != c.want {
				t.Errorf("immutable: %v, want %v", got, c.want)
			}
		})
	}
}

func TestObjectCache(t *testing.T) {
	o, a := newObjectCache(), pod("a", 1000)
	first := message(&o, a, a)
	o.commit()
	again := message(&o, a, a)
	if first < 1000 || first > 1500 || again > 20 {
		t.Errorf("an object twice takes %d bytes, once it has been sent %d", first, again)
	}
	if equal := message(&o, pod("a", 1000)); equal < 1000 {
		t.Errorf("another map with the same content takes %d bytes: it may be changed for all we know", equal)
	}
}

func TestObjectCacheGet(t *testing.T) {
	o, a := newObjectCache(), pod("a", maxObjectBytes+1)
	message(&o, a)
	o.commit()
	if got, bytes := o.get(1); got["data"] != a["data"] || bytes <= maxObjectBytes {
		t.Errorf("the answer to the message that brought an object names it: %d bytes", bytes)
	}
	o.evict()
	if got, _ := o.get(1); got != nil {
		t.Error("an object is known that the next message drops")
	}
}

func TestObjectCacheRollback(t *testing.T) {
	o, a, b := newObjectCache(), pod("a", 1000), pod("b", 1000)
	message(&o, a)
	o.commit()
	message(&o, a, b)
	o.rollback()
	if length := message(&o, a); length > 20 {
		t.Errorf("the object that was sent before takes %d bytes", length)
	}
	if length := message(&o, b); length < 1000 {
		t.Errorf("the object that was not sent takes %d bytes", length)
	}
}

func TestObjectCacheEvicts(t *testing.T) {
	o := newObjectCache()
	const size = 1 << 20
	kept := pod("kept", size)
	for n := range 10 {
		o.evict()
		dropped := slices.Clone(o.evicted)
		message(&o, kept, pod(fmt.Sprint(n), size))
		o.commit()
		if o.bytes > maxObjectBytes+2*size || len(o.byID) != len(o.byAddress) || o.lru.Len() != len(o.byAddress) || len(dropped) > 1 {
			t.Errorf("after %d: %d bytes in %d objects (%d in order), dropped %v", n, o.bytes, len(o.byAddress), o.lru.Len(), dropped)
		}
	}
	if length := message(&o, kept); length > 20 {
		t.Errorf("the object that each message had takes %d bytes", length)
	}
	o.evict()
	if o.lastID != 11 || len(o.evicted) != 1 || o.bytes > maxObjectBytes {
		t.Errorf("%d objects were numbered, dropped %v", o.lastID, o.evicted)
	}
}

// TestObjectCacheVersions checks that only the last version of an object that changes is kept, and not before its answer is there.
func TestObjectCacheVersions(t *testing.T) {
	o := newObjectCache()
	version := func(n int) map[string]any {
		object := pod("a", 1000)
		object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(n)
		return object
	}
	for n := range 20 {
		o.evict()
		message(&o, version(n))
		if len(o.byID) > 2 {
			t.Fatalf("version %d: %d are kept", n, len(o.byID))
		}
		if n == 10 {
			message(&o, version(100), version(101))
			if o.rollback(); o.byUID["a"] != nil && o.byID[o.byUID["a"].Value.(*cachedObject).id] == nil {
				t.Error("a version that was never sent is held")
			}
			continue
		}
		o.commit()
		if object, _ := o.get(o.lastID); object == nil {
			t.Errorf("version %d is not kept", n)
		}
	}
	last := version(19)
	message(&o, last)
	message(&o, last, version(19))
	o.commit()
	if o.evict(); message(&o, last) > 20 {
		t.Error("a copy of the same version takes the place of the other, so that each would be sent again and again")
	}
	if len(o.byID) != len(o.byAddress) || o.lru.Len() != len(o.byID) {
		t.Errorf("%d by ID, %d by address, %d in order", len(o.byID), len(o.byAddress), o.lru.Len())
	}
}
