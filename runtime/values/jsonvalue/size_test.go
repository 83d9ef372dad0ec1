package jsonvalue

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/race"
)

// TestSize compares the size with what the heap grows by.
func TestSize(t *testing.T) {
	race.Skip(t)
	texts := func(n int) map[string]any {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprintf("key-%d", i)] = fmt.Sprintf("value-%d", i)
		}
		return m
	}
	list := func(item func(i int) any) any {
		l := make([]any, 100)
		for i := range l {
			l[i] = item(i)
		}
		return l
	}
	cases := map[string]struct {
		reason string
		make   func() any
	}{
		"EmptyMaps":  {"Even an empty map has a header.", func() any { return list(func(int) any { return map[string]any{} }) }},
		"SmallMap":   {"A map of one entry has room for eight.", func() any { return map[string]any{"": true} }},
		"EightTexts": {"A full small map.", func() any { return texts(8) }},
		"NineTexts":  {"The next size.", func() any { return texts(9) }},
		"LargeMap":   {"A large map is at most seven eighths full.", func() any { return texts(1000) }},
		"List":       {"An element takes two words.", func() any { return make([]any, 1000) }},
		"Capacity":   {"What a list has room for counts.", func() any { return make([]any, 1, 1000) }},
		"Numbers":    {"Numbers are boxed.", func() any { return list(func(i int) any { return float64(i) + 0.5 }) }},
		"LongText":   {"Letters count.", func() any { return []any{strings.Repeat("x", 10_000)} }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			const copies = 2000
			all := make([]any, copies)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC() // Of what other tests have left.
			runtime.ReadMemStats(&before)
			for i := range all {
				all[i] = tc.make()
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			got, want := Size(all[0], math.MaxInt), float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/copies
			if ratio := float64(got) / want; ratio < 0.8 || ratio > 1.35 {
				t.Errorf("size %d, but the heap grows by %.0f", got, want)
			}
			runtime.KeepAlive(all)
		})
	}
}

// TestSizeEndsAtLimit checks that a value of which the same part occurs very often is not walked through.
func TestSizeEndsAtLimit(t *testing.T) {
	var v any = "x"
	for range 100 {
		v = map[string]any{"list": []any{v, v}} // Two to the power of 100 in all.
	}
	if got := Size(v, 1<<20); got <= 1<<20 || got > 2<<20 {
		t.Errorf("size %d, want a little more than the limit of %d", got, 1<<20)
	}
	if a, b := Size([]any{"a"}, 1000), Size([]any{"a"}, math.MaxInt); a != b {
		t.Errorf("below the limit the size is %d, want %d as without one", a, b)
	}
}

func BenchmarkSize(b *testing.B) {
	pod := map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]any{"app": "a"}}, "spec": map[string]any{
		"containers": []any{map[string]any{"name": "a", "image": "b", "env": []any{map[string]any{"name": "A", "value": "B"}}}},
	}}
	for b.Loop() {
		Size(pod, math.MaxInt)
	}
}
