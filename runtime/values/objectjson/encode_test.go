package objectjson

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// sameAsMarshal checks that Append writes what json.Marshal does.
func sameAsMarshal(t *testing.T, v any) {
	t.Helper()
	want, wantErr := json.Marshal(v)
	got, err := Append([]byte("before"), v)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("error %v, want %v", err, wantErr)
	}
	if err == nil && string(got) != "before"+string(want) {
		t.Errorf("got  %s\nwant before%s", got, want)
	}
	if text, err := MarshalString(v); (err != nil) != (wantErr != nil) || err == nil && text != string(want) {
		t.Errorf("as a string it is %s with error %v", text, err)
	}
	var written bytes.Buffer
	if err := Write(&written, v); (err != nil) != (wantErr != nil) || err == nil && written.String() != string(want) {
		t.Errorf("it is written as %s with error %v", written.String(), err)
	}
	if wantErr == nil && (!IsEncoding(string(want), v) || IsEncoding(string(want)+" ", v)) {
		t.Errorf("%s is not recognized", want)
	}
	if text, err := Marshal(v); (err != nil) != (wantErr != nil) || err == nil && string(text) != string(want) {
		t.Errorf("as bytes it is %s with error %v", text, err)
	}
}

func TestAppend(t *testing.T) {
	everyASCII := make([]byte, 128)
	for i := range everyASCII {
		everyASCII[i] = byte(i)
	}
	cases := map[string]struct {
		reason string
		value  any
	}{
		"Null":        {"a null", nil},
		"Strings":     {"each character has its own form", []any{string(everyASCII), "ä€😀", "\u2028\u2029\u202a", "\ufffd"}},
		"NotUTF8":     {"what is no UTF-8 is replaced", []any{"\xff", "a\xc3", "\xed\xa0\x80", "\xf0\x9f", "\x80b"}},
		"Ints":        {"integers", []any{int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64)}},
		"Floats":      {"floats have ES6's exponents", []any{0.0, math.Copysign(0, -1), 1.0, 1.5, 1e-6, 9.99e-7, 1e-9, 1e20, 1e21, -1e-10, 1e100, 5e-324, math.MaxFloat64}},
		"NaN":         {"no JSON has it", map[string]any{"a": math.NaN()}},
		"Infinite":    {"no JSON has it", []any{math.Inf(1)}},
		"Nil":         {"nil maps and lists are null", []any{map[string]any(nil), []any(nil)}},
		"Empty":       {"empty maps and lists", map[string]any{"a": map[string]any{}, "b": []any{}, "": ""}},
		"Sorted":      {"names are sorted, at every level", map[string]any{"b": map[string]any{"z": true, "a": false}, "a": []any{map[string]any{"y": nil, "x": 1.0}}, "<b>": "&"}},
		"Other types": {"others are left to json.Marshal", map[string]any{"a": 1, "b": []string{"x"}, "c": map[string]string{"<": ">"}, "d": json.Number("1.0"), "e": uint8(3), "f": float32(0.1)}},
		"Refused":     {"what json.Marshal refuses", map[string]any{"a": func() {}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			sameAsMarshal(t, tc.value)
		})
	}
}

// TestAppendAfterError checks that an error leaves nothing behind for the next call.
func TestAppendAfterError(t *testing.T) {
	if _, err := Append(nil, map[string]any{"a": 1.0, "b": math.NaN(), "c": 1.0}); err == nil {
		t.Fatal("NaN was written")
	}
	sameAsMarshal(t, map[string]any{"x": "y"})
}

func FuzzAppend(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"<b>\n\u2028","c":"\ud800"},"n":[1,1.0,1e21,-0.0,1e-7,null,true]}`, "a")
	f.Add(`[]`, "\xff<")
	f.Fuzz(func(t *testing.T, text, name string) {
		var v any
		if err := utiljson.Unmarshal([]byte(text), &v); err != nil {
			v = text
		}
		sameAsMarshal(t, map[string]any{name: v, "text": text})
	})
}

func BenchmarkAppend(b *testing.B) {
	text := make([]byte, 1500)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	object := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": string(text)},
		"metadata": map[string]any{"name": "a", "namespace": "b", "labels": map[string]any{"a": "b", "c": "d"}},
	}
	b.Run("Append", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			dst, _ = Append(dst[:0], object)
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(object)
		}
	})
}
