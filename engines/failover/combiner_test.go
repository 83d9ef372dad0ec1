package failover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
	"github.com/libretto-k8s/libretto/test/cluster"
)

var hook = Hook{Definition: "CompositeController a", Name: "sync"}

// says is a program that answers, fails, panics or waits until it is stopped.
type says struct {
	engines.ProgramBase
	body  any
	err   error
	panic string
	wait  chan struct{}
}

func (s says) Run(ctx context.Context, _ engines.Call) (engines.Response, error) {
	if s.panic != "" {
		panic(s.panic)
	}
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return engines.Response{Logs: []string{"stopped"}}, engines.Ended(ctx)
		}
	}
	return engines.Response{Body: s.body, Read: engines.ReadSet{"parent.spec"}, Logs: []string{fmt.Sprint("says ", s.body)}}, s.err
}

func timed(program engines.Program) TimedProgram {
	return TimedProgram{Program: program, Timeout: time.Minute}
}

func fails(kind engines.Kind) says {
	return says{err: &engines.Error{Kind: kind, Message: "boom"}}
}

func TestFallback(t *testing.T) {
	good := says{body: "webhook"}
	endless := TimedProgram{Program: says{wait: make(chan struct{})}, Timeout: time.Millisecond}
	busy := says{err: &engines.Error{Message: "busy", RetryAfter: time.Minute}}
	cases := map[string]struct {
		reason        string
		first, second TimedProgram
		want          any
		err           string
		counted       string
	}{
		"script":         {reason: "it answers", first: timed(says{body: "script"}), second: timed(good), want: "script"},
		"not loaded":     {reason: "the webhook answers", second: timed(good), want: "webhook", counted: notLoaded},
		"too long":       {reason: "the webhook has its own time", first: endless, second: timed(good), want: "webhook", counted: "HookTimedOut"},
		"over a limit":   {reason: "the webhook answers", first: timed(fails(engines.Exhausted)), second: timed(good), want: "webhook", counted: "HookLimitExceeded"},
		"no worker":      {reason: "the webhook answers, and the script is not to blame", first: timed(fails(engines.Busy)), second: timed(good), want: "webhook", counted: "HostBusy"},
		"throws":         {reason: "that is the script's answer", first: timed(fails(engines.Failed)), second: timed(good), err: "boom"},
		"no answer":      {reason: "that is the script's answer", first: timed(fails(engines.BadResponse)), second: timed(good), err: "boom"},
		"both too long":  {reason: "both are reported", first: endless, second: endless, err: "deadline; it was asked in place of the script: did not answer", counted: "HookTimedOut"},
		"fallback fails": {reason: "the webhook's wishes count", first: endless, second: timed(busy), err: "busy; it was asked", counted: "HookTimedOut"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			registry := prometheus.NewRegistry()
			pairs := New(registry, funcr.New(func(string, string) {}, funcr.Options{}))
			response, err := pairs.WithFallback(hook, c.first, c.second).Run(t.Context(), engines.Call{})
			if c.err == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("error %v, want one that says %q", err, c.err)
			}
			if err == nil && response.Body != c.want {
				t.Errorf("answer %v, want %v", response.Body, c.want)
			}
			if c.counted != "" && testutil.ToFloat64(pairs.fallbacks.WithLabelValues(definitionmetrics.Values(hook.Definition, hook.Name, c.counted)...)) != 1 {
				t.Errorf("not counted as %s", c.counted)
			}
			total := 0.0
			for _, reason := range fallbackReasons() {
				total += testutil.ToFloat64(pairs.fallbacks.WithLabelValues(definitionmetrics.Values(hook.Definition, hook.Name, reason)...))
			}
			if c.counted == "" && total != 0 {
				t.Error("counted, though the script answered")
			}
		})
	}
}

func TestFallbackPassesOnWhenToComeBack(t *testing.T) {
	busy := says{err: &engines.Error{Message: "busy", RetryAfter: time.Minute}}
	_, err := (*Combiner)(nil).WithFallback(hook, TimedProgram{}, timed(busy)).Run(t.Context(), engines.Call{})
	var e *engines.Error
	if !errors.As(err, &e) || e.RetryAfter != time.Minute {
		t.Errorf("error %v, want one with RetryAfter", err)
	}
}

