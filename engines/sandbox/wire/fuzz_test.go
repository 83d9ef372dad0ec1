package wire_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// FuzzJSON encodes and decodes any JSON and compares the result with the original.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`null`, `{"a":[1,2.5,"x",true,null,{}]}`, `[[[[]]]]`, `-0`, `1e300`, `9007199254740993`, `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(&want) != nil {
			t.Skip("no JSON")
		}
		want, ok := convertNumbers(want)
		message, err := encode(want)
		if !ok || err != nil {
			t.Skip("numbers beyond float64, or nested too deep")
		}
		got, err := wire.NewDecoder(message).Value()
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("error %v, want %v, got %v", err, want, got)
		}
	})
}

// convertNumbers converts numbers to int64 and float64, as package unstructured does.
func convertNumbers(v any) (any, bool) {
	ok := true
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			if n, err := v.Int64(); err == nil {
				return n, true
			}
		}
		n, err := v.Float64()
		return n, err == nil
	case []any:
		for i := range v {
			v[i], ok = and(ok)(convertNumbers(v[i]))
		}
	case map[string]any:
		for key := range v {
			v[key], ok = and(ok)(convertNumbers(v[key]))
		}
	}
	return v, ok
}

func and(before bool) func(any, bool) (any, bool) {
	return func(v any, ok bool) (any, bool) { return v, ok && before }
}

// FuzzHostile decodes arbitrary bytes. A decoded value must survive encoding and decoding, and memory
// must be in proportion to the bytes.
func FuzzHostile(f *testing.F) {
	for _, v := range []any{nil, int64(-5), 1.5, "text", list{true, object{"a": "b"}}, nested(20)} {
		message, err := encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Add([]byte{8, 1, 2, 0, 0, 0, 7, 0})
	f.Add([]byte{7, 255, 255, 3})
	f.Fuzz(func(t *testing.T, message []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := wire.NewDecoder(message)
		d.Objects = wire.NewObjects()
		d.Lookup, d.BackRefCost = d.Objects.Get, 12
		v, err := d.Value()
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(200*len(message)+1<<20) {
			t.Errorf("%d bytes made it allocate %d", len(message), allocated)
		}
		if err != nil {
			return
		}
		again, err := encode(v)
		if err != nil {
			t.Skip("a kept map within a deep value")
		}
		got, err := wire.NewDecoder(again).Value()
		if err != nil || !reflect.DeepEqual(v, got) {
			t.Errorf("error %v, want %v, got %v", err, v, got)
		}
	})
}
