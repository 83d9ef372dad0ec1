package cel

import (
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

var (
	caller = enginetest.Caller{Definition: Definition(), Path: "sync.cel"}

	script, files         = caller.Script, enginetest.Source
	compile, compileError = caller.Compile, caller.CompileError
	run, answerOf         = caller.Run, caller.Answer
)

// documentOf returns a source of one document.
func documentOf(text string) engines.Source {
	return files("sync.cel.yaml", map[string]string{"sync.cel.yaml": text})
}