// TestFallbackTellsWhoAnswered shows that what a webhook answered in place of a script is
// known to come from a server, and what the script answered is not.
func TestFallbackTellsWhoAnswered(t *testing.T) {
	server := remote{says{body: "webhook"}}
	for reason, c := range map[string]struct {
		first TimedProgram
		want  bool
	}{
		"the script answers":      {timed(says{body: "script"}), false},
		"it has not loaded":       {TimedProgram{}, true},
		"it goes over its limits": {timed(fails(engines.Exhausted)), true},
	} {
		response, err := (*Combiner)(nil).WithFallback(hook, c.first, timed(server)).Run(t.Context(), engines.Call{})
		if err != nil || response.Remote != c.want {
			t.Errorf("%s: remote is %v (error %v), want %v", reason, response.Remote, err, c.want)
		}
		if isUnknown := response.Read == nil; isUnknown != c.want {
			t.Errorf("%s: what it read is %v, which for a server nobody knows", reason, response.Read)
		}
	}
}

// remote answers as a server does.
type remote struct{ says }

func (r remote) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response, err := r.says.Run(ctx, call)
	response.Remote, response.Read = true, nil
	return response, err
}

func TestNobodyStepsInAfterTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	program := (*Combiner)(nil).WithFallback(hook, timed(says{wait: make(chan struct{})}), timed(says{body: "webhook"}))
	if response, err := program.Run(ctx, engines.Call{}); !errors.Is(err, context.Canceled) {
		t.Errorf("answer %v, error %v, want context.Canceled", response.Body, err)
	}
}

// journal is a log that tests can read.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) write(_, line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

