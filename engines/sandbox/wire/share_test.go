package wire_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// sharing shares maps that have an "id".
type sharing struct{ sent map[uint64]int }

func (s sharing) share(m map[string]any) wire.Shared {
	id, ok := m["id"].(int64)
	if !ok {
		return wire.Shared{}
	}
	_, held := s.sent[uint64(id)]
	return wire.Shared{ID: uint64(id), Known: held, OnSent: func(bytes int) { s.sent[uint64(id)] = bytes }}
}

func TestShared(t *testing.T) {
	s, objects := sharing{sent: map[uint64]int{}}, wire.NewObjects()
	pod := object{"id": int64(7), "spec": object{"id": int64(8), "image": "nginx"}}
	want := any(object{"children": list{pod, pod}})
	lengths := []int{}
	for range 2 {
		e := wire.NewEncoder(nil)
		e.Share = s.share
		e.Value(want)
		lengths = append(lengths, len(e.Bytes()))
		d := wire.NewDecoder(e.Bytes())
		d.Objects, d.Lookup = objects, objects.Get
		got, err := d.Value()
		if diff := cmp.Diff(want, got); err != nil || diff != "" || d.Len() != 0 {
			t.Fatalf("error %v, %d bytes left, (-want +got):\n%s", err, d.Len(), diff)
		}
		clear(e.Bytes())
	}
	kept, _ := objects.Get(7)
	if diff := cmp.Diff(pod, kept); diff != "" {
		t.Errorf("the map that is kept after the messages are gone (-want +got):\n%s", diff)
	}
	if lengths[1] >= lengths[0] || s.sent[7] == 0 {
		t.Errorf("lengths of the messages %v, bytes sent %v: the second has to be shorter", lengths, s.sent)
	}
}

func TestStoredRefused(t *testing.T) {
	cases := map[string]struct {
		reason  string
		message []byte
	}{
		"no map":     {"only maps are kept", []byte{8, 1, 1, 0, 0, 0, 0}},
		"cut":        {"the length exceeds the message", []byte{8, 1, 255, 255, 255, 255, 7, 0}},
		"no length":  {"the length field is cut", []byte{8, 1, 2, 0}},
		"more bytes": {"the length is not that of the map", []byte{8, 1, 3, 0, 0, 0, 7, 0, 0}},
		"fewer":      {"the length is not that of the map", []byte{8, 1, 1, 0, 0, 0, 7, 0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			d := wire.NewDecoder(c.message)
			d.Objects = wire.NewObjects()
			v, err := d.Value()
			if kept, _ := d.Objects.Get(1); !errors.Is(err, wire.ErrMalformed) || kept != nil {
				t.Errorf("value %v, error %v, kept %v", v, err, kept)
			}
		})
	}
}
