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

// message writes a message of values and gives its length.
func message(o *objects, values ...any) int {
	e := wire.NewEncoder(nil)
	e.Share = o.share
	e.Value(values)
	return len(e.Bytes())
}

func TestImmutable(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  map[string]any
		want   bool
	}{
		"object":     {"what the API server has is never changed under the same version", pod("a", 1), true},
		"no version": {"a hook's own object may be anything", map[string]any{"metadata": map[string]any{"uid": "a"}}, false},
		"no UID":     {"nor is this one the API server's", map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}, false},
		"empty":      {"as if it were absent", map[string]any{"metadata": map[string]any{"uid": "a", "resourceVersion": ""}}, false},
		"other":      {"any map", map[string]any{"metadata": "a"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := immutable(c.value); got != c.want {
				t.Errorf("immutable: %v, want %v", got, c.want)
			}
		})
	}
}

func TestObjects(t *testing.T) {
	o, a := newObjects(), pod("a", 1000)
	first := message(&o, a, a)
	o.sent()
	again := message(&o, a, a)
	if first < 1000 || first > 1500 || again > 20 {
		t.Errorf("an object twice takes %d bytes, once it has been sent %d", first, again)
	}
	if equal := message(&o, pod("a", 1000)); equal < 1000 {
		t.Errorf("another map with the same content takes %d bytes: it may be changed for all we know", equal)
	}
}

func TestObjectsHeld(t *testing.T) {
	o, a := newObjects(), pod("a", maxObjects+1)
	message(&o, a)
	o.sent()
	if got, bytes := o.held(1); got["data"] != a["data"] || bytes <= maxObjects {
		t.Errorf("the answer to the message that brought an object names it: %d bytes", bytes)
	}
	o.trim()
	if got, _ := o.held(1); got != nil {
		t.Error("an object is known that the next message drops")
	}
}

func TestObjectsUnsent(t *testing.T) {
	o, a, b := newObjects(), pod("a", 1000), pod("b", 1000)
	message(&o, a)
	o.sent()
	message(&o, a, b)
	o.unsent()
	if length := message(&o, a); length > 20 {
		t.Errorf("the object that was sent before takes %d bytes", length)
	}
	if length := message(&o, b); length < 1000 {
		t.Errorf("the object that was not sent takes %d bytes", length)
	}
}

func TestObjectsBounded(t *testing.T) {
	o := newObjects()
	const size = 1 << 20
	kept := pod("kept", size)
	for n := range 10 {
		o.trim()
		dropped := slices.Clone(o.drop)
		message(&o, kept, pod(fmt.Sprint(n), size))
		o.sent()
		if o.bytes > maxObjects+2*size || len(o.byNumber) != len(o.byMap) || o.order.Len() != len(o.byMap) || len(dropped) > 1 {
			t.Errorf("after %d: %d bytes in %d objects (%d in order), dropped %v", n, o.bytes, len(o.byMap), o.order.Len(), dropped)
		}
	}
	if length := message(&o, kept); length > 20 {
		t.Errorf("the object that each message had takes %d bytes", length)
	}
	o.trim()
	if o.last != 11 || len(o.drop) != 1 || o.bytes > maxObjects {
		t.Errorf("%d objects were numbered, dropped %v", o.last, o.drop)
	}
}
