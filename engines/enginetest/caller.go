package enginetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// Caller compiles and calls scripts, for an engine's tests of its own.
type Caller struct {
	Definition engines.Definition
	// Path is that of a script that is one file.
	Path string
	// Call is what calls have beside their request.
	Call engines.Call
}

// Script returns a source of one file.
func (c Caller) Script(text string) engines.Source {
	return Source(c.Path, map[string]string{c.Path: text})
}

// Source returns one of those files, of which the one at path is the hook's.
func Source(path string, files map[string]string) engines.Source {
	return engines.Source{Hook: "sync", Script: &engines.Script{Files: files, Path: path}}
}

// Start returns an engine of its own.
func (c Caller) Start(t testing.TB) engines.Engine {
	t.Helper()
	engine, err := c.Definition.New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// Compile compiles src in an engine of its own.
func (c Caller) Compile(t testing.TB, src engines.Source) (engines.Program, error) {
	t.Helper()
	return c.Start(t).Compile(t.Context(), src)
}

// CompileError returns the error that src is refused with.
func (c Caller) CompileError(t testing.TB, src engines.Source) *engines.Error {
	t.Helper()
	_, err := c.Compile(t, src)
	if src.Script != nil {
		_, covered := c.Compile(t, WithCoverage(src))
		sameError(t, AsError(t, err), AsError(t, covered))
	}
	return AsError(t, err)
}

// Run compiles src and calls it once, with patience for a deadline. It checks that counting coverage changes nothing.
func (c Caller) Run(t testing.TB, src engines.Source, request map[string]any, patience time.Duration) (engines.Response, *engines.Error) {
	t.Helper()
	program, err := c.Compile(t, src)
	if err != nil {
		t.Fatalf("compiling: %s", AsError(t, err).Detail())
	}
	response, failure := c.run(t, program, request, patience)
	c.sameWithCoverage(t, src, request, patience, response, failure)
	return response, failure
}

func (c Caller) run(
	t testing.TB, program engines.Program, request map[string]any, patience time.Duration,
) (engines.Response, *engines.Error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	call := c.Call
	call.Request = request
	response, err := program.Run(ctx, call)
	return response, AsError(t, err)
}

// Answer returns the body of an answer, of a hook that must not fail.
func (c Caller) Answer(t testing.TB, src engines.Source, request map[string]any) any {
	t.Helper()
	return c.mustRun(t, src, request).Body
}

func (c Caller) mustRun(t testing.TB, src engines.Source, request map[string]any) engines.Response {
	t.Helper()
	response, failure := c.Run(t, src, request, time.Minute)
	if failure != nil {
		t.Fatalf("calling: %s", failure.Detail())
	}
	return response
}

// MustRead checks what a call read of the request. Nil is all of it.
func (c Caller) MustRead(t testing.TB, src engines.Source, request map[string]any, read engines.ReadSet) {
	t.Helper()
	if diff := cmp.Diff(read, c.mustRun(t, src, request).Read); diff != "" {
		t.Errorf("what was read (-want +got):\n%s", diff)
	}
}

// AsError returns the error as engines must give it, or nil.
func AsError(t testing.TB, err error) *engines.Error {
	t.Helper()
	var e *engines.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("error %v is no *engines.Error", err)
	}
	return e
}
