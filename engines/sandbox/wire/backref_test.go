package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// encodeBackRefs encodes a value with back references.
func encodeBackRefs(v any) ([]byte, error) {
	e := wire.NewEncoder(nil)
	e.BackRefs = true
	e.Value(v)
	return e.Bytes(), e.Err()
}

func decodeBackRefs(message []byte, memory int) (any, error) {
	d := wire.NewDecoder(message)
	d.BackRefCost, d.Copy, d.Memory = 12, true, memory
	v, err := d.Value()
	if err == nil && d.Len() > 0 {
		err = errors.New("bytes are left")
	}
	return v, err
}

func TestBackRefs(t *testing.T) {
	large, small := object{"text": strings.Repeat("x", 100)}, object{"a": "b"}
	l := list{large, small, strings.Repeat("y", 60)}
	pod := func() object { return object{"containers": l, "small": small, "own": list{large}} }
	cases := map[string]struct {
		reason   string
		value    any
		atMost   int
		repeated bool
	}{
		"none":            {"without repetition nothing changes", list{l, small, list{"a"}}, 240, false},
		"pods":            {"parts of a template are written once", list{pod(), pod(), pod(), pod()}, 360, true},
		"within itself":   {"repeated parts may contain repeated parts", list{list{l, l}, list{l, l}, large}, 220, true},
		"slices":          {"slices of one array are different lists", list{l, l[:1], l[:2], l[1:]}, 280, true},
		"nothing of size": {"small parts are not numbered", list{small, small, list{}, list{}, object{}}, 30, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			plain, _ := encode(c.value)
			message, err := encodeBackRefs(c.value)
			if err != nil || len(message) > c.atMost || (len(message) < len(plain)) != c.repeated {
				t.Errorf("%d bytes, in full %d, error %v", len(message), len(plain), err)
			}
			got, err := decodeBackRefs(message, 1<<20)
			if err != nil || !reflect.DeepEqual(c.value, got) {
				t.Errorf("error %v, want %v, got %v", err, c.value, got)
			}
			if _, err := wire.NewDecoder(message).Value(); (err != nil) != c.repeated {
				t.Errorf("a reader that expects no such thing: error %v", err)
			}
		})
	}
}

// doubled returns a value with a small encoding that expands to 2^times elements.
func doubled(times int) any {
	v := any(list{strings.Repeat("x", 60), "y"})
	for range times {
		v = list{v, v, strings.Repeat("x", 60)}
	}
	return v
}

func TestBackRefsBounded(t *testing.T) {
	for name, times := range map[string]int{"much": 20, "more than there are numbers for": 200} {
		message, err := encodeBackRefs(doubled(times))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeBackRefs(message, 1<<20); !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("%s: %d bytes that stand for 2^%d parts: error %v", name, len(message), times, err)
		}
	}
}

// chain nests by back references: each step is a list of the previous step, 100 levels deeper.
func chain(steps int) any {
	v, all := any(list{strings.Repeat("x", 60), "y"}), list{}
	for range steps {
		for range 100 {
			v = list{v}
		}
		all = append(all, v)
	}
	return all
}

func TestBackRefsNested(t *testing.T) {
	message, err := encodeBackRefs(chain(4))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeBackRefs(message, 1<<20); err != nil {
		t.Errorf("401 deep: %v", err)
	}
	if _, err := encodeBackRefs(chain(5)); !errors.Is(err, wire.ErrTooDeep) {
		t.Errorf("501 deep: error %v", err)
	}
	// As a foreign encoder could: each list is a back reference within 100 more.
	tooDeep := 0
	for number := range uint64(400) {
		hostile := append([]byte{6, 2}, message...)
		hostile = append(hostile, bytes.Repeat([]byte{6, 1}, 100)...)
		v, err := decodeBackRefs(binary.AppendUvarint(append(hostile, 10), number), 1<<20)
		if errors.Is(err, wire.ErrTooDeep) {
			tooDeep++
		}
		if levels(v) > wire.MaxDepth {
			t.Errorf("list %d again: %d levels, error %v", number, levels(v), err)
		}
	}
	if tooDeep == 0 {
		t.Error("no list was too deep")
	}
}

// levels returns how deep lists are nested.
func levels(v any) int {
	l, ok := v.(list)
	if !ok {
		return 0
	}
	deepest := 0
	for _, part := range l {
		deepest = max(deepest, levels(part))
	}
	return deepest + 1
}

func TestBackRefsRefused(t *testing.T) {
	within := append([]byte{6, 2, 5, 70}, strings.Repeat("x", 70)...)
	cases := map[string]struct {
		reason  string
		message []byte
	}{
		"nothing":  {"no part is numbered yet", []byte{10, 0}},
		"itself":   {"an incomplete part has no number, so it can't contain itself", append(within, 10, 0)},
		"cut":      {"the number is missing", []byte{10}},
		"too many": {"the number is unknown", []byte{6, 1, 10, 255, 255, 3}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if v, err := decodeBackRefs(c.message, 1<<20); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("value %v, error %v", v, err)
			}
		})
	}
}