func TestShadow(t *testing.T) {
	answer := map[string]any{"children": []any{}, "status": map[string]any{"n": int64(1)}}
	other := map[string]any{"children": []any{}, "status": map[string]any{"n": int64(2), "password": "secret"}}
	cases := map[string]struct {
		reason    string
		serving   says
		shadow    TimedProgram
		verbosity int
		outcome   string
		logged    string
		notLogged string
	}{
		"equal":            {reason: "nothing is reported", serving: says{body: answer}, shadow: timed(says{body: answer}), outcome: equal, notLogged: "shadow"},
		"different":        {reason: "where, and not what: it may be secret", serving: says{body: answer}, shadow: timed(says{body: other}), verbosity: 1, outcome: different, logged: `"first"="status.n"`, notLogged: "secret"},
		"diff":             {reason: "what, to those who ask for it", serving: says{body: answer}, shadow: timed(says{body: other}), verbosity: diffLevel, outcome: different, logged: "status.n: served 1, shadow 2"},
		"shadow fails":     {reason: "it has no answer", serving: says{body: answer}, shadow: timed(fails(engines.Failed)), verbosity: 1, outcome: failed, logged: "boom"},
		"shadow panics":    {reason: "nobody else is harmed", serving: says{body: answer}, shadow: timed(says{panic: "oh"}), verbosity: 1, outcome: failed, logged: "the engine panicked: oh"},
		"shadow is late":   {reason: "it has its own time", serving: says{body: answer}, shadow: TimedProgram{Program: says{wait: make(chan struct{})}, Timeout: time.Millisecond}, outcome: failed},
		"not loaded":       {reason: "it has no answer", serving: says{body: answer}, verbosity: 1, outcome: failed, logged: "it has not loaded"},
		"named in the log": {reason: "whose answer it was", serving: says{body: answer}, shadow: timed(says{body: other}), verbosity: 1, outcome: different, logged: `"parent"="ns/web"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			log := &journal{}
			pairs := New(prometheus.NewRegistry(), funcr.New(log.write, funcr.Options{Verbosity: c.verbosity}))
			call := engines.Call{Request: map[string]any{"parent": map[string]any{"metadata": map[string]any{"namespace": "ns", "name": "web"}}}}
			response, err := pairs.WithShadow(hook, c.serving, c.shadow).Run(t.Context(), call)
			if diff := cmp.Diff(c.serving.body, response.Body); diff != "" || err != nil {
				t.Errorf("error %v, answer (-want +got):\n%s", err, diff)
			}
			cluster.Eventually(t, 10*time.Second, func() error {
				if got := pairs.count(c.outcome); got != 1 || len(pairs.slots) != 0 {
					return fmt.Errorf("%v counted as %s, want 1", got, c.outcome)
				}
				return nil
			})
			if !strings.Contains(log.text(), c.logged) || c.notLogged != "" && strings.Contains(log.text(), c.notLogged) {
				t.Errorf("the log must have %q and not %q:\n%s", c.logged, c.notLogged, log.text())
			}
		})
	}
}

func (p *Combiner) count(outcome string) float64 {
	return testutil.ToFloat64(p.shadows.WithLabelValues(definitionmetrics.Values(hook.Definition, hook.Name, outcome)...))
}

func TestFailuresAreNotCompared(t *testing.T) {
	pairs := New(prometheus.NewRegistry(), funcr.New(func(string, string) {}, funcr.Options{}))
	if _, err := pairs.WithShadow(hook, fails(engines.Failed), timed(says{panic: "asked"})).Run(t.Context(), engines.Call{}); err == nil {
		t.Error("the failure is lost")
	}
	for _, outcome := range []string{equal, different, failed, dropped} {
		if got := pairs.count(outcome); got != 0 {
			t.Errorf("%v outcomes %s are counted", got, outcome)
		}
	}
}

// A shadow that hangs costs no call its answer, and no more than so many goroutines.
func TestShadowsAreBounded(t *testing.T) {
	pairs := New(prometheus.NewRegistry(), funcr.New(func(string, string) {}, funcr.Options{}))
	hang := make(chan struct{})
	program := pairs.WithShadow(hook, says{body: "a"}, timed(says{body: "a", wait: hang}))
	for range maxShadowCalls + 5 {
		if response, err := program.Run(t.Context(), engines.Call{}); err != nil || response.Body != "a" {
			t.Fatalf("answer %v, error %v", response.Body, err)
		}
	}
	if got := pairs.count(dropped); got != 5 {
		t.Errorf("%v were dropped, want 5", got)
	}
	close(hang)
	cluster.Eventually(t, 10*time.Second, func() error {
		if got := pairs.count(equal); got != maxShadowCalls {
			return fmt.Errorf("%v were compared, want %d", got, maxShadowCalls)
		}
		return nil
	})
	pairs.Forget(hook.Definition)
	if got := testutil.CollectAndCount(pairs.shadows); got != 0 {
		t.Errorf("%d figures are left of a definition that is gone", got)
	}
}

// What was under way when a definition went must not bring its figures back.
func TestNothingIsCountedAfterwards(t *testing.T) {
	pairs := New(prometheus.NewRegistry(), funcr.New(func(string, string) {}, funcr.Options{}))
	late, hang := timed(says{body: "a"}), make(chan struct{})
	shadowed := pairs.WithShadow(hook, says{body: "a"}, timed(says{body: "a", wait: hang}))
	replaced := pairs.WithFallback(hook, TimedProgram{}, late)
	if _, err := shadowed.Run(t.Context(), engines.Call{}); err != nil {
		t.Fatal(err)
	}
	pairs.Forget(hook.Definition)
	close(hang)
	cluster.Eventually(t, 10*time.Second, func() error {
		if under := len(pairs.slots); under > 0 {
			return fmt.Errorf("%d calls are under way", under)
		}
		return nil
	})
	if _, err := replaced.Run(t.Context(), engines.Call{}); err != nil {
		t.Fatal(err)
	}
	if left := testutil.CollectAndCount(pairs.shadows) + testutil.CollectAndCount(pairs.fallbacks); left != 0 {
		t.Errorf("%d figures are there of a definition that is gone", left)
	}
	// Another of its name begins anew.
	if _, err := pairs.WithFallback(hook, TimedProgram{}, late).Run(t.Context(), engines.Call{}); err != nil {
		t.Fatal(err)
	}
	if got := testutil.CollectAndCount(pairs.fallbacks); got != len(fallbackReasons()) {
		t.Errorf("%d figures of the definition that took its name, want one for each reason", got)
	}
}

// openCircuit is a program that is not called for a while.
type openCircuit struct{ says }

func (openCircuit) CircuitOpen() *engines.Error {
	return &engines.Error{Message: "not called until then"}
}

// TestCircuitOpenWithShadow checks that the circuit breaker of the serving program shows, and not that of the shadow.
func TestCircuitOpenWithShadow(t *testing.T) {
	pairs := New(prometheus.NewRegistry(), funcr.New(func(_, _ string) {}, funcr.Options{}))
	for name, tc := range map[string]struct {
		serving, shadow engines.Program
		want            bool
	}{
		"serving rests": {openCircuit{}, says{}, true},
		"shadow rests":  {says{}, openCircuit{}, false},
	} {
		open := pairs.WithShadow(hook, tc.serving, timed(tc.shadow)).CircuitOpen() != nil
		if open != tc.want {
			t.Errorf("%s: the circuit is open: %v, want %v", name, open, tc.want)
		}
	}
}
