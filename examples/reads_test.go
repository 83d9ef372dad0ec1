package examples_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/test/cases"
)

var update = flag.Bool("update", false, "rewrite test/contract/testdata/reads.txt")

// readers notes what the hooks of an example read in its tests.
type readers struct {
	t *testing.T

	mu   sync.Mutex
	read map[string]engines.ReadSet // by script and hook
	runs map[string]int             // for which checkedCalls counts
}

// checkedCalls is for how many calls of a hook what they did not read is changed.
const checkedCalls = 2

func (r *readers) definitions() []engines.Definition {
	all := standard.Definitions()
	for i, d := range all {
		if len(d.Extensions) == 0 {
			continue // Webhooks read all.
		}
		all[i].New = func(config engines.Config) (engines.Engine, error) {
			engine, err := d.New(config)
			return readingEngine{engine, r}, err
		}
	}
	return all
}

type readingEngine struct {
	engines.Engine
	readers *readers
}

func (e readingEngine) Compile(ctx context.Context, src engines.Source) (engines.Program, error) {
	program, err := e.Engine.Compile(ctx, src)
	if err != nil || src.Script == nil || src.Hook == engines.HookImports || src.Hook == engines.HookTest {
		return program, err
	}
	return readingProgram{program, e.readers, src.Script.Path + " " + src.Hook}, nil
}

type readingProgram struct {
	engines.Program
	readers *readers
	name    string
}

func (p readingProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response, err := p.Program.Run(ctx, call)
	if err == nil && p.readers.note(p.name, response.Read) {
		enginetest.Caller{Call: call}.CheckUnread(p.readers.t, p.Program, call.Request)
	}
	return response, err
}

// note adds what a hook read, and reports whether the call is one to check.
func (r *readers) note(hook string, read engines.ReadSet) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.read[hook]
	if !ok {
		known = engines.ReadSet{}
	}
	r.read[hook] = known.Union(read)
	r.runs[hook]++
	return r.runs[hook] <= checkedCalls
}

// TestReadsOfExamples compares what the hooks of the examples read in TestExamples with test/contract/testdata/reads.txt: a hook that reads
// all of its parent is called for each change of it. For some calls it changes what they did not read.
func TestReadsOfExamples(t *testing.T) {
	var got strings.Builder
	for _, example := range folders(t) {
		read := runOf(t, example).read
		for _, hook := range slices.Sorted(maps.Keys(read)) {
			fmt.Fprintf(&got, "%s/%s: %s\n", example, hook, written(read[hook]))
		}
	}
	const golden = "../test/contract/testdata/reads.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("hooks read other fields than %s says: run the test with -update and read the diff (-want +got):\n%s", golden, diff)
	}
}

// run is the result of the tests of an example, and what its hooks read in them.
type run struct {
	cases.Results
	read map[string]engines.ReadSet
}

var runs = map[string]run{}

// runOf runs the tests of an example, once for all that look at the result.
func runOf(t *testing.T, example string) run {
	t.Helper()
	if known, ok := runs[example]; ok {
		return known
	}
	r := &readers{t: t, read: map[string]engines.ReadSet{}, runs: map[string]int{}}
	registry, err := engines.NewRegistry(engines.Config{UserAgent: "test"}, r.definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	results, err := cases.Run(t.Context(), registry, example)
	if err != nil {
		t.Fatal(err)
	}
	runs[example] = run{results, r.read}
	return runs[example]
}

func written(read engines.ReadSet) string {
	if read == nil {
		return "all"
	}
	return strings.Join(read, " ")
}
