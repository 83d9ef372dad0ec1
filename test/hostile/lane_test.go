//go:build linux

package hostile

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// lengthVariable set to long makes the tests as long as scripts may run.
const lengthVariable = "LIBRETTO_HOSTILE"

// terms are what an attack is given.
type terms struct {
	// deadline is that of a call, loading that of a compilation.
	deadline, loading time.Duration
	grace             time.Duration
	memory            int64
}

// slack is how long after its deadline a call may still answer, if a loop is stopped at once at the same time: the grace, and what
// the attack's worker and the host have to clear up.
const slack = time.Second

func givenTerms() terms {
	given := terms{deadline: 100 * time.Millisecond, loading: 500 * time.Millisecond, grace: 50 * time.Millisecond, memory: 64 << 20}
	switch {
	case os.Getenv(lengthVariable) == "long":
		given = terms{deadline: 2 * time.Second, loading: 10 * time.Second, grace: 500 * time.Millisecond, memory: 256 << 20}
	case os.Getenv(stageVariable) == stageInside: // How deep attacks get has been seen outside.
		given.deadline = 50 * time.Millisecond
	}
	return given
}

// of are the terms for an attack. One that has nothing to do but fail may take its time,
// so that a loaded machine is not mistaken for one that was let through.
func (given terms) of(a attack) terms {
	if classes[a.class()].quick {
		given.deadline, given.loading = 10*time.Second, 10*time.Second
	}
	return given
}

// innocent are hooks that only name their parent.
var innocent = map[string]map[string]string{
	"JavaScript": {"sync.js": `export const sync = ({parent}) => ({status: {name: parent.metadata.name, sum: [1, 2].reduce((a, b) => a + b)}})`},
	"Jsonnet":    {"sync.jsonnet": `function(request) {status: {name: request.parent.metadata.name, sum: std.foldl(function(a, b) a + b, [1, 2], 0)}}`},
	"CEL":        {"sync.cel": `{"status": {"name": parent.metadata.name, "sum": [1, 2].map(x, x * 2).size() + 1}}`},
}

// lane is a pool of one worker, so that the next call gets the one that was attacked.
type lane struct {
	terms   terms
	engines *engines.Registry
	good    map[string]engines.Program
	calls   int
}

func newLane(t *testing.T, given terms, config sandbox.Config) *lane {
	t.Helper()
	config.Workers, config.Grace = 1, given.grace
	pool := sandbox.New(config)
	t.Cleanup(pool.Close)
	registry, err := engines.NewRegistry(engines.Config{}, pool.Definitions(definitions())...)
	if err != nil {
		t.Fatal(err)
	}
	l := &lane{terms: given, engines: registry, good: map[string]engines.Program{}}
	for language, files := range innocent {
		if l.good[language], err = l.compile(t.Context(), attack{language: language, files: files}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// compile loads a script.
func (l *lane) compile(ctx context.Context, a attack) (engines.Program, error) {
	engine, err := l.engines.ByName(a.language)
	if err != nil {
		return nil, err
	}
	return engine.Compile(ctx, engines.Source{Hook: "sync", Script: &engines.Script{Files: a.files, Path: a.entry(), MemoryBytes: l.terms.memory}})
}

// request is one of a sync hook.
func request(name string) engines.Call {
	parent := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": name, "namespace": "default", "labels": map[string]any{"a": "b"}},
		"spec":     map[string]any{"replicas": int64(3)},
	}
	return engines.Call{
		Request: map[string]any{"parent": parent, "children": map[string]any{}, "related": map[string]any{}, "finalizing": false},
		Now:     time.Unix(1_700_000_000, 0), Seed: "one",
	}
}

// stillGood has the innocent hook called, and says what is wrong with its answer.
func (l *lane) stillGood(ctx context.Context, language string) error {
	l.calls++
	name := fmt.Sprintf("call-%d", l.calls)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, err := l.good[language].Run(ctx, request(name))
	if err != nil {
		return err
	}
	if got, want := fmt.Sprint(answer.Body), fmt.Sprintf("map[status:map[name:%s sum:3]]", name); got != want {
		return fmt.Errorf("it answered %s, want %s", got, want)
	}
	return nil
}
