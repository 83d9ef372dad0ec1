package javascript

import (
	"fmt"
	"regexp"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"

	"github.com/libretto-k8s/libretto/engines/authoring"
)

const (
	// testModule is the name by which tests import the module for tests. Its own part is matchersModule.
	testModule     = "libretto/test"
	matchersModule = "libretto/test/matchers"
	// testNamespace is esbuild's namespace for these and for the entry of a program of tests.
	testNamespace = "libretto-tests"
	// ownPath is the start of the names of the host's own modules in positions.
	ownPath      = "<libretto"
	testPath     = "<libretto/test>"
	matchersPath = "<libretto/test/matchers>"
	testEntry    = "<libretto/test/entry>"
	// testFile is how the entry names the file of tests.
	testFile = "libretto/test/file"
)

// testName matches the names of files of tests.
var testName = regexp.MustCompile(`\.test\.[jt]s$`)

// testModules are the host's own modules of a program of tests. The entry loads the file in each call, so that the tests that are
// not run are skipped while they are registered.
var testModules = map[string]string{
	testPath:     authoring.JavaScriptTest,
	matchersPath: authoring.JavaScriptMatchers,
	testEntry: fmt.Sprintf(`import { librettoRun } from %q;
export function test(request) {
  return librettoRun(request, () => require(%q));
}`, testModule, testFile),
}

// resolveEntry returns the entry of the bundle.
func (t tree) resolveEntry(entry string) api.OnResolveResult {
	if t.ofTests {
		return api.OnResolveResult{Path: testEntry, Namespace: testNamespace}
	}
	return api.OnResolveResult{Path: entry, Namespace: namespace}
}

// resolveTest returns what an import of a module for tests leads to, and false for other imports.
func (t tree) resolveTest(entry string, args api.OnResolveArgs) (api.OnResolveResult, bool) {
	own := args.Namespace == testNamespace
	switch {
	case own && args.Path == testFile:
		return api.OnResolveResult{Path: entry, Namespace: namespace}, true
	case own && args.Path == matchersModule:
		return api.OnResolveResult{Path: matchersPath, Namespace: testNamespace}, true
	case args.Path != testModule:
		return api.OnResolveResult{}, false
	case t.ofTests:
		return api.OnResolveResult{Path: testPath, Namespace: testNamespace}, true
	}
	text := fmt.Sprintf("can't import %q: it is there for tests alone, which are files *.test.js and *.test.ts that libretto test runs: "+
		"take the import out of what hooks reach", testModule)
	return api.OnResolveResult{Errors: []api.Message{{Text: text}}}, true
}

// stack returns message and stack of what was thrown, or the stack of the caller, and how many lines were logged.
func (i *isolate) stack(call goja.FunctionCall) goja.Value {
	message, lines := "", []string(nil)
	if len(call.Arguments) > 0 {
		e := i.thrownError(call.Argument(0), nil)
		explain(i.files, e, "")
		message, lines = e.Message, e.Stack
	} else {
		for _, f := range frames(i.rt.CaptureCallStack(maxFrames, nil)) {
			lines = append(lines, f.String())
		}
	}
	stack := make([]any, len(lines))
	for n, line := range lines {
		stack[n] = line
	}
	result := i.rt.NewObject()
	must(result.Set("message", message))
	must(result.Set("lines", len(i.console.Lines)))
	must(result.Set("stack", i.rt.NewArray(stack...)))
	return result
}
