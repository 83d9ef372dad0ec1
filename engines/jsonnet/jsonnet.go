// Package jsonnet is the engine for hooks written in Jsonnet.
//
// At load the entry and all that it imports are parsed, to see whether they do. Files
// that are evaluated are kept parsed, by path and content: all programs and calls share
// them and none changes them. Each call evaluates them in a
// VM of its own, so that no call can see the state of another one. The request
// comes in, and the answer goes out, as values: there is no JSON text on either
// side. The operator % and std.format, which go-jsonnet has in Jsonnet, go to a
// native function with the same results (see format.go).
//
// A script can neither read files nor reach a network, and has no clock. What this
// package can't do is bound the memory of a script, or stop one inside a single long
// built-in function: that takes a process to kill. It keeps no state but these files, so
// that it runs in such a process as well.
package jsonnet

import (
	"cmp"
	"context"
	"regexp"

	"github.com/libretto-k8s/libretto/engines"
)

// importLocal matches a local that is an import and nothing else.
var importLocal = regexp.MustCompile(`(?m)^\s*local\s+([A-Za-z_]\w*)\s*=\s*import(?:str|bin)?\s*["'][^"'\n]*["']\s*[;,]`)

// Definition describes the engine.
func Definition() engines.Definition {
	return engines.Definition{
		Name:       "Jsonnet",
		Doc:        "Runs hooks written in Jsonnet.",
		Extensions: []string{".jsonnet", ".libsonnet"},
		Imports:    importLocal,
		Tests:      &engines.TestFiles{Endings: []string{"_test.jsonnet"}, ByPath: true},
		New: func(engines.Config) (engines.Engine, error) {
			return engine{stoppable: hasEvalHooks(), cache: newCache()}, nil
		},
	}
}

type engine struct {
	// stoppable is true if calls can be stopped while they evaluate (see interrupter.go).
	stoppable bool
	cache     *cache
}

// Compile parses the entry and its imports, then evaluates the entry's top level
// once to see that the hook's function is there.
func (e engine) Compile(ctx context.Context, src engines.Source) (engines.Program, error) {
	if src.Script == nil {
		return nil, engines.InvalidError(engines.Location{}, "the Jsonnet engine runs scripts, and this source is an endpoint")
	}
	if src.Script.Signature == engines.HTTPContext {
		return nil, engines.InvalidError(engines.Location{File: src.Script.Path},
			"signature HTTPContext is for hooks written for the Node.js function server, in JavaScript: leave signature out")
	}
	linked, err := link(ctx, src.Script, e.cache)
	if err != nil {
		return nil, err
	}
	if src.Hook == engines.HookImports {
		return engines.NewImports(linked.paths(), linked.missing), nil
	}
	p := &program{stoppable: e.stoppable, script: src.Script, linked: linked, external: externalVariables(src.Script.Parameters)}
	if src.Hook == engines.HookTest {
		return p, p.loadTests(ctx)
	}
	hook, err := p.load(ctx, src.Hook)
	if err != nil {
		return nil, err
	}
	if src.Script.Outline {
		if p.outline = linked.outline(); p.outline != nil {
			p.outline.Function = cmp.Or(src.Script.Function, src.Hook)
		}
	} else { // A check makes no calls, and what a hook may read of the parent takes most of the time of its load.
		p.ofParent = linked.readsOf(hook)
	}
	p.root = linked.rootExpression(hook.call())
	return p, nil
}
