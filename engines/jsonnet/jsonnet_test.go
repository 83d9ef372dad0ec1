package jsonnet

import (
	"testing"

	"github.com/libretto-k8s/libretto/engines/enginetest"
)

var (
	caller = enginetest.Caller{Definition: Definition(), Path: "sync.jsonnet"}

	script, files         = caller.Script, enginetest.Source
	compile, compileError = caller.Compile, caller.CompileError
	run, answer           = caller.Run, caller.Answer
)

// evaluate returns the value of an expression over request.
func evaluate(t *testing.T, expression string, request map[string]any) any {
	t.Helper()
	return answer(t, script("function(request) "+expression), request)
}
