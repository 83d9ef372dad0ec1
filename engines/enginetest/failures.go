package enginetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// underWay is long enough for a call to be under way, and short enough for a test.
const underWay = 100 * time.Millisecond

func checkCancel(t *testing.T, e *engineUnderTest) {
	program := e.compile(t, Never)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(underWay, cancel)
	err := soon(ctx, t, func() error { return run(ctx, program) })
	_ = wantKind(t, err, engines.Failed)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v does not unwrap to context.Canceled", err)
	}
}

func checkAlreadyOver(t *testing.T, e *engineUnderTest) {
	program := e.compile(t, Never)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = wantKind(t, soon(ctx, t, func() error { return run(ctx, program) }), engines.Failed)
}

func checkDeadline(t *testing.T, e *engineUnderTest) {
	program := e.compile(t, Never)
	ctx, cancel := engines.WithTimeout(t.Context(), underWay)
	defer cancel()
	_ = wantKind(t, soon(ctx, t, func() error { return run(ctx, program) }), engines.Timeout)
}

func checkAfterDeadline(t *testing.T, e *engineUnderTest) {
	echo := e.compile(t, Echo)
	checkDeadline(t, e)
	response, err := echo.Run(t.Context(), call(map[string]any{"value": "still here"}))
	if err != nil || response.Body != "still here" {
		t.Errorf("the next call answered %v, error %v", response.Body, err)
	}
}

func run(ctx context.Context, program engines.Program) error {
	_, err := program.Run(ctx, call(map[string]any{}))
	return err
}

func checkFailure(t *testing.T, e *engineUnderTest) {
	failure := wantKind(t, run(t.Context(), e.compile(t, Fail)), engines.Failed)
	if !strings.Contains(failure.Message, "boom") {
		t.Errorf("message %q does not say boom", failure.Message)
	}
}

func checkFailurePlace(t *testing.T, e *engineUnderTest) {
	failure := wantKind(t, run(t.Context(), e.compile(t, Fail)), engines.Failed)
	if diff := cmp.Diff(e.FailsAt, failure.Location); diff != "" {
		t.Errorf("place of the failure (-want +got):\n%s", diff)
	}
	if len(failure.Stack) == 0 {
		t.Error("the failure has no stack")
	}
}

func (e *engineUnderTest) refused(t *testing.T, src engines.Source) *engines.Error {
	t.Helper()
	program, err := e.engine.Compile(t.Context(), src)
	if err == nil {
		t.Fatalf("compiled to %v, want an error", program)
	}
	return wantKind(t, err, engines.Invalid)
}

func checkInvalid(t *testing.T, e *engineUnderTest) {
	if refused := e.refused(t, e.Source(t, Invalid)); refused.Message == "" {
		t.Error("the error has no message")
	}
}

func checkInvalidPlace(t *testing.T, e *engineUnderTest) {
	if diff := cmp.Diff(e.InvalidAt, e.refused(t, e.Source(t, Invalid)).Location); diff != "" {
		t.Errorf("place of the error (-want +got):\n%s", diff)
	}
}

func checkWrongSource(t *testing.T, e *engineUnderTest) {
	src := engines.Source{Hook: "sync", Endpoint: &engines.Endpoint{URL: "http://localhost/"}}
	if e.Source(t, Echo).Endpoint != nil {
		src = engines.Source{Hook: "sync", Script: &engines.Script{Files: map[string]string{"sync.js": ""}, Path: "sync.js"}}
	}
	_ = e.refused(t, src)
}
