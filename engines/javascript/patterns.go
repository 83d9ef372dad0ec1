package javascript

import (
	"reflect"
	"strings"

	"github.com/dop251/goja/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// checkPatterns refuses regular expressions that goja takes and gets wrong: it
// lets \p{L} with the u flag match nothing at all.
func checkPatterns(parsed *ast.Program) error {
	w := walker{seen: map[uintptr]bool{}}
	w.walk(reflect.ValueOf(parsed.Body))
	if w.found == nil {
		return nil
	}
	at := location(parsed.File.Position(int(w.found.Idx0()) - parsed.File.Base()))
	return engines.InvalidError(at, `regular expressions with \p{...} are not supported here`)
}

// walker goes through a syntax tree, for which goja's ast package has no
// visitor, until it has found a pattern that must be refused.
type walker struct {
	seen  map[uintptr]bool
	found *ast.RegExpLiteral
}

func (w *walker) walk(v reflect.Value) {
	switch {
	case w.found != nil:
	case v.Kind() == reflect.Interface:
		w.walk(v.Elem())
	case v.Kind() == reflect.Pointer:
		w.pointer(v)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == reflect.TypeFor[ast.Program]().PkgPath():
		for _, field := range v.Fields() {
			w.walk(field)
		}
	}
}

func (w *walker) pointer(v reflect.Value) {
	if v.IsNil() || w.seen[v.Pointer()] {
		return
	}
	w.seen[v.Pointer()] = true
	if literal, ok := v.Interface().(*ast.RegExpLiteral); ok && unsupported(literal) {
		w.found = literal
		return
	}
	w.walk(v.Elem())
}

func unsupported(literal *ast.RegExpLiteral) bool {
	return strings.Contains(literal.Flags, "u") &&
		(strings.Contains(literal.Pattern, `\p{`) || strings.Contains(literal.Pattern, `\P{`))
}
