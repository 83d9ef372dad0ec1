//go:build unix

package sandbox_test

import (
	"os"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
)

func TestMain(m *testing.M) {
	worker.Main(definitions)
	fakeWorker()
	hostOfTest()
	os.Exit(m.Run())
}

func definitions() []engines.Definition {
	return append(standard.Scripts(), probe())
}

// alive answers with the value of its request.
const alive = `export const sync = ({value}) => value`

// newPool starts a pool that is closed with the test.
func newPool(t testing.TB, config sandbox.Config) *sandbox.Pool {
	t.Helper()
	pool := sandbox.New(config)
	t.Cleanup(pool.Close)
	return pool
}

// engineOf returns an engine of the pool.
func engineOf(t testing.TB, pool *sandbox.Pool, name string) engines.Engine {
	t.Helper()
	registry, err := engines.NewRegistry(engines.Config{}, pool.Definitions(definitions())...)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := registry.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// script returns a source of a JavaScript hook.
func script(text string) engines.Source {
	return engines.Source{Hook: "sync", Script: &engines.Script{Files: map[string]string{"sync.js": text}, Path: "sync.js"}}
}

// compiled compiles a JavaScript program in the pool.
func compiled(t testing.TB, pool *sandbox.Pool, text string) engines.Program {
	t.Helper()
	program, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), script(text))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func request(value any) engines.Call {
	return engines.Call{Request: map[string]any{"value": value}}
}
