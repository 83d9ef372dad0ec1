// Package javascript is the engine for hooks written in JavaScript or
// TypeScript, as ES modules or CommonJS.
//
// At load the module tree is bundled in memory by esbuild, which also lowers what goja does not know, and compiled once. The modules run
// once, and what they left of a goja runtime is restored before each call, so that no call can see the state of another one (see
// realm.go). The request is not copied into the runtime. The script sees it through views, which convert only the values that are read
// and keep what the script writes (see view.go).
//
// A script can neither read files nor reach a network, and has no timers and no
// environment. This package can't bound the memory of a script, or stop one within a
// single long built-in function: only killing a process does. It keeps no state outside
// of the values that it returns, so that it can run in such a process.
package javascript

import (
	"context"
	"regexp"

	"github.com/libretto-k8s/libretto/engines"
)

// importStatement matches the imports that bind names, at the start of a line.
var importStatement = regexp.MustCompile(`(?m)^import\s+(?:type\s+)?([^"'()]*?)\s*\bfrom\s*["'][^"'\n]*["']`)

// Definition describes the engine.
func Definition() engines.Definition {
	return engines.Definition{
		Name:       "JavaScript",
		Doc:        "Runs hooks written in JavaScript or TypeScript, as ES modules or CommonJS.",
		Extensions: []string{".js", ".mjs", ".cjs", ".ts"},
		Imports:    importStatement,
		Tests:      &engines.TestFiles{Endings: []string{".test.js", ".test.ts"}},
		New:        func(engines.Config) (engines.Engine, error) { return engine{}, nil },
	}
}

type engine struct{}

// Compile bundles and compiles the tree, then runs the top level of the modules
// once to see that the hook's function is there. Of several errors the first is
// the error's location and message, the others (five at most) are its stack.
func (engine) Compile(ctx context.Context, src engines.Source) (engines.Program, error) {
	if src.Script == nil {
		return nil, engines.InvalidError(engines.Location{}, "the JavaScript engine runs scripts, and this source is an endpoint")
	}
	ofTests := src.Hook == engines.HookTest || src.Hook == engines.HookImports && testName.MatchString(src.Script.Path)
	built, err := bundle(src.Script, ofTests)
	if err != nil {
		return nil, err
	}
	if src.Hook == engines.HookImports {
		return engines.NewImports(built.used, built.warnings), nil
	}
	code, err := built.compile()
	if err != nil {
		return nil, err
	}
	p := &program{code: code, script: src.Script, tree: built.tree, export: wanted(src), warnings: built.warnings, ofTests: ofTests}
	if p.outline = built.outline; p.outline != nil {
		p.outline.Function = p.export
	}
	p.globals = globalsOf(built.code)
	if p.points, err = built.allPoints(src.Script); err != nil {
		return nil, err
	}
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	return p, nil
}
