package parent

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// Limits on the texts of a failed pass, in bytes of JSON. A failed call is reported by its error in the log
// and in an event, its stack and its console output; if its script backs off, also by a condition of the
// definition and another event. Together with the limits of package engines, all of these stay below
// 16 KiB.
const (
	maxErrorBytes         = 2 << 10
	maxFailedConsoleBytes = 4 << 10
	// maxHeldConsole bounds what is held of all calls of a pass until it ends: beyond it, calls are cut as if
	// they had failed.
	maxHeldConsole = 1 << 20
)

// bounded bounds the texts of an engine's error.
func bounded(err error) error {
	var e *engines.Error
	if errors.As(err, &e) {
		return e.Bounded()
	}
	return err
}

// shorten returns the error of a pass for logs and events. Hooks, and answers of the API server that quote
// what it was sent, make a part of its text.
func shorten(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); engines.JSONBytes(text) > maxErrorBytes {
		return apply.WithText(err, engines.Truncate(text, maxErrorBytes))
	}
	return err
}

// consoleOutput is what one call of a hook wrote to the console.
type consoleOutput struct {
	hook  string
	lines []string
	cut   bool
}

// console is what the calls of a pass wrote. Calls are concurrent.
type console struct {
	mu      sync.Mutex
	outputs []consoleOutput
	bytes   int
}

// holdConsole keeps what a call wrote until the pass has end, as an answer may turn out to be invalid.
func (p *pass) holdConsole(hook string, lines []string, failed bool) {
	if len(lines) == 0 || !p.env.Log.V(verbosity.Decisions).Enabled() {
		return
	}
	p.console.mu.Lock()
	defer p.console.mu.Unlock()
	output := consoleOutput{hook, lines, failed || p.console.bytes > maxHeldConsole}
	if output.cut {
		output.lines = p.cutConsole(hook, lines)
	}
	for _, line := range output.lines {
		p.console.bytes += len(line)
	}
	p.console.outputs = append(p.console.outputs, output)
}

// logConsole logs what the calls of the pass wrote, and little of it if the pass has failed: a pass that
// fails is repeated.
func (p *pass) logConsole(failed bool) {
	for _, output := range p.console.outputs {
		lines := output.lines
		if failed && !output.cut {
			lines = p.cutConsole(output.hook, lines)
		}
		for _, line := range lines {
			p.env.Log.V(verbosity.Decisions).Info(line, "definition", p.config.Definition, "hook", output.hook, "parent", p.key.String())
		}
	}
	p.console.outputs = nil
}

// cutConsole returns the first lines that fit into maxFailedConsoleBytes, with what the log adds to each.
func (p *pass) cutConsole(hook string, lines []string) []string {
	const entry = len(`{"level":"debug","ts":"2006-01-02T15:04:05.999999999Z07:00","msg":"","definition":"","hook":"","parent":""}` + "\n")
	added := entry + len(p.config.Definition) + len(hook) + len(p.key.String())
	left := maxFailedConsoleBytes
	for i, line := range lines {
		left -= added
		if engines.JSONBytes(line) <= left {
			left -= engines.JSONBytes(line)
			continue
		}
		kept := slices.Clone(lines[:i])
		if left > 0 {
			kept = append(kept, engines.Truncate(line, left))
		}
		return append(kept, fmt.Sprintf("(cut at %d KiB, as the call or its pass failed, or the pass wrote more than %d MiB)",
			maxFailedConsoleBytes>>10, maxHeldConsole>>20))
	}
	return lines
}
