package wire_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

type (
	object = map[string]any
	list   = []any
)

// nested returns nested lists.
func nested(depth int) any {
	var v any = list{}
	for range depth - 1 {
		v = list{v}
	}
	return v
}

func encode(v any) ([]byte, error) {
	e := wire.NewEncoder(nil)
	e.Value(v)
	return e.Bytes(), e.Err()
}

func TestRoundTrip(t *testing.T) {
	cases := map[string]struct {
		reason      string
		value, want any
	}{
		"nil":             {"null is a value", nil, nil},
		"booleans":        {"each has a byte", list{true, false}, list{true, false}},
		"integers":        {"to the ends of their range", list{int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64)}, list{int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64)}},
		"numbers":         {"a whole float stays a float", list{1.0, -0.5, math.MaxFloat64}, list{1.0, -0.5, math.MaxFloat64}},
		"texts":           {"any bytes", list{"", "grüß", "\x00\xff", strings.Repeat("x", 300)}, list{"", "grüß", "\x00\xff", strings.Repeat("x", 300)}},
		"empty":           {"empty lists and maps are not null", list{object{}, list{}}, list{object{}, list{}}},
		"nil map and nil": {"nil lists and maps become empty ones", list{object(nil), list(nil)}, list{object{}, list{}}},
		"object":          {"nested maps and lists", object{"a": object{"": int64(1)}, "b": list{nil, "x"}}, object{"a": object{"": int64(1)}, "b": list{nil, "x"}}},
		"deepest":         {"the maximal depth", nested(wire.MaxDepth), nested(wire.MaxDepth)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			message, err := encode(c.value)
			if err != nil {
				t.Fatal(err)
			}
			for _, copied := range []bool{false, true} {
				d := wire.NewDecoder(message)
				d.Copy = copied
				got, err := d.Value()
				if !reflect.DeepEqual(c.want, got) || err != nil || d.Len() != 0 {
					t.Errorf("copied %v: error %v, %d bytes left, want %v, got %v", copied, err, d.Len(), c.want, got)
				}
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  any
		want   string
	}{
		"too deep":     {"the decoder recurses", nested(wire.MaxDepth + 1), wire.ErrTooDeep.Error()},
		"not a number": {"JSON has none", math.NaN(), "a value is NaN, which is no number in JSON"},
		"infinite":     {"JSON has none", math.Inf(-1), "a value is -Inf, which is no number in JSON"},
		"other type":   {"its decoded type would be unknown", object{"a": 1}, "a value is of type int, which JSON does not have"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if _, err := encode(c.value); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestEncodeBounded encodes a value that is small in memory and endless when encoded.
func TestEncodeBounded(t *testing.T) {
	var v any = list{}
	for range 100 {
		v = list{v, v}
	}
	e := wire.NewEncoder(nil)
	e.Max = 1000
	e.Value(v)
	if !errors.Is(e.Err(), wire.ErrTooLarge) || len(e.Bytes()) > 2000 {
		t.Errorf("error %v after %d bytes", e.Err(), len(e.Bytes()))
	}
}

// TestEncodeBoundedText encodes one value that exceeds the limit by itself.
func TestEncodeBoundedText(t *testing.T) {
	e := wire.NewEncoder(nil)
	e.Max = 1000
	e.Value(strings.Repeat("x", 1001))
	if !errors.Is(e.Err(), wire.ErrTooLarge) {
		t.Errorf("error %v", e.Err())
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := make([]byte, 0, 4000)
	for range wire.MaxDepth + 1 {
		deep = append(deep, 6, 1)
	}
	cases := map[string]struct {
		reason  string
		message []byte
		want    error
	}{
		"empty":             {"a value has at least one byte", nil, wire.ErrMalformed},
		"unknown tag":       {"no encoder writes it", []byte{200}, wire.ErrMalformed},
		"cut text":          {"the length exceeds the message", []byte{5, 200, 1, 'x'}, wire.ErrMalformed},
		"huge list":         {"nothing is allocated for an impossible length", []byte{6, 255, 255, 255, 255, 15}, wire.ErrMalformed},
		"huge map":          {"as with lists", []byte{7, 255, 255, 255, 255, 15}, wire.ErrMalformed},
		"key twice":         {"duplicate keys are refused", []byte{7, 2, 1, 'a', 0, 1, 'a', 0}, wire.ErrMalformed},
		"cut number":        {"a float has eight bytes", []byte{4, 1, 2}, wire.ErrMalformed},
		"not a number":      {"JSON has none", []byte{4, 1, 0, 0, 0, 0, 0, 248, 127}, wire.ErrMalformed},
		"endless integer":   {"more bits than an integer has", []byte{3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, wire.ErrMalformed},
		"too deep":          {"the decoder recurses", append(deep, 0), wire.ErrTooDeep},
		"kept without need": {"a decoder without Objects refuses it", []byte{8, 1, 2, 0, 0, 0, 7, 0}, wire.ErrMalformed},
		"not held":          {"the ID is unknown", []byte{9, 1}, wire.ErrMalformed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if v, err := wire.NewDecoder(c.message).Value(); !errors.Is(err, c.want) {
				t.Errorf("value %v, error %v, want %v", v, err, c.want)
			}
		})
	}
}

func TestDecodeBounded(t *testing.T) {
	message, err := encode(make(list, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	d := wire.NewDecoder(message)
	d.Memory = 8 << 20
	if _, err := d.Value(); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("a million nulls take 16 MiB: error %v, want %v", err, wire.ErrTooLarge)
	}
}

func TestCopy(t *testing.T) {
	message, _ := encode("before")
	d := wire.NewDecoder(message)
	d.Copy = true
	v, _ := d.Value()
	clear(message)
	if v != "before" {
		t.Errorf("the copy changed with the message: %q", v)
	}
}

func TestSorted(t *testing.T) {
	v := object{}
	for key := range strings.SplitSeq("abcdefghijklmnop", "") {
		v[key] = object{"y": key, "x": key}
	}
	first := ""
	for range 20 {
		e := wire.NewEncoder(nil)
		e.Sorted = true
		e.Value(v)
		if first == "" {
			first = string(e.Bytes())
		}
		if string(e.Bytes()) != first {
			t.Fatal("the same map was written in two ways")
		}
	}
}
