package parent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
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
				h := newHeldAnswers(make([]variant.Call, len(tc.sizes)), 100)
				for _, i := range rand.Perm(len(tc.sizes)) {
					if h.hasRoomFor(i) {
						h.add(i, heldAnswer{Answer: variant.Answer{Body: i}, size: tc.sizes[i]})
					}
				}
				held := 0
				for i, answer := range h.all() {
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
		if got := (&heldAnswer{Answer: variant.Answer{Body: tc.body}, size: 100}).memory(); got != tc.want {
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
		"Only":    {"The limit of the engine is enough.", []variant.Call{{}}, DefaultPassAnswerBytes, small, false},
		"Objects": {"It is not, together with so many objects.", []variant.Call{{}}, DefaultPassAnswerBytes, many, true},
		"Small":   {"It is not enough for a lower limit.", []variant.Call{{}}, 64 << 20, small, true},
		"Several": {"Answers add up.", []variant.Call{{}, {}}, DefaultPassAnswerBytes, small, true},
		"Kept":    {"An answer that is kept has a size.", []variant.Call{stamped}, DefaultPassAnswerBytes, small, true},
	} {
		if got := newHeldAnswers(tc.calls, tc.limit).sizeOf(tc.calls[0], tc.body); got > 0 != tc.want {
			t.Errorf("%s: size %d: %s", name, got, tc.reason)
		}
	}
}

// manyCalls is a variant with so many calls with stamps. The answer to the call "bad" is invalid.
type manyCalls struct {
	variant.Variant
	subjects []string
	answered func(answers []variant.Answer)
	err      error
}

func (v *manyCalls) Calls(variant.Observed) ([]variant.Call, error) {
	var calls []variant.Call
	for _, subject := range v.subjects {
		calls = append(calls, variant.Call{Hook: "map", Subject: subject, Stamps: map[string]string{"input": "1"}})
	}
	return calls, nil
}

func (v *manyCalls) Desired(_ variant.Observed, answers []variant.Answer) (desired variant.Desired, err error) {
	v.answered(answers)
	for _, answer := range answers {
		if answer.Call.Subject == "bad" {
			desired.InvalidAnswers = append(desired.InvalidAnswers, answer.Call)
		}
	}
	return desired, v.err
}

// largeAnswers is a program whose answers each have that many bytes.
type largeAnswers struct {
	engines.ProgramBase
	bytes int
	calls atomic.Int64
}

func (l *largeAnswers) Run(context.Context, engines.Call) (engines.Response, error) {
	l.calls.Add(1)
	return engines.Response{Body: map[string]any{"text": strings.Repeat("x", l.bytes)}}, nil
}

// newManyCallsPass returns a pass of a variant with one hook and a cache of a budget.
func newManyCallsPass(v variant.Variant, program engines.Program, budget int64) *pass {
	answers := lru.New(budget)
	return &pass{
		shared: &shared{
			config: Config{Definition: "MapController m", Variant: v}, passCache: newPassCache(answers, "MapController m"),
			env: Environment{Clock: clocktesting.NewFakeClock(time.Unix(5, 0)), Calls: 8, Answers: answers, PassAnswerBytes: budget},
		},
		key: controller.Key{Name: "p"}, parent: &unstructured.Unstructured{Object: map[string]any{}},
		programs: Programs{Revision: "r", ByHook: map[string]engines.Program{"map": program}},
	}
}

// TestLargeAnswersAreBounded has the hook of a map answer 7 MB for each of 200 inputs.
func TestLargeAnswersAreBounded(t *testing.T) {
	const budget, bytes, calls = 64 << 20, 7 << 20, 200
	program := &largeAnswers{bytes: bytes}
	v := &manyCalls{subjects: make([]string, calls)}
	for i := range v.subjects {
		v.subjects[i] = fmt.Sprint(i)
	}
	before := heapInUse()
	failed := 0
	v.answered = func(answers []variant.Answer) {
		if grown := heapInUse() - before; grown > budget+8<<20 {
			t.Errorf("the pass holds %d MiB, want at most %d", grown>>20, budget>>20)
		}
		for i, answer := range answers {
			if answer.Err != nil {
				failed++
			} else if failed > 0 {
				t.Errorf("answer %d is held, though one before it is not", i)
			}
		}
		if failed != calls-budget/bytes {
			t.Errorf("%d calls fail, want all but %d", failed, budget/bytes)
		}
		want := "HookLimitExceeded: map hook: the responses of this sync take more than 64 MiB of memory, with what is made " +
			"of the objects: there is room for the first 9 of 200: return less, spread the work over several parents, or raise --max-sync-response-size"
		if err := answers[calls-1].Err; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	p := newManyCallsPass(v, program, budget)
	if _, err := p.callHooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := program.calls.Load(); n > budget/bytes+8 {
		t.Errorf("%d calls were made, though there is room for %d answers", n, budget/bytes)
	}
	if grown := heapInUse() - before; grown > budget+8<<20 {
		t.Errorf("after the pass %d MiB are held, want at most %d", grown>>20, budget>>20)
	}
	runtime.KeepAlive(p)
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestOnlyValidAnswersAreRemembered checks which answers a second pass has to ask for again.
func TestOnlyValidAnswersAreRemembered(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   []int64 // calls after each pass
	}{
		"Invalid": {"An invalid answer is asked for again, the others are not.", nil, []int64{3, 4, 5}},
		"Failed":  {"If the answers can't be read, none is remembered.", boom, []int64{3, 6, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			program := &largeAnswers{bytes: 10}
			v := &manyCalls{subjects: []string{"a", "bad", "b"}, err: tc.err}
			p := newManyCallsPass(v, program, 1<<20)
			v.answered = func(answers []variant.Answer) {
				if name == "Failed" || program.calls.Load() == 3 {
					if n := p.env.Answers.Len("MapController m", answerGroup{p.passCache, p.key}); n != 0 {
						t.Errorf("%d answers are remembered before they are known to be valid", n)
					}
				}
			}
			var calls []int64
			for range tc.want {
				if _, err := p.callHooks(t.Context()); !errors.Is(err, tc.err) {
					t.Fatal(err)
				}
				calls = append(calls, program.calls.Load())
			}
			if diff := cmp.Diff(tc.want, calls); diff != "" {
				t.Errorf("%s\ncalls after each pass (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
