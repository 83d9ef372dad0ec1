package javascript

import (
	"reflect"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// expandPatterns writes the characters of properties into the regular expressions of a syntax tree.
func expandPatterns(parsed *ast.Program) error {
	w := walker{seen: map[uintptr]bool{}}
	w.walk(reflect.ValueOf(parsed.Body))
	if w.err == nil {
		return nil
	}
	at := location(parsed.File.Position(int(w.found.Idx0()) - parsed.File.Base()))
	return engines.InvalidError(at, "%v", w.err)
}

// walker goes through a syntax tree, for which goja's ast package has no
// visitor, until it has found a pattern that must be refused.
type walker struct {
	seen  map[uintptr]bool
	found *ast.RegExpLiteral
	err   error
}

func (w *walker) walk(v reflect.Value) {
	switch {
	case w.err != nil:
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
	if literal, ok := v.Interface().(*ast.RegExpLiteral); ok && strings.Contains(literal.Flags, "u") {
		w.found = literal
		literal.Pattern, w.err = expandProperties(literal.Pattern)
		return
	}
	w.walk(v.Elem())
}

// expandPattern is expandProperties for patterns that are made of text while the script runs.
func (i *isolate) expandPattern(call goja.FunctionCall) goja.Value {
	expanded, err := expandProperties(call.Argument(0).String())
	if err != nil {
		panic(i.syntaxError(err))
	}
	return i.rt.ToValue(expanded)
}

func (i *isolate) syntaxError(err error) goja.Value {
	made, newErr := i.rt.New(i.rt.Get("SyntaxError"), i.rt.ToValue(err.Error()))
	must(newErr)
	return made
}
