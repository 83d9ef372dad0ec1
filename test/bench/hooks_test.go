package bench

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// The same hook in each language: a StatefulSet of pods with a claim each.
var hookFiles = map[string]string{
	"JavaScript": "../../engines/javascript/testdata/statefulset.ts",
	"CEL":        "../../engines/cel/testdata/statefulset.cel.yaml",
	"Jsonnet":    "../../engines/jsonnet/testdata/statefulset.jsonnet",
}

// jsonnetPlus is the hook in Jsonnet with + for every %.
var jsonnetPlus = strings.NewReplacer(
	`'data-%s' % name`, `'data-' + name`,
	`'%s-%d' % [request.parent.metadata.name, i]`, `request.parent.metadata.name + '-' + i`,
)

// place is where hooks run: the engines of it.
type place struct{ registry *engines.Registry }

// inWorkers is a pool that ends with the test, inProcess no pool.
func inWorkers(tb testing.TB) place {
	tb.Helper()
	pool := sandbox.New(sandbox.Config{})
	tb.Cleanup(pool.Close)
	return newPlace(tb, pool.Definitions(standard.Scripts()))
}

func inProcess(tb testing.TB) place { return newPlace(tb, standard.Definitions()) }

func newPlace(tb testing.TB, of []engines.Definition) place {
	tb.Helper()
	registry, err := engines.NewRegistry(engines.Config{}, of...)
	if err != nil {
		tb.Fatal(err)
	}
	return place{registry}
}

// script compiles the hook in that language.
func (p place) script(tb testing.TB, language string, edit ...*strings.Replacer) engines.Program {
	tb.Helper()
	text, err := os.ReadFile(hookFiles[language])
	if err != nil {
		tb.Fatal(err)
	}
	edited := string(text)
	for _, e := range edit {
		edited = e.Replace(edited)
	}
	path := hookFiles[language][strings.LastIndex(hookFiles[language], "/")+1:]
	return p.compile(tb, language, engines.Source{Hook: "sync", Script: &engines.Script{Files: map[string]string{path: edited}, Path: path}})
}

func (p place) compile(tb testing.TB, engine string, source engines.Source) engines.Program {
	tb.Helper()
	e, err := p.registry.ByName(engine)
	if err != nil {
		tb.Fatal(err)
	}
	program, err := e.Compile(tb.Context(), source)
	if err != nil {
		tb.Fatal(err)
	}
	return program
}

// webhook calls the hook at that URL.
func (p place) webhook(tb testing.TB, url string) engines.Program {
	tb.Helper()
	return p.compile(tb, "webhook", engines.Source{Hook: "sync", Endpoint: &engines.Endpoint{URL: url}})
}

// goFunction is the hook without any engine.
var goFunction = hook(func(request map[string]any) map[string]any {
	answer, err := enginetest.Reference(enginetest.StatefulSet, request)
	if err != nil {
		panic(err)
	}
	return answer.(map[string]any)
})

// newServer starts a process that answers the hook, which ends with the test, and returns its URL.
func newServer(tb testing.TB) string {
	tb.Helper()
	command := exec.Command(os.Args[0], serverArgument)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { in.Close(); _ = command.Wait() })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// contender is a way to answer the hook.
type contender struct {
	name string
	// call is what is timed. Its answer may be nil, if it does not make one.
	call func(ctx context.Context, request map[string]any) (any, error)
	// fresh gives each call new objects.
	fresh bool
}

// contenders are programs with objects that were in calls before, and with new ones.
func contenders(name string, program engines.Program) (known, fresh contender) {
	call := func(ctx context.Context, request map[string]any) (any, error) {
		response, err := program.Run(ctx, engines.Call{Request: request, Now: time.Unix(0, 0), Seed: "uid"})
		return response.Body, err
	}
	return contender{name: name + "/known", call: call}, contender{name: name + "/new", call: call, fresh: true}
}

// turn appends how long each of a few calls takes.
func (c contender) turn(tb testing.TB, request map[string]any, took []time.Duration) []time.Duration {
	for range inTurn {
		took = append(took, c.time(tb, request))
	}
	return took
}

// time is how long one call takes.
func (c contender) time(tb testing.TB, request map[string]any) time.Duration {
	if c.fresh {
		request = runtime.DeepCopyJSON(request)
	}
	start := time.Now()
	_, err := c.call(tb.Context(), request)
	took := time.Since(start)
	if err != nil {
		tb.Fatalf("%s: %v", c.name, err)
	}
	return took
}

// check makes a few calls, whose answers must be what the Go function answers.
func (c contender) check(tb testing.TB, request map[string]any) {
	tb.Helper()
	want := goFunction(request)
	for range 5 {
		got, err := c.call(tb.Context(), request)
		if err != nil {
			tb.Fatalf("%s: %v", c.name, err)
		}
		if got != nil && !reflect.DeepEqual(got, any(want)) {
			tb.Fatalf("%s answers otherwise than the function in Go", c.name)
		}
	}
}
