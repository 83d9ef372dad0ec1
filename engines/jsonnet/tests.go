package jsonnet

import (
	"context"

	"github.com/google/go-jsonnet/ast"
)

// testCalls is a Jsonnet function that answers for a file of tests: see engines.HookTest.
const testCalls = `
function(entry)
  local field = std.native('$field'), asked = std.native('$fields')();
  local at(path) = std.foldl(function(value, name) value[name], path, entry);
  local inspect(path) =
    local value = at(path), type = std.type(value);
    std.native('$place')(path) + { type: type } + if type == 'object' then { fields: std.objectFields(value) } else {};
  local compare(path) =
    local value = at(path);
    if std.type(value) == 'boolean' then { equal: value }
    else if value.actual == value.expected then { equal: true }
    else { equal: false, actual: value.actual, expected: value.expected };
  std.native('$answer')(if std.member(asked, 'run') then std.map(compare, field('run')) else std.map(inspect, field('paths')))`

// loadTests checks that the entry is an object, and prepares the calls.
func (p *program) loadTests(ctx context.Context) error {
	found, err := p.inspect(ctx, "")
	if err != nil {
		return err
	}
	switch found["type"] {
	case "object":
		p.root = p.linked.rootExpression(testCalls)
		return nil
	case "function":
		return p.invalid("the file is a function, and nothing calls it: it must be an object of tests, {name: {actual: ..., expected: ...}}")
	default:
		return p.invalid("the file is of type %s: it must be an object of tests, {name: {actual: ..., expected: ...}}", found["type"])
	}
}

// place returns line and column of the field at a path of the entry, as far as the text shows it.
func (c *call) place(args []any) (any, error) {
	names, _ := args[0].([]any)
	node, line, column := c.program.linked.node(c.program.linked.entry), 0, 0
	for _, name := range names {
		object, _ := c.program.linked.unwrap(node).(*ast.DesugaredObject)
		if object == nil {
			break
		}
		node = nil
		for _, f := range object.Fields {
			if label, ok := f.Name.(*ast.LiteralString); ok && label.Value == name {
				node, line, column = f.Body, f.LocRange.Begin.Line, f.LocRange.Begin.Column
			}
		}
	}
	return map[string]any{"line": float64(line), "column": float64(column)}, nil
}
