package scripttest

import (
	"context"
	"errors"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// busyEngine has no worker for some of its work.
type busyEngine struct {
	engines.Engine
	when string
}

var noWorker = &engines.Error{Kind: engines.Busy, Message: "no script worker was free"}

func (e busyEngine) Compile(ctx context.Context, src engines.Source) (engines.Program, error) {
	if e.when == "compiled" && src.Hook == engines.HookTest {
		return nil, noWorker
	}
	p, err := e.Engine.Compile(ctx, src)
	return busyProgram{p, e.when, src.Hook}, err
}

type busyProgram struct {
	engines.Program
	when, hook string
}

func (p busyProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	request, _ := call.Request["run"].([]any)
	switch {
	case p.when == "listed" && p.hook == engines.HookTest && request == nil,
		p.when == "run" && p.hook == engines.HookTest && request != nil,
		p.when == "called" && p.hook != engines.HookTest:
		return engines.Response{}, noWorker
	}
	return p.Program.Run(ctx, call)
}

// TestStarved checks that tests which got no worker have not failed: they are run again.
func TestStarved(t *testing.T) {
	files := map[string]string{
		"sync.js": syncScript, "a_test.yaml": header + `- {name: one}`,
		"b.test.js": "import { test } from 'libretto/test'; test('one', () => {});\n",
	}
	for _, when := range []string{"compiled", "listed", "run", "called", "never"} {
		r, _ := newRunner(t, crd)
		script := standard.Scripts()[0]
		begin := script.New
		script.New = func(c engines.Config) (engines.Engine, error) {
			engine, err := begin(c)
			return busyEngine{engine, when}, err
		}
		var err error
		if r.Scripts, err = engines.NewRegistry(engines.Config{}, script); err != nil {
			t.Fatal(err)
		}
		report, err := r.Test(t.Context(), textOf(t, r, files))
		if when == "never" {
			if err != nil || report.Passed != 2 {
				t.Errorf("with workers: %+v, error %v", report, err)
			}
			continue
		}
		if !errors.Is(err, errNoWorker) || len(report.Failures) > 0 {
			t.Errorf("no worker when a test is %s: %+v, error %v, want %v", when, report, err, errNoWorker)
		}
	}
}
