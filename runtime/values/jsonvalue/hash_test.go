package jsonvalue

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

// TestHash compares the hashes of values that differ in one thing.
func TestHash(t *testing.T) {
	values := []any{
		nil, false, true, "", "a", "i", int64(0), int64(1), 0.5, []any{}, []any{nil}, []any{"a", "b"}, []any{"b", "a"}, []any{[]any{"a"}, "b"},
		map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": "b"}, map[string]any{"b": "a"}, map[string]any{"a": "b", "c": "d"},
		map[string]any{"a": "d", "c": "b"}, map[string]any{"a": map[string]any{"b": "c"}}, map[string]any{"a": []any{"b", "c"}},
	}
	for i, a := range values {
		for j, b := range values {
			if same := Hash(a) == Hash(b); same != (i == j) {
				t.Errorf("%v and %v: same hash %v", a, b, same)
			}
		}
	}
}

func TestFingerprint(t *testing.T) {
	same := [][2]string{
		{`{"a": 1, "b": 1.0}`, `{"b": 1, "a": 1.0, "c": null}`},
		{`{"a": {"b": [1, "x"]}}`, `{"a": {"b": [1, "x"], "c": null}}`},
	}
	for _, pair := range same {
		if Fingerprint(decode(t, pair[0])) != Fingerprint(decode(t, pair[1])) {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
	seen := map[uint64]string{}
	for _, text := range []string{
		`{}`, `{"a": {}}`, `{"a": []}`, `{"a": ""}`, `{"a": 0}`, `{"a": false}`, `{"a": true}`, `{"a": 1}`, `{"a": 1.5}`, `{"a": -1}`, `{"a": "1"}`,
		`{"a": [1, 2]}`, `{"a": [2, 1]}`, `{"a": [[1], 2]}`, `{"a": [[1, 2]]}`, `{"a": [null]}`, `{"a": "b", "b": "a"}`, `{"a": "a", "b": "b"}`,
		`{"a": "12345678"}`, `{"a": "123456789"}`, `{"a": "12345678\u0000"}`, `{"a": {"b": 1}}`, `{"b": {"a": 1}}`, `{"a": {"b": 1, "c": 2}}`, `{"a": {"b": 2, "c": 1}}`,
	} {
		sum := Fingerprint(decode(t, text))
		if other := seen[sum]; other != "" {
			t.Errorf("%s is as %s", text, other)
		}
		seen[sum] = text
	}
	if got, want := Fingerprint(map[string]any{"a": "twelve bytes", "b": []any{int64(1), true, 0.5}}), uint64(0xc0ba11b02db1760c); got != want {
		t.Errorf("%#x, want %#x: another process has to find the same", got, want)
	}
}

// decode reads JSON as the API's clients do.
func decode(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
