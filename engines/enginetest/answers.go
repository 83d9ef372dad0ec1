package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func checkValues(t *testing.T, e *engineUnderTest) {
	program := e.compile(t, Echo)
	values := map[string]any{
		"object":        map[string]any{"status": map[string]any{"ready": true}, "children": []any{}},
		"empty object":  map[string]any{},
		"array":         []any{int64(1), "two", nil, map[string]any{"three": 3.5}, []any{}},
		"null":          nil,
		"text":          "text",
		"empty text":    "",
		"boolean":       false,
		"one":           int64(1),
		"negative":      int64(-42),
		"fraction":      1.5,
		"largest exact": int64(1<<53 - 1),
		"beyond 2^53":   int64(1<<53 + 1),
		"largest":       int64(1<<63 - 1),
		"smallest":      int64(-1 << 63),
		"beyond within": []any{map[string]any{"n": int64(1<<60 + 1)}, int64(-1<<53 - 1)},
		"huge":          1e21,
		"unicode":       "Grüße, 世界 🎼 \u2028 \x00 \"quoted\"",
		"unicode key":   map[string]any{"schlüssel/🎼": "ß", "__proto__": "p", "constructor": "c", "10": "a", "9": "b"},
	}
	for name, want := range values {
		t.Run(name, func(t *testing.T) {
			response, err := program.Run(t.Context(), call(map[string]any{"value": want}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, response.Body); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func checkNumbers(t *testing.T, e *engineUnderTest) {
	e.checkReference(t, Numbers, map[string]any{"a": int64(6), "b": int64(7)})
}

func checkLarge(t *testing.T, e *engineUnderTest) {
	items := []any{}
	for i := range 2000 {
		items = append(items, map[string]any{"index": int64(i), "text": strings.Repeat("x", 500)})
	}
	e.checkReference(t, Echo, map[string]any{"value": items})
}

func checkStatefulSet(t *testing.T, e *engineUnderTest) {
	for _, c := range []struct{ replicas, existing, ready int }{{0, 0, 0}, {3, 0, 0}, {3, 2, 1}, {3, 3, 3}, {1, 3, 3}, {30, 30, 30}} {
		t.Run(fmt.Sprintf("%d wanted, %d there, %d ready", c.replicas, c.existing, c.ready), func(t *testing.T) {
			e.checkReference(t, StatefulSet, StatefulSetRequest(c.replicas, c.existing, c.ready))
		})
	}
}

func (e *engineUnderTest) checkReference(t *testing.T, hook Hook, request map[string]any) {
	t.Helper()
	want, err := Reference(hook, request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, e.answer(t, hook, request).Body); diff != "" {
		t.Errorf("hook %s (-want +got):\n%s", hook, diff)
	}
}

func checkTimeDependent(t *testing.T, e *engineUnderTest) {
	first, second := e.answer(t, Clock, map[string]any{}), e.answer(t, Clock, map[string]any{})
	if !first.TimeDependent {
		t.Error("the answer does not say that it depends on the time")
	}
	if diff := cmp.Diff(first.Body, second.Body); diff != "" {
		t.Errorf("two calls at one time differ (-first +second):\n%s", diff)
	}
}

func checkNotTimeDependent(t *testing.T, e *engineUnderTest) {
	if e.answer(t, Echo, map[string]any{"value": "x"}).TimeDependent {
		t.Error("the answer says that it depends on the time")
	}
}

func checkRead(t *testing.T, e *engineUnderTest) {
	read := e.answer(t, Echo, map[string]any{"value": "x", "other": "y", "another": nil}).Read
	if read == nil {
		return // The engine can't tell.
	}
	if diff := cmp.Diff(engines.ReadSet{"value"}, read); diff != "" {
		t.Errorf("fields that the hook read (-want +got):\n%s", diff)
	}
}
