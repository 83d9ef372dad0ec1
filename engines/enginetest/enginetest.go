// Package enginetest is the suite that every engine passes. An engine's own test
// has the hooks of the suite in its language, and calls Run.
package enginetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// Suite is an engine and how to write hooks for it.
type Suite struct {
	Definition engines.Definition
	// Source returns the source of a hook, which behaves as its Reference does. It
	// is called once for each case, and may start servers that end with t.
	Source func(t testing.TB, hook Hook) engines.Source
	// FailsAt and InvalidAt are where the hooks Fail and Invalid are wrong.
	FailsAt, InvalidAt engines.Location
	// Exempt names the cases that do not apply to the engine, and why not.
	Exempt map[string]string
}

// testCase is one thing that every engine does.
type testCase struct {
	reason string
	run    func(t *testing.T, e *engineUnderTest)
}

// Run runs the suite. Cases that do not apply are reported as skipped, with the reason.
func Run(t *testing.T, s Suite) {
	t.Helper()
	for name := range s.Exempt {
		if _, known := cases[name]; !known {
			t.Errorf("exempt from %q: the suite has no such case", name)
		}
	}
	engine, err := s.Definition.New(engines.Config{UserAgent: "enginetest"})
	if err != nil {
		t.Fatalf("starting engine %q: %v", s.Definition.Name, err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if why, exempt := s.Exempt[name]; exempt {
				t.Skip(why)
			}
			t.Log(c.reason)
			c.run(t, &engineUnderTest{Suite: s, engine: engine})
		})
	}
}

// engineUnderTest is an engine with shorthands for what cases do with it.
type engineUnderTest struct {
	Suite
	engine engines.Engine
}

func (e *engineUnderTest) compile(t *testing.T, hook Hook) engines.Program {
	t.Helper()
	program, err := e.engine.Compile(t.Context(), e.Source(t, hook))
	if err != nil {
		t.Fatalf("compiling hook %s: %v", hook, err)
	}
	return program
}

// answer returns what a hook answers to a request, in a call of its own.
func (e *engineUnderTest) answer(t *testing.T, hook Hook, request map[string]any) engines.Response {
	t.Helper()
	response, err := e.compile(t, hook).Run(t.Context(), call(request))
	if err != nil {
		t.Fatalf("calling hook %s: %v", hook, err)
	}
	return response
}

func call(request map[string]any) engines.Call {
	return engines.Call{Request: request, Now: time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC), Seed: "seed"}
}

// wantKind returns the engine's error, which must be of that kind.
func wantKind(t *testing.T, err error, kind engines.Kind) *engines.Error {
	t.Helper()
	var e *engines.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *engines.Error", err)
	}
	if e.Kind != kind {
		t.Fatalf("error %q is of kind %s, want %s", e, e.Kind.Reason(), kind.Reason())
	}
	return e
}

// patience is how long an engine may take to notice that its context is over.
const patience = 5 * time.Second

// soon runs f and fails the test if it does not return soon after ctx is over.
func soon(ctx context.Context, t *testing.T, f func() error) error {
	t.Helper()
	returned := make(chan error, 1)
	go func() { returned <- f() }()
	<-ctx.Done()
	select {
	case err := <-returned:
		return err
	case <-time.After(patience):
		t.Fatalf("did not return within %v of the end of its context", patience)
		return nil
	}
}
