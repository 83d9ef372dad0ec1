package jsonnet

import "github.com/google/go-jsonnet/ast"

// slots are the places of an expression's parts, after the parser has reduced the
// language to its core.
func slots(node ast.Node, shadowed bool) []slot {
	switch n := node.(type) {
	case *ast.Apply:
		return applySlots(n, shadowed)
	case *ast.Array:
		var s []slot
		for i := range n.Elements {
			s = append(s, slot{&n.Elements[i].Expr, shadowed})
		}
		return s
	case *ast.Binary:
		return []slot{{&n.Left, shadowed}, {&n.Right, shadowed}}
	case *ast.Conditional:
		return []slot{{&n.Cond, shadowed}, {&n.BranchTrue, shadowed}, {&n.BranchFalse, shadowed}}
	case *ast.DesugaredObject:
		return objectSlots(n, shadowed)
	case *ast.Error:
		return []slot{{&n.Expr, shadowed}}
	case *ast.Function:
		return functionSlots(n, shadowed)
	case *ast.Index:
		return []slot{{&n.Target, shadowed}, {&n.Index, shadowed}}
	case *ast.InSuper:
		return []slot{{&n.Index, shadowed}}
	case *ast.SuperIndex:
		return []slot{{&n.Index, shadowed}}
	case *ast.Local:
		return localSlots(n, shadowed)
	case *ast.Unary:
		return []slot{{&n.Expr, shadowed}}
	default:
		return nil
	}
}

func applySlots(n *ast.Apply, shadowed bool) []slot {
	s := []slot{{&n.Target, shadowed}}
	for i := range n.Arguments.Positional {
		s = append(s, slot{&n.Arguments.Positional[i].Expr, shadowed})
	}
	for i := range n.Arguments.Named {
		s = append(s, slot{&n.Arguments.Named[i].Arg, shadowed})
	}
	return s
}

// objectSlots: the names of fields are outside of the object, where its locals are not known.
func objectSlots(n *ast.DesugaredObject, shadowed bool) []slot {
	var s []slot
	inside := shadowed || binds(n.Locals)
	for i := range n.Locals {
		s = append(s, slot{&n.Locals[i].Body, inside})
	}
	for i := range n.Asserts {
		s = append(s, slot{&n.Asserts[i], inside})
	}
	for i := range n.Fields {
		s = append(s, slot{&n.Fields[i].Name, shadowed}, slot{&n.Fields[i].Body, inside})
	}
	return s
}

func functionSlots(n *ast.Function, shadowed bool) []slot {
	var s []slot
	for _, p := range n.Parameters {
		shadowed = shadowed || p.Name == "std"
	}
	for i := range n.Parameters {
		s = append(s, slot{&n.Parameters[i].DefaultArg, shadowed})
	}
	return append(s, slot{&n.Body, shadowed})
}

func localSlots(n *ast.Local, shadowed bool) []slot {
	var s []slot
	shadowed = shadowed || binds(n.Binds)
	for i := range n.Binds {
		s = append(s, slot{&n.Binds[i].Body, shadowed})
	}
	return append(s, slot{&n.Body, shadowed})
}

// binds says whether std is among the variables.
func binds(locals ast.LocalBinds) bool {
	for _, bind := range locals {
		if bind.Variable == "std" {
			return true
		}
	}
	return false
}
