package javascript

import (
	"errors"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/go-sourcemap/sourcemap"

	"github.com/libretto-k8s/libretto/engines"
)

// bundleName is the file name of positions that are in no module.
const bundleName = "bundle"

// compile turns the bundle into goja's code. goja may refuse what esbuild
// accepts, mostly regular expressions.
func (b *bundledTree) compile() (*goja.Program, error) {
	positions, err := adaptSourceMap(b.sourceMap)
	if err != nil {
		return nil, engines.InvalidError(engines.Location{File: b.entry}, "reading the bundle's source map: %v", err)
	}
	// The loader passes the map as data. By default goja opens the file that the comment names.
	handOver := parser.WithSourceMapLoader(func(string) ([]byte, error) { return positions, nil })
	parsed, err := parser.ParseFile(nil, bundleName, b.code+"\n//# sourceMappingURL=map", 0, handOver)
	if err != nil {
		return nil, b.parseError(err, positions)
	}
	if err := expandPatterns(parsed); err != nil {
		return nil, err
	}
	b.declareLexically(parsed)
	if b.outlined {
		b.outline = b.outlineOf(parsed)
	}
	if b.coverage {
		b.points = instrument(parsed, b.placer(parsed.File))
	}
	if singleThreaded {
		yieldInLoops(parsed)
	}
	return b.generate(parsed)
}

func (b *bundledTree) generate(parsed *ast.Program) (*goja.Program, error) {
	code, err := goja.CompileAST(parsed, false)
	if err == nil {
		return code, nil
	}
	at := engines.Location{File: b.entry}
	var refused *goja.CompilerSyntaxError
	if errors.As(err, &refused) && refused.File != nil {
		at = location(refused.File.Position(refused.Offset))
		return nil, engines.InvalidError(at, "%s", refused.Message)
	}
	return nil, engines.InvalidError(at, "%v", err)
}

// parseError returns the first of the parser's errors with its location. Their positions are
// in the bundle, because the parser reads the map last.
func (b *bundledTree) parseError(err error, positions []byte) *engines.Error {
	var list parser.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return engines.InvalidError(engines.Location{File: b.entry}, "%v", err)
	}
	at := engines.Location{File: b.entry}
	if consumer, err := sourcemap.Parse(bundleName, positions); err == nil {
		if file, _, line, column, ok := consumer.Source(list[0].Position.Line, list[0].Position.Column); ok {
			at = engines.Location{File: file, Line: line, Column: column}
		}
	}
	return engines.InvalidError(at, "%s", list[0].Message)
}
