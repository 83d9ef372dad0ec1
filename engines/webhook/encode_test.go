package webhook

import (
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines"
)

// encoded returns what is sent, by an engine with that cache.
func encoded(t *testing.T, cache *jsonCache, request map[string]any) string {
	t.Helper()
	x := &exchange{program: &program{engine: &engine{jsonCache: cache}}, call: engines.Call{Request: request}}
	body, err := x.encode()
	if err != nil {
		t.Fatal(err)
	}
	defer body.release()
	return string(body.text)
}

func TestEncodeAsEncodingJSON(t *testing.T) {
	cases := map[string]any{
		"null": nil, "text": "a", "empty": "", "control": "\x00\x1f\n\t\r", "quotes": `"\`, "emoji": "Grüße 🎼", "broken": "a\xffb\xc3",
		"true": true, "int": int64(-42), "largest": int64(math.MaxInt64), "half": 0.5, "huge": 1e21, "tiny": 1e-7, "whole": 3.0, "zero": 0.0,
		"list": []any{int64(1), nil, []any{}}, "object": map[string]any{"b": int64(1), "a": map[string]any{}},
		"nil list": []any(nil), "nil object": map[string]any(nil), "other int": 7, "other map": map[string]string{"a": "b"},
	}
	for name, value := range cases {
		t.Run(name, func(t *testing.T) {
			request := map[string]any{"value": value, name: name}
			standard, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			ours := encoded(t, newJSONCache(1<<20), request)
			if alone, err := Encode(request); err != nil || string(alone) != ours {
				t.Errorf("Encode returns %s and %v, and %s is sent", alone, err, ours)
			}
			if diff := cmp.Diff(decoded(t, standard), decoded(t, []byte(ours))); diff != "" {
				t.Errorf("encoding/json and %s differ (-standard +ours):\n%s", ours, diff)
			}
		})
	}
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func FuzzString(f *testing.F) {
	for _, seed := range []string{"", "plain", "\u2028<&>", "\xff\x00\"\\", "Grüße"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := encoded(t, nil, map[string]any{"s": s})
		if !utf8.ValidString(text) {
			t.Errorf("%q is no UTF-8", text)
		}
		standard, _ := json.Marshal(map[string]any{"s": s})
		if diff := cmp.Diff(decoded(t, standard), decoded(t, []byte(text))); diff != "" {
			t.Errorf("(-standard +ours):\n%s", diff)
		}
	})
}

func TestNoNumber(t *testing.T) {
	_, failure := call(t, compile(t, endpoint("http://127.0.0.1:1")), engines.Call{Request: map[string]any{"a": math.NaN()}})
	compareFailure(t, failure, engines.Failed, "NaN", 0)
}

// TestCache shows that no request holds an object as it was, and that what is kept is bounded.
func TestCache(t *testing.T) {
	cache := newJSONCache(2000)
	version := func(rv, value string) map[string]any {
		return map[string]any{"metadata": map[string]any{"uid": "u", "resourceVersion": rv}, "value": value}
	}
	first, second, patched := version("1", "first"), version("2", "second"), version("1", "patched")
	for _, object := range []map[string]any{first, first, second, first, patched, first, patched} {
		got := decoded(t, []byte(encoded(t, cache, map[string]any{"parent": object})))
		if diff := cmp.Diff(any(map[string]any{"parent": object}), got); diff != "" {
			t.Errorf("an object is sent as another one (-want +got):\n%s", diff)
		}
	}
	for i := range 100 {
		encoded(t, cache, map[string]any{"child": object("Pod", string(rune('a'+i)))})
	}
	kept := 0
	for _, generation := range []map[string]cachedJSON{cache.recent, cache.older} {
		for _, s := range generation {
			kept += len(s.text)
		}
	}
	if kept == 0 || kept > 2000+200 {
		t.Errorf("%d bytes are kept, want at most 2000 and one object", kept)
	}
}

func TestCacheKeepsWhatIsUsed(t *testing.T) {
	cache := newJSONCache(2000)
	used := object("Pod", "used")
	for i := range 100 {
		encoded(t, cache, map[string]any{"a": used, "b": object("Pod", string(rune('a'+i)))})
		if cache.get(cache.identify(used)) == nil {
			t.Fatalf("what every request holds is gone after %d of them", i+1)
		}
	}
}
