package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// benchmark is what the calls of one hook in one case cost.
type benchmark struct {
	File string `json:"file"`
	Name string `json:"name"`
	Hook string `json:"hook"`
	// Calls are those with different requests that the case makes, and Operations how many were made to measure them.
	Calls      int   `json:"calls"`
	Operations int   `json:"operations"`
	NsPerOp    int64 `json:"nsPerOp"`
	// Read is what the calls read of their requests. Nil means that it is not known, and all counts as read.
	Read engines.ReadSet `json:"read"`
}

// benchOptions are the flags of test that are about what calls cost.
type benchOptions struct {
	bench bool
	time  time.Duration
}

func (o *benchOptions) addTo(f *pflag.FlagSet) {
	f.BoolVar(&o.bench, "bench", o.bench, "measure the calls of scripts that each case makes, one after another")
	f.DurationVar(&o.time, "bench-time", 200*time.Millisecond, "how long the calls of a hook in a case are made again, to measure them")
}

// check returns an error for flags that do not go together with --bench.
func (t *testRun) checkBench() error {
	switch {
	case !t.benching.bench:
		return nil
	case t.benching.time <= 0:
		return fmt.Errorf("--bench-time %s: must be more than nothing", t.benching.time)
	case t.watch || t.exploring.explore || t.coverage.isOn():
		return errors.New("--bench measures what calls cost alone: leave --watch, --explore and the flags of coverage out")
	}
	return nil
}

// bencher measures the calls of cases.
type bencher struct {
	time time.Duration
	all  []benchmark
}

// apply makes a run measure its cases, one after another. It returns nil if the flag is not set.
func (o *benchOptions) apply(to *suite.Options) *bencher {
	if !o.bench {
		return nil
	}
	b := &bencher{time: o.time}
	to.Parallel, to.RunCase = 1, b.runCase
	return b
}

// runCase runs a case, and if it passes measures the calls that it has made.
func (b *bencher) runCase(
	ctx context.Context, registry *engines.Registry, test *controllertest.ControllerTest, c *controllertest.Case, s *controllertest.Subject,
) controllertest.Result {
	r := &recorder{byHook: map[string][]recorded{}}
	subject := &controllertest.Subject{
		Definition: s.Definition, Programs: r.watch(s.Programs), Resources: s.Resources, ReadFile: s.ReadFile, WriteFile: s.WriteFile,
		ShowSecrets: s.ShowSecrets,
		Compile: func(ctx context.Context, definition *unstructured.Unstructured) (map[string]engines.Program, error) {
			programs, err := s.Compile(ctx, definition)
			return r.watch(programs), err
		},
	}
	result := controllertest.RunCase(ctx, registry, test, c, subject)
	if result.Outcome != controllertest.Passed {
		return result
	}
	for _, hook := range slices.Sorted(maps.Keys(r.byHook)) {
		measured := benchmark{File: result.File, Name: result.Name, Hook: hook, Calls: len(r.byHook[hook]), Read: engines.ReadSet{}}
		b.measure(ctx, &measured, r.byHook[hook])
		b.all = append(b.all, measured)
	}
	return result
}

// measure makes calls again until the time is over, each once at least.
func (b *bencher) measure(ctx context.Context, m *benchmark, calls []recorded) {
	start, spent := time.Now(), time.Duration(0)
	for i := 0; ctx.Err() == nil && (i < len(calls) || spent < b.time); i++ {
		one := calls[i%len(calls)]
		response, _ := one.program.Run(ctx, one.call) // The case passes, so that the error is one that it asks for.
		spent = time.Since(start)
		m.Operations = i + 1
		m.Read = m.Read.Union(response.Read)
	}
	m.NsPerOp = spent.Nanoseconds() / int64(max(m.Operations, 1))
}

// recorded is a call of a program.
type recorded struct {
	program engines.Program
	call    engines.Call
}

// recorder keeps the calls with different requests that a case makes, by hook.
type recorder struct {
	mu     sync.Mutex
	byHook map[string][]recorded
}

func (r *recorder) watch(programs map[string]engines.Program) map[string]engines.Program {
	watched := map[string]engines.Program{}
	for hook, program := range programs {
		watched[hook] = recordedProgram{program, hook, r}
	}
	return watched
}

type recordedProgram struct {
	engines.Program
	hook     string
	recorder *recorder
}

// Run keeps the call, and makes it.
func (p recordedProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	r := p.recorder
	r.mu.Lock()
	same := func(other recorded) bool { return jsonvalue.Equal(other.call.Request, call.Request) }
	if !slices.ContainsFunc(r.byHook[p.hook], same) {
		r.byHook[p.hook] = append(r.byHook[p.hook], recorded{controllertest.Forget(p.Program), call})
	}
	r.mu.Unlock()
	return p.Program.Run(ctx, call)
}

// write writes what was measured as a table.
func (b *bencher) write(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprint(table, "\nTIME/CALL\tCALLS\tHOOK\tCASE\tREAD\n")
	for _, m := range b.all {
		read := cmp.Or(strings.Join(m.Read, ", "), "nothing")
		if m.Read == nil {
			read = "all"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s: %s\t%s\n", time.Duration(m.NsPerOp).Round(time.Microsecond), m.Calls, m.Hook, m.File, m.Name, read)
	}
	return table.Flush()
}
