package answers

import (
	"math/rand/v2"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

func TestHeldAnswers(t *testing.T) {
	cases := map[string]struct {
		reason string
		sizes  []int
		want   int // of the first answers are held
	}{
		"Fit":       {"What fits is held.", []int{30, 30, 40}, 3},
		"Last":      {"The first ones are held.", []int{30, 30, 41}, 2},
		"Middle":    {"A small one after one that is too large is not, so that the order alone decides.", []int{30, 71, 1}, 1},
		"First":     {"None are, if the first one is too large.", []int{101, 1, 1}, 0},
		"None":      {"Without calls there is nothing to hold.", nil, 0},
		"NoMemory":  {"Failed calls hold nothing.", []int{100, 0, 0}, 3},
		"ManySmall": {"Many small ones add up.", []int{10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10}, 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				h := NewCollector(make([]variant.Call, len(tc.sizes)), 100)
				for _, i := range rand.Perm(len(tc.sizes)) {
					if h.HasRoomFor(i) {
						h.Add(i, Answer{Answer: variant.Answer{Body: i}, Size: tc.sizes[i]})
					}
				}
				held := 0
				for i, answer := range h.All() {
					switch {
					case answer.Err == nil && answer.Body == i:
						held++
					case answer.Err == nil || answer.Body != nil || engines.KindOf(answer.Err) != engines.Exhausted:
						t.Fatalf("answer %d is %v, %v", i, answer.Body, answer.Err)
					}
				}
				if held != tc.want {
					t.Fatalf("%s\n%d are held, want %d", tc.reason, held, tc.want)
				}
			}
		})
	}
}

// TestMemoryOfAnswer checks that the objects that an answer lists count more than its values.
func TestMemoryOfAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		body any
		want int
	}{
		"Null":     {nil, 100},
		"Status":   {map[string]any{"status": map[string]any{"list": make([]any, 9)}, "children": []any{}}, 100},
		"Children": {map[string]any{"children": make([]any, 9)}, 100 + 9*objectOverhead},
		"NoObject": {[]any{nil, nil}, 100},
	} {
		if got := (&Answer{Answer: variant.Answer{Body: tc.body}, Size: 100}).memory(); got != tc.want {
			t.Errorf("%s takes %d bytes, want %d", name, got, tc.want)
		}
	}
}

// TestSizeOf checks when an answer is walked through.
func TestSizeOf(t *testing.T) {
	stamped := variant.Call{Stamps: map[string]string{"input": "1"}}
	small, many := map[string]any{"children": []any{nil}}, map[string]any{"children": make([]any, 20_000)}
	for name, tc := range map[string]struct {
		reason string
		calls  []variant.Call
		limit  int
		body   any
		want   bool
	}{
		"Only":    {"The limit of the engine is enough.", []variant.Call{{}}, 128 << 20, small, false},
		"Objects": {"It is not, together with so many objects.", []variant.Call{{}}, 128 << 20, many, true},
		"Small":   {"It is not enough for a lower limit.", []variant.Call{{}}, 64 << 20, small, true},
		"Several": {"Answers add up.", []variant.Call{{}, {}}, 128 << 20, small, true},
		"Kept":    {"An answer that is kept has a size.", []variant.Call{stamped}, 128 << 20, small, true},
	} {
		if got := NewCollector(tc.calls, tc.limit).SizeOf(tc.calls[0], tc.body); got > 0 != tc.want {
			t.Errorf("%s: size %d: %s", name, got, tc.reason)
		}
	}
}
