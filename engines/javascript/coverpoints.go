package javascript

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/libretto-k8s/libretto/engines"
)

// reached returns the points that a call reached, also if it failed, or nil if none are counted.
func (p *program) reached(i *isolate) engines.Coverage {
	if p.points == nil {
		return nil
	}
	set := engines.NewCoverage(len(p.points))
	if i.report == nil {
		return set // It failed before the modules ran.
	}
	i.rt.ClearInterrupt()
	all, err := i.protect(func() (any, error) { return i.report(goja.Undefined()) })
	if err != nil {
		return set
	}
	variables, _ := all.(goja.Value).Export().([]any)
	for point, v := range variables {
		if v == true {
			set.Add(point)
		}
	}
	return set
}

// takeReport is what a bundle gives its function to.
func (i *isolate) takeReport(call goja.FunctionCall) goja.Value {
	i.report, _ = goja.AssertFunction(call.Argument(0))
	i.held = append(i.held, call.Argument(0))
	return goja.Undefined()
}

// placer returns a function from a node of the bundle to its place in the author's files, and whether the author wrote it:
// esbuild places the statements that it adds to a module at the module's start.
func (b *bundledTree) placer(parsed *file.File) func(ast.Node) (engines.Location, bool) {
	return func(n ast.Node) (engines.Location, bool) {
		offset := int(n.Idx0()) - parsed.Base()
		if condition, ok := n.(*ast.IfStatement); ok { // The parser leaves its place out.
			offset = strings.LastIndex(b.code[:int(condition.Test.Idx0())-parsed.Base()], "if (")
		}
		if offset < 0 {
			return engines.Location{}, false
		}
		at := location(parsed.Position(offset))
		rest := b.code[offset:]
		return at, !imported.MatchString(rest) && (at.Line != 1 || at.Column != 1 || !added.MatchString(rest))
	}
}

// added matches the statements that esbuild puts before those of a module, and imported those that it makes of some imports.
var (
	added    = regexp.MustCompile(`^(?:var \w+_exports = \{\};|__export\(|module\.exports = \w+_exports;|var \w+ = __(?:commonJS|esm)\()`)
	imported = regexp.MustCompile(`^var import_\w+ = `)
)

// allPoints returns the points of a bundle, and those of the author's other files: what no hook imports is not covered.
// It returns nil if the script asks for no coverage.
func (b *bundledTree) allPoints(script *engines.Script) ([]engines.CoveragePoint, error) {
	if !script.Coverage {
		return nil, nil
	}
	points, known := b.points, map[string]bool{}
	for _, p := range points {
		known[p.Location.File] = true
	}
	for _, name := range slices.Sorted(maps.Keys(script.Files)) {
		if known[name] || !isCode(name) {
			continue
		}
		for _, p := range pointsOf(name, script) {
			if p.Location.File == name {
				points = append(points, p)
			}
		}
	}
	if len(points) > engines.MaxCoveragePoints {
		return nil, engines.TooManyPoints(script.Path)
	}
	return slices.Clip(append([]engines.CoveragePoint{}, points...)), nil
}

// isCode reports whether a file is code of the author's: neither types alone, nor a library, nor a test.
func isCode(name string) bool {
	stem, isTyped := strings.CutSuffix(name, ".ts")
	if !isTyped {
		stem = strings.TrimSuffix(name, path.Ext(name))
	}
	return slices.Contains(Definition().Extensions, path.Ext(name)) && !isLibrary(name) &&
		!strings.HasSuffix(stem, ".d") && !strings.HasSuffix(stem, ".test")
}

// pointsOf returns the points of a file that no hook imports, and of what it imports. It has none if it does not compile.
func pointsOf(name string, script *engines.Script) []engines.CoveragePoint {
	alone := *script
	alone.Path = name
	b, err := bundle(&alone, false)
	if err != nil {
		return nil
	}
	if _, err := b.compile(); err != nil {
		return nil
	}
	return b.points
}
