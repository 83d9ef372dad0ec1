package sandbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/test/race"
)

// wantError checks an error's kind and part of its message.
func wantError(t *testing.T, err error, kind engines.Kind, message string) {
	t.Helper()
	var e *engines.Error
	if errors.As(err, &e) && race.Enabled && kind == engines.Exhausted {
		return // The race detector takes much memory, so the message differs.
	}
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Message, message) {
		t.Errorf("error %v (%s), want %s with %q", err, engines.KindOf(err).Reason(), kind.Reason(), message)
	}
}

// TestHostileScripts runs each script in a worker that another program uses too. The other program must
// not be affected.
func TestHostileScripts(t *testing.T) {
	cases := map[string]struct {
		reason, script string
		kind           engines.Kind
		message        string
	}{
		"loop":          {"the engine is interrupted", `for (;;);`, engines.Timeout, "did not answer"},
		"native loop":   {"a built-in function can only be stopped by a kill", `Array.prototype.indexOf.call({length: 2**53-1}, 1)`, engines.Timeout, "its worker was killed"},
		"huge text":     {"one allocation exceeds the limit", `return 'x'.repeat(2**40)`, engines.Exhausted, "memory limit of 64Mi"},
		"huge buffer":   {"one allocation exceeds the limit", `return new ArrayBuffer(2**40)`, engines.Exhausted, "memory limit of 64Mi"},
		"hoarding":      {"the heap is watched", `const all = []; for (;;) all.push({a: [all.length]})`, engines.Exhausted, "memory limit of 64Mi"},
		"growing text":  {"few large allocations", `let s = 'x'; for (;;) s += s.slice(0, 1 << 20) + 'y'; return s.length`, engines.Exhausted, "memory limit of 64Mi"},
		"nested text":   {"a parser that recurses", `JSON.parse('['.repeat(5e6))`, engines.Exhausted, "limit"},
		"huge response": {"the response size is limited", `return Array.from({length: 10}, () => 'x'.repeat(1 << 20))`, engines.Exhausted, "the response is larger than 8 MiB"},
		"throws forever": {"formatting the error runs script code", `throw new Proxy({}, {get() { for (;;); }})`,
			engines.Timeout, "did not answer"},
	}
	patience := map[engines.Kind]time.Duration{engines.Timeout: time.Second, engines.Exhausted: time.Minute}
	pool := newPool(t, sandbox.Config{Workers: 1, Grace: 200 * time.Millisecond})
	good := compiled(t, pool, alive)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			source := script("export function sync(request) { " + c.script + " }")
			source.Script.MemoryBytes = 64 << 20
			program, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := engines.WithTimeout(t.Context(), patience[c.kind])
			defer cancel()
			_, err = program.Run(ctx, request(nil))
			wantError(t, err, c.kind, c.message)
			response, err := good.Run(t.Context(), request(name))
			if err != nil || response.Body != name {
				t.Errorf("the other program answered %v, error %v", response.Body, err)
			}
		})
	}
}

// TestHostileSources compiles sources that crash a parser.
func TestHostileSources(t *testing.T) {
	pool := newPool(t, sandbox.Config{})
	cases := map[string]struct{ reason, text string }{
		"nested":    {"parsers recurse", "export const sync = " + strings.Repeat("(", 400_000) + "1" + strings.Repeat(")", 400_000)},
		"template":  {"nesting that a count of brackets would miss", "export const sync = " + strings.Repeat("`${", 200_000) + "1" + strings.Repeat("}`", 200_000)},
		"operators": {"nesting without brackets", "export const sync = " + strings.Repeat("!", 900_000) + "1"},
		"too large": {"the source size is limited", strings.Repeat(" ", 2<<20)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), script(c.text))
			var e *engines.Error
			if !errors.As(err, &e) || e.Kind != engines.Invalid && e.Kind != engines.Exhausted && !race.Enabled {
				t.Errorf("error %v, want one of kind Invalid or Exhausted", err)
			}
			t.Log(err)
		})
	}
	if _, err := compiled(t, pool, alive).Run(t.Context(), request("a")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestWorkerExits ends a worker during a call in every possible way.
func TestWorkerExits(t *testing.T) {
	cases := map[string]struct {
		reason  string
		kind    engines.Kind
		message string
	}{
		"panic elsewhere": {"a panic in a goroutine of an engine's", engines.Failed, "script worker crashed: panic: elsewhere"},
		"panic":           {"a panic in the call is recovered, and the worker survives", engines.Failed, "the engine panicked: here"},
		"recurse":         {"a stack overflow is recognized", engines.Exhausted, "stack limit of 64Mi"},
		"allocate":        {"a lack of memory is recognized", engines.Exhausted, "memory limit of 256Mi"},
		"stderr":          {"a megabyte on stderr neither blocks nor is kept", engines.Failed, "script worker crashed: xxxx"},
		"babble":          {"an answer with a wrong number is refused", engines.Failed, "script worker crashed"},
		"flood":           {"the message size is limited", engines.Failed, "script worker crashed"},
	}
	pool := newPool(t, sandbox.Config{Workers: 1})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, err := probed(t, pool, name).Run(t.Context(), request(nil))
			wantError(t, err, c.kind, c.message)
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestExitAtLoad(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1})
	_, err := engineOf(t, pool, "Probe").Compile(t.Context(), engines.Source{
		Hook: "sync", Script: &engines.Script{Files: map[string]string{"a.probe": "crash at load"}, Path: "a.probe"},
	})
	wantError(t, err, engines.Failed, "script worker crashed: exit status 7")
}

func TestCanceledHang(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1, Grace: 50 * time.Millisecond})
	program := probed(t, pool, "hang")
	for range 4 { // More than the failure threshold.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		_, err := program.Run(ctx, request(nil))
		if wantError(t, err, engines.Failed, "canceled"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v does not unwrap to context.Canceled", err)
		}
	}
}
