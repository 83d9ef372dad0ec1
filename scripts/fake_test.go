package scripts_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// fakeEngine "runs" .fake files. The content of a file decides how its compilation ends.
type fakeEngine struct {
	compiled atomic.Int64
	deaf     chan struct{} // closed to let go of what does not listen to its context
}

// Warnings returns one for a text that begins with odd.
func (p fakeProgram) Warnings() []*engines.Error {
	entry := p.source.Script.Path
	if text := p.source.Script.Files[entry]; strings.HasPrefix(text, "odd") {
		return []*engines.Error{{Kind: engines.Invalid, Location: engines.Location{File: entry, Line: 1}, Message: text}}
	}
	return nil
}

// fakeProgram remembers what it was compiled from.
type fakeProgram struct {
	engines.ProgramBase
	source engines.Source
}

func (p fakeProgram) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{Body: p.source.Script.Files[p.source.Script.Path]}, nil
}

func (e *fakeEngine) Compile(ctx context.Context, source engines.Source) (engines.Program, error) {
	e.compiled.Add(1)
	entry := source.Script.Path
	switch text := source.Script.Files[entry]; {
	case strings.HasPrefix(text, "bad"):
		return nil, &engines.Error{Kind: engines.Invalid, Location: engines.Location{File: entry, Line: 1, Column: 4}, Message: text}
	case strings.HasPrefix(text, "import "):
		if file := strings.TrimPrefix(text, "import "); source.Script.Files[file] == "" {
			return nil, &engines.Error{Kind: engines.Invalid, Location: engines.Location{File: entry, Line: 1}, Message: "nothing to import"}
		}
	case text == "elsewhere":
		return nil, &engines.Error{Kind: engines.Invalid, Message: "points to no file"}
	case text == "panic":
		panic("boom")
	case strings.HasPrefix(text, "slow"):
		<-time.After(time.Second)
	case text == "deaf":
		<-e.deaf
	case text == "starved" && e.compiled.Load() <= 3:
		<-time.After(time.Second)
		return nil, &engines.Error{Kind: engines.Busy, Message: "no worker was free"}
	case text == "queued":
		<-time.After(time.Minute)
	case text == "late":
		<-ctx.Done()
		return nil, &engines.Error{Kind: engines.Timeout, Location: engines.Location{File: entry, Line: 3}, Message: "late"}
	case text == "busy" && e.compiled.Load() == 1:
		return nil, &engines.Error{Kind: engines.Failed, Message: "no worker is free"}
	}
	return fakeProgram{source: source}, nil
}

func fakeRegistry(t *testing.T) (*engines.Registry, *fakeEngine) {
	t.Helper()
	engine := &fakeEngine{}
	registry, err := engines.NewRegistry(engines.Config{}, engines.Definition{
		Name: "Fake", Extensions: []string{".fake"},
		New: func(engines.Config) (engines.Engine, error) { return engine, nil },
	})
	if err != nil {
		t.Fatalf("registry: %v", err)
	}
	return registry, engine
}
