package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// hook is where in the entry's value the function is, and how to call it.
type hook struct {
	// field is the name of the object's field that holds it. If it is empty, the
	// entry's value is the function.
	field string
	// parameter is the name of the one that is given the request. If it is empty,
	// the first is, unless none is true: it has no parameters.
	parameter string
	none      bool
}

// call returns a Jsonnet function that calls the hook and passes its answer to the host.
func (h hook) call() string {
	function, argument := "entry", "request"
	if h.field != "" {
		function = "entry[" + quoted(h.field) + "]"
	}
	if h.parameter != "" {
		argument = h.parameter + "=request"
	}
	if h.none {
		argument = ""
	}
	return fmt.Sprintf(`
function(entry)
  local field = std.native('$field');
  local request = { [name]: field(name) for name in std.native('$fields')() };
  std.native('$answer')(%s(%s))`, function, argument)
}

// inspection is a Jsonnet function that reports what the entry's value is.
const inspection = `
function(entry)
  local type = std.type(entry), field = %s;
  local needed(f) = if std.type(f) == 'function' then std.length(f) else 0;
  std.native('$answer')(
    if type == 'object' then
      local there = std.objectHasAll(entry, field);
      { type: type, fields: std.objectFieldsAll(entry), there: there }
      + if there then { field: std.type(entry[field]), needed: needed(entry[field]) } else {}
    else
      { type: type, needed: needed(entry) }
  )`

// load evaluates the entry's top level, as far as it takes to find the hook.
func (p *program) load(ctx context.Context, name string) (hook, error) {
	wanted := p.script.Function
	if wanted == "" {
		wanted = name
	}
	found, err := p.inspect(ctx, wanted)
	if err != nil {
		return hook{}, err
	}
	return p.findHook(found, wanted)
}

// inspect returns what the entry's value is, and its field wanted.
func (p *program) inspect(ctx context.Context, wanted string) (map[string]any, error) {
	c := p.newCall(engines.Call{})
	found, err := c.evaluate(ctx, p.linked.rootExpression(fmt.Sprintf(inspection, quoted(wanted))))
	var e *engines.Error
	if errors.As(err, &e) && e.Kind != engines.Timeout && ctx.Err() == nil {
		e.Kind = engines.Invalid
	}
	if err != nil {
		return nil, err
	}
	return found.(map[string]any), nil
}

// quoted writes a name as a string of Jsonnet in which nothing but the quote is special.
func quoted(name string) string {
	return "@'" + strings.ReplaceAll(name, "'", "''") + "'"
}

// findHook returns where the hook is, given what inspection found.
func (p *program) findHook(found map[string]any, wanted string) (hook, error) {
	switch {
	case found["type"] == "function" && p.script.Function == "":
		return p.parameter(hook{}, p.linked.function(""), found["needed"])
	case found["type"] == "function":
		return hook{}, p.invalid("the file is a function, and no object with a field %q: leave function out", wanted)
	case found["type"] != "object":
		return hook{}, p.invalid("the file is of type %s: it must be function(request) ..., or an object with a function %q",
			found["type"], wanted)
	case found["there"] != true:
		return hook{}, p.invalid("no field %q: %s", wanted, listFields(found["fields"].([]any)))
	case found["field"] != "function":
		return hook{}, p.invalid("the field %q is of type %s, and no function", wanted, found["field"])
	default:
		return p.parameter(hook{field: wanted}, p.linked.function(wanted), found["needed"])
	}
}

func (p *program) invalid(format string, args ...any) *engines.Error {
	return engines.InvalidError(engines.Location{File: p.script.Path}, format, args...)
}

func listFields(fields []any) string {
	if len(fields) == 0 {
		return "the file is an object without any"
	}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = fmt.Sprint(field)
	}
	return "the file is an object with " + strings.Join(names, ", ")
}

// parameter chooses the one that is given the request: the one that must be
// given, or else the one of that name, or else the first. A function that the
// source does not show as such is given it as its first argument.
func (p *program) parameter(h hook, function *ast.Function, needed any) (hook, error) {
	if needed.(int64) > 1 {
		e := p.invalid("the hook's function needs %d arguments: it is given one, the request", needed)
		if function != nil && function.Loc().IsSet() {
			e.Location = location(*function.Loc())
		}
		return hook{}, e
	}
	if function == nil {
		return h, nil
	}
	h.none = len(function.Parameters) == 0
	for _, parameter := range function.Parameters {
		if parameter.DefaultArg == nil || needed == int64(0) && parameter.Name == "request" {
			h.parameter = string(parameter.Name)
		}
	}
	return h, nil
}

// function finds the hook's function in the source, or nil if it is not in the
// entry's own text, or in a file that the entry imports whole.
func (l *linked) function(field string) *ast.Function {
	node := l.unwrap(l.node(l.entry))
	object, ok := node.(*ast.DesugaredObject)
	if ok && field != "" {
		node = nil
		for _, f := range object.Fields {
			if name, ok := f.Name.(*ast.LiteralString); ok && name.Value == field {
				node = l.unwrap(f.Body)
			}
		}
	}
	function, _ := node.(*ast.Function)
	return function
}

// unwrap skips locals and imports around a value.
func (l *linked) unwrap(node ast.Node) ast.Node {
	for range len(l.files) + maxSourceNesting {
		switch n := node.(type) {
		case *ast.Local:
			node = n.Body
		case *ast.Import:
			target, err := l.resolve(importOf{n.Loc().FileName, strings.TrimPrefix(n.File.Value, codePrefix), true})
			if err != nil {
				return nil
			}
			node = l.node(target)
		default:
			return node
		}
	}
	return node
}
