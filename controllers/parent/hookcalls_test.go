package parent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

func TestTold(t *testing.T) {
	cases := map[string]struct {
		reason    string
		err       error
		says, log string
	}{
		"None":    {"Nothing is wrong.", nil, "", ""},
		"Timeout": {"Who waited too long says how long that was, and where to change it.", &engines.Error{Kind: engines.Timeout, Message: "too late"}, "too late, which is 2s: see timeout in spec.hooks.sync", ""},
		"Failed":  {"Other errors have nothing to add.", &engines.Error{Message: "boom"}, "boom", ""},
		"Stack":   {"The stack goes to the log.", &engines.Error{Message: "boom", Stack: []string{"at f (sync.js:3:1)"}}, "boom", "at f (sync.js:3:1)"},
		"Foreign": {"An error that no engine made is passed on.", errors.New("odd"), "odd", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			p := &pass{shared: &shared{env: Environment{Log: funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{})}}}
			err := p.withTimeout("sync", 2*time.Second, tc.err)
			if err == nil != (tc.says == "") || err != nil && err.Error() != tc.says {
				t.Errorf("%s\ntold %v, want %q", tc.reason, err, tc.says)
			}
			if tc.err != nil && engines.KindOf(err) != engines.KindOf(tc.err) {
				t.Errorf("%s\nkind %v, want %v", tc.reason, engines.KindOf(err), engines.KindOf(tc.err))
			}
			if (tc.log == "") != (log.Len() == 0) || !strings.Contains(log.String(), tc.log) {
				t.Errorf("%s\nlogged %q, want %q in it", tc.reason, log.String(), tc.log)
			}
		})
	}
}

// asked keeps the call that it is asked.
type asked struct {
	engines.ProgramBase
	call engines.Call
}

func (a *asked) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	a.call = call
	return engines.Response{}, nil
}

// TestCallTellsAll checks that a call tells the engine all that there is: what workers are
// shared by, and chosen by, is not in the request.
func TestCallTellsAll(t *testing.T) {
	now, program := time.Unix(5, 0), &asked{}
	p := &pass{
		shared:   &shared{config: Config{Definition: "MapController m"}, env: Environment{Clock: clocktesting.NewFakeClock(now)}},
		parent:   &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "u"}}},
		programs: Programs{ByHook: map[string]engines.Program{"map": program}},
	}
	request := map[string]any{"mapKey": "k"}
	if _, err := p.call(t.Context(), variant.Call{Hook: "map", Request: request, Subject: "k"}, now); err != nil {
		t.Fatal(err)
	}
	want := engines.Call{Request: request, Subject: "k", Now: now, Seed: "u", Owner: "MapController m"}
	if diff := cmp.Diff(want, program.call); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
}

// failing fails, and may rest from then on.
type failing struct {
	engines.ProgramBase
	resting *engines.Error
}

func (failing) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, &engines.Error{Message: "boom"}
}

func (f failing) CircuitOpen() *engines.Error { return f.resting }

// TestRestIsTold checks that the definition hears of a script that is not called for a while.
func TestRestIsTold(t *testing.T) {
	now := time.Unix(5, 0)
	for told, program := range map[int]failing{0: {}, 1: {resting: &engines.Error{Message: "not called until then"}}} {
		changes := 0
		p := &pass{
			shared:   &shared{config: Config{Changed: func() { changes++ }}, env: Environment{Clock: clocktesting.NewFakeClock(now)}},
			parent:   &unstructured.Unstructured{Object: map[string]any{}},
			programs: Programs{ByHook: map[string]engines.Program{"sync": program}},
		}
		if _, err := p.call(t.Context(), variant.Call{Hook: "sync"}, now); err == nil {
			t.Error("the call does not fail")
		}
		if changes != told {
			t.Errorf("a script of which %v is said is told %d times, want %d", program.resting, changes, told)
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
		"Script":       {"A script answers the same until it is edited.", engines.Response{}, time.Minute, 0},
		"Clock":        {"One that reads the clock may not.", script, time.Minute, time.Minute},
		"ClockForever": {"It is asked no more often than the definition wants.", script, 0, 0},
		"Webhook":      {"A server may have been replaced.", remote, 0, 20 * time.Minute},
		"Sooner":       {"A definition may want to know sooner.", remote, time.Minute, time.Minute},
		"NotLater":     {"But not later.", remote, time.Hour, 20 * time.Minute},
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
					t.Errorf("%d of 1000 parents ask in one second, after %s", parents, second)
				}
			}
		})
	}
}
