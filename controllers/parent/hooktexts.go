package parent

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
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

// maskSecrets returns the error of a hook without what the Secrets in its request hold. An engine's own
// errors quote values too, such as a text that is no number. The error is for users who may not read these.
func maskSecrets(err error, request map[string]any) error {
	var e *engines.Error
	if !errors.As(err, &e) {
		return err
	}
	secrets := secretTexts(request)
	if len(secrets) == 0 {
		return err
	}
	masker, masked := jsonvalue.NewMasker(secrets), *e
	masked.Message, masked.Stack = masker.Mask(e.Message), nil
	for _, line := range e.Stack {
		masked.Stack = append(masked.Stack, masker.Mask(line))
	}
	return &masked
}

// secretTexts returns what the Secrets in a request hold.
func secretTexts(request map[string]any) []string {
	return jsonvalue.SecretTexts(nil, request, func(jsonvalue.Path) bool { return false })
}

// maskAnswers takes what the observed Secrets hold out of the texts of answers that go into events, and cuts those that are too long.
// Those who may read events may not read Secrets.
func (p *pass) maskAnswers(desired *variant.Desired) {
	if len(desired.Events) == 0 && len(desired.Waits()) == 0 {
		return
	}
	masker := p.masker()
	mask := func(text *string) { *text = variant.MessageOf(masker.Mask(*text)) }
	for i := range desired.Events {
		mask(&desired.Events[i].Message)
	}
	for i := range desired.WaitingInputs {
		mask(&desired.WaitingInputs[i].Message)
	}
	if desired.Waiting != nil {
		mask(&desired.Waiting.Message)
	}
}

// masker returns what hides what the observed Secrets hold, wherever a hook has put it.
func (p *pass) masker() *jsonvalue.Masker {
	var secrets []string
	o := p.observed
	for _, objects := range [][]*unstructured.Unstructured{{o.Parent}, o.Children, o.Inputs, o.Related} {
		for _, object := range objects {
			if object != nil {
				secrets = append(secrets, secretTexts(object.Object)...)
			}
		}
	}
	return jsonvalue.NewMasker(secrets)
}
