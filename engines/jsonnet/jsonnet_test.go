package jsonnet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// script is a source of one file.
func script(text string) engines.Source {
	return files("sync.jsonnet", map[string]string{"sync.jsonnet": text})
}

func files(path string, files map[string]string) engines.Source {
	return engines.Source{Hook: "sync", Script: &engines.Script{Files: files, Path: path}}
}

func started(t testing.TB) engines.Engine {
	t.Helper()
	e, err := Definition().New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// compileError is the error that src is refused with.
func compileError(t *testing.T, src engines.Source) *engines.Error {
	t.Helper()
	_, err := started(t).Compile(t.Context(), src)
	return asError(t, err)
}

// run compiles src and calls it once, with patience for a deadline.
func run(t *testing.T, src engines.Source, request map[string]any, patience time.Duration) (engines.Response, *engines.Error) {
	t.Helper()
	program, err := started(t).Compile(t.Context(), src)
	if err != nil {
		t.Fatalf("compiling: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response, err := program.Run(ctx, engines.Call{Request: request})
	return response, asError(t, err)
}

// answer is the body of an answer, of a hook that must not fail.
func answer(t *testing.T, src engines.Source, request map[string]any) any {
	t.Helper()
	response, failure := run(t, src, request, time.Minute)
	if failure != nil {
		t.Fatalf("calling: %s", failure.Detail())
	}
	return response.Body
}

// evaluate gives the value of an expression over request.
func evaluate(t *testing.T, expression string, request map[string]any) any {
	t.Helper()
	return answer(t, script("function(request) "+expression), request)
}

func asError(t *testing.T, err error) *engines.Error {
	t.Helper()
	var e *engines.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("error %v is no *engines.Error", err)
	}
	return e
}
