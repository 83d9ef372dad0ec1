package javascript

import (
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

var now = time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)

var (
	caller = enginetest.Caller{Definition: Definition(), Path: "sync.js", Call: engines.Call{Now: now, Seed: "seed"}}

	script, files = caller.Script, enginetest.Source
	compileError  = caller.CompileError
	run, answer   = caller.Run, caller.Answer
)

// evaluate returns the value of an expression over request.
func evaluate(t *testing.T, expression string, request map[string]any) any {
	t.Helper()
	return answer(t, script("export function sync(request) { return "+expression+" }"), request)
}
