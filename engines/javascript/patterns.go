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
	var last *ast.RegExpLiteral
	err := eachNode(parsed, func(node any) (err error) {
		if literal, ok := node.(*ast.RegExpLiteral); ok && strings.Contains(literal.Flags, "u") {
			last = literal
			literal.Pattern, err = expandProperties(literal.Pattern)
		}
		return err
	})
	if err == nil {
		return nil
	}
	at := location(parsed.File.Position(int(last.Idx0()) - parsed.File.Base()))
	return engines.InvalidError(at, "%v", err)
}

// eachNode calls f with each node of a syntax tree, before those below it, until f returns an error. goja's ast package has no visitor.
func eachNode(parsed *ast.Program, f func(node any) error) error {
	seen := map[uintptr]bool{} // Declarations are in the tree twice.
	var walk func(reflect.Value) error
	walk = func(v reflect.Value) (err error) {
		switch {
		case v.Kind() == reflect.Interface:
			return walk(v.Elem())
		case v.Kind() == reflect.Pointer && !v.IsNil() && !seen[v.Pointer()]:
			seen[v.Pointer()] = true
			if err = f(v.Interface()); err == nil {
				err = walk(v.Elem())
			}
		case v.Kind() == reflect.Slice:
			for i := 0; i < v.Len() && err == nil; i++ {
				err = walk(v.Index(i))
			}
		case v.Kind() == reflect.Struct && v.Type().PkgPath() == astPackage:
			for i := 0; i < v.NumField() && err == nil; i++ {
				err = walk(v.Field(i))
			}
		}
		return err
	}
	return walk(reflect.ValueOf(parsed.Body))
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
