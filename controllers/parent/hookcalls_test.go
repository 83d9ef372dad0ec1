package parent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

func TestWithTimeout(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"None": {"Nothing is wrong.", nil, ""},
		"Timeout": {
			"A timeout names its length and the field to change.", &engines.Error{Kind: engines.Timeout, Message: "too late"},
			"too late, which is 2s: see timeout in spec.hooks.sync",
		},
		"Busy":    {"It is not the timeout that was too short.", &engines.Error{Kind: engines.Busy, Message: "no worker"}, "no worker"},
		"Failed":  {"Other errors are not changed.", &engines.Error{Message: "boom"}, "boom"},
		"Foreign": {"An error from elsewhere is not changed.", errors.New("odd"), "odd"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := withTimeout("sync", 2*time.Second, tc.err)
			if err == nil != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("%s\nerror %v, want %q", tc.reason, err, tc.want)
			}
			if tc.err != nil && engines.KindOf(err) != engines.KindOf(tc.err) {
				t.Errorf("%s\nkind %v, want %v", tc.reason, engines.KindOf(err), engines.KindOf(tc.err))
			}
		})
	}
}

// recorder is a program that records its last call.
type recorder struct {
	engines.ProgramBase
	call engines.Call
}

func (a *recorder) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	a.call = call
	return engines.Response{}, nil
}

// TestCallIsComplete checks that a call has all fields that an engine needs besides the
// request, such as those by which it selects and shares workers.
func TestCallIsComplete(t *testing.T) {
	now, program := time.Unix(5, 0), &recorder{}
	p := &pass{
		shared:   &shared{config: Config{Definition: "MapController m"}, env: Environment{Clock: clocktesting.NewFakeClock(now)}},
		parent:   &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "u", "namespace": "n"}}},
		programs: Programs{ByHook: map[string]engines.Program{"map": program}},
	}
	request := map[string]any{"mapKey": "k"}
	if _, err := p.call(t.Context(), variant.Call{Hook: "map", Request: request, Subject: "k"}, now); err != nil {
		t.Fatal(err)
	}
	want := engines.Call{Request: request, Subject: "k", Now: now, Seed: "u", Owner: "MapController m", Origin: engines.Origin{ID: "u", Namespace: "n"}}
	if diff := cmp.Diff(want, program.call); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	input := variant.Call{Hook: "map", Request: request, Origin: engines.Origin{ID: "/ConfigMap/m/i", Namespace: "m"}}
	if _, err := p.call(t.Context(), input, now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(engines.Origin{ID: "u//ConfigMap/m/i", Namespace: "m"}, program.call.Origin); diff != "" {
		t.Errorf("origin of a call about an input (-want +got):\n%s", diff)
	}
}

// failing is a program that fails, and may be paused from then on.
type failing struct {
	engines.ProgramBase
	open *engines.Error
}

func (failing) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, &engines.Error{Message: "boom"}
}

func (f failing) CircuitOpen() *engines.Error { return f.open }

// TestPauseIsReported checks that the definition is notified of a script that is paused.
func TestPauseIsReported(t *testing.T) {
	now := time.Unix(5, 0)
	for want, program := range map[int]failing{0: {}, 1: {open: &engines.Error{Message: "not called until then"}}} {
		changes := 0
		p := &pass{
			shared:   &shared{config: Config{Changed: func() { changes++ }}, env: Environment{Clock: clocktesting.NewFakeClock(now)}},
			parent:   &unstructured.Unstructured{Object: map[string]any{}},
			programs: Programs{ByHook: map[string]engines.Program{"sync": program}},
		}
		if _, err := p.call(t.Context(), variant.Call{Hook: "sync"}, now); err == nil {
			t.Error("the call does not fail")
		}
		if changes != want {
			t.Errorf("a script with the pause %v is reported %d times, want %d", program.open, changes, want)
		}
	}
}

func TestLifetime(t *testing.T) {
	remote, script := engines.Response{TimeDependent: true, Remote: true}, engines.Response{TimeDependent: true}
	cases := map[string]struct {
		reason   string
		response engines.Response
		period   time.Duration
		most     time.Duration
	}{
		"Script":       {"The answer of a script does not change until an edit.", engines.Response{}, time.Minute, 0},
		"Clock":        {"That of a script that reads the clock may.", script, time.Minute, time.Minute},
		"ClockForever": {"It is called only as often as the definition sets.", script, 0, 0},
		"Webhook":      {"A server may have been replaced.", remote, 0, 20 * time.Minute},
		"Shorter":      {"A definition may set a shorter period.", remote, time.Minute, time.Minute},
		"Longer":       {"A longer period does not count.", remote, time.Hour, 20 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			seconds := map[time.Duration]int{}
			for n := range 1000 {
				parent := &unstructured.Unstructured{Object: map[string]any{}}
				parent.SetUID(types.UID(fmt.Sprintf("6f1a7c3e-%04d", n)))
				p := &pass{shared: &shared{config: Config{ResyncPeriod: tc.period}}, parent: parent}
				got := p.lifetime(tc.response)
				if got > tc.most || got < tc.most*9/10 {
					t.Fatalf("lifetime %s, want from nine tenths of %s to all of it", got, tc.most)
				}
				seconds[got.Truncate(time.Second)]++
			}
			for second, parents := range seconds {
				if tc.most == 20*time.Minute && parents > 50 {
					t.Errorf("%d of 1000 parents call in one second, after %s", parents, second)
				}
			}
		})
	}
}

// busyProgram is one for which the host has no worker.
type busyProgram struct {
	engines.ProgramBase
	calls atomic.Int64
}

func (b *busyProgram) Run(context.Context, engines.Call) (engines.Response, error) {
	b.calls.Add(1)
	return engines.Response{}, &engines.Error{Kind: engines.Busy, Message: "no worker", RetryAfter: time.Second}
}

// TestCallsOfBusyHost has the hook of a map with 200 inputs called when there is no worker: the calls that are under way wait, and the others
// of the pass do not wait in turn.
func TestCallsOfBusyHost(t *testing.T) {
	program := &busyProgram{}
	v := &manyCalls{subjects: make([]string, 200)}
	for i := range v.subjects {
		v.subjects[i] = strconv.Itoa(i)
	}
	v.answered = func(answers []variant.Answer) {
		for i, answer := range answers {
			if !failure.IsBusy(answer.Err) || answer.Call.Subject != strconv.Itoa(i) {
				t.Fatalf("call %d: %v of %q, want that the host is busy", i, answer.Err, answer.Call.Subject)
			}
		}
	}
	p := newManyCallsPass(v, program, 1<<20)
	if _, err := p.callHooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := program.calls.Load(); n > int64(2*p.env.Calls) {
		t.Errorf("%d calls were made", n)
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
	known := lru.New(budget)
	return &pass{
		shared: &shared{
			config:   Config{Definition: "MapController m", Variant: v},
			env:      Environment{Clock: clocktesting.NewFakeClock(time.Unix(5, 0)), Calls: 8, Answers: known, PassAnswerBytes: budget},
			memories: memories{passCache: answers.NewCache(known, "MapController m")},
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
			v.answered = func([]variant.Answer) {
				if name == "Failed" || program.calls.Load() == 3 {
					if n := p.env.Answers.Len("MapController m", answers.AnswerGroup{Cache: p.passCache, Parent: p.key}); n != 0 {
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
