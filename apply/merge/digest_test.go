package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestDigestIsOfJSON checks that a digest does not depend on how its value is encoded: annotations keep it.
func TestDigestIsOfJSON(t *testing.T) {
	numbers, nested := []any{}, any("x")
	for i := range 10_000 {
		numbers = append(numbers, int64(i), float64(i)/3, nil, true)
	}
	for i := range 300 {
		nested = map[string]any{"<b>&": nested, fmt.Sprint(i): strings.Repeat("y", 400), "list": []any{nil, "\u2028", int64(i)}}
	}
	large := strings.Repeat("z\x01\"\\", 50_000)
	for name, v := range map[string]any{
		"null": nil, "number": 1.5, "bool": true, "empty list": []any{}, "no list": []any(nil), "empty object": map[string]any{},
		"no object": map[string]any(nil), "numbers": numbers, "nested": nested, "large text": []any{large, map[string]any{large: large}},
		"large items": []any{numbers, "a", numbers, nested}, "fields": map[string]any{"b": numbers, "a": nested, "c": int64(1)},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if want := digestPrefix + hex.EncodeToString(sum[:]); Digest(v) != want {
			t.Errorf("%s: the digest is not that of its JSON", name)
		}
	}
	if got := Digest([]any{math.NaN(), large, large}); got != "" {
		t.Errorf("the digest of what is not JSON is %q", got)
	}
}

// TestMinLength checks that no form is left out that would fit.
func TestMinLength(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `[[]]`, `{"a":{}}`, `null`, `0`, `-1.5`, `""`, `"abc"`, `[0,0,0]`, `[null,true,false]`, `{"a":1,"b":[1,2,3],"c":{"d":"e"}}`,
		`{"":""}`, `[{},{},[]]`, `"\u0001"`, `{"metadata":{"name":"a","labels":{"app":"web"}},"data":{"x":"y"}}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := minLength(v, math.MaxInt, 1000); got > len(text) {
			t.Errorf("%s has at least %d bytes, but has %d", text, got, len(text))
		}
		if got := minLength([]any{v, strings.Repeat("x", 1000)}, 10, 1000); got > len(text)+15 {
			t.Errorf("%s beside a text of 10 bytes has at least %d bytes", text, got)
		}
	}
	if got := minLength(make([]any, 1000), math.MaxInt, 100); got <= 100 {
		t.Errorf("a thousand nulls have at least %d bytes, want more than the limit", got)
	}
}
