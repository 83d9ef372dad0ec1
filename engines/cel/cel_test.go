package cel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// script is a source of one expression.
func script(text string) engines.Source {
	return files("sync.cel", map[string]string{"sync.cel": text})
}

// documentOf is a source of one document.
func documentOf(text string) engines.Source {
	return files("sync.cel.yaml", map[string]string{"sync.cel.yaml": text})
}

func files(path string, files map[string]string) engines.Source {
	return engines.Source{Hook: "sync", Script: &engines.Script{Files: files, Path: path}}
}

func compile(t testing.TB, src engines.Source) (engines.Program, error) {
	t.Helper()
	engine, err := Definition().New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return engine.Compile(t.Context(), src)
}

// compileError is the error that src is refused with.
func compileError(t *testing.T, src engines.Source) *engines.Error {
	t.Helper()
	_, err := compile(t, src)
	return asError(t, err)
}

// run compiles src and calls it once, with patience for a deadline.
func run(t *testing.T, src engines.Source, request map[string]any, patience time.Duration) (engines.Response, *engines.Error) {
	t.Helper()
	program, err := compile(t, src)
	if err != nil {
		t.Fatalf("compiling: %s", asError(t, err).Detail())
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response, err := program.Run(ctx, engines.Call{Request: request})
	return response, asError(t, err)
}

// answerOf is the body of an answer, of a hook that must not fail.
func answerOf(t *testing.T, src engines.Source, request map[string]any) any {
	t.Helper()
	response, failure := run(t, src, request, time.Minute)
	if failure != nil {
		t.Fatalf("calling: %s", failure.Detail())
	}
	return response.Body
}

func asError(t *testing.T, err error) *engines.Error {
	t.Helper()
	var e *engines.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("error %v is no *engines.Error", err)
	}
	return e
}
