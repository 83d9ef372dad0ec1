package jsonnet

import "github.com/google/go-jsonnet/ast"

// children returns the places of an expression's parts, after the parser has reduced the
// language to its core.
func children(node ast.Node, shadowed bool) []child {
	switch n := node.(type) {
	case *ast.Apply:
		return applyChildren(n, shadowed)
	case *ast.Array:
		var s []child
		for i := range n.Elements {
			s = append(s, child{&n.Elements[i].Expr, shadowed})
		}
		return s
	case *ast.Binary:
		return []child{{&n.Left, shadowed}, {&n.Right, shadowed}}
	case *ast.Conditional:
		return []child{{&n.Cond, shadowed}, {&n.BranchTrue, shadowed}, {&n.BranchFalse, shadowed}}
	case *ast.DesugaredObject:
		return objectChildren(n, shadowed)
	case *ast.Error:
		return []child{{&n.Expr, shadowed}}
	case *ast.Function:
		return functionChildren(n, shadowed)
	case *ast.Index:
		return []child{{&n.Target, shadowed}, {&n.Index, shadowed}}
	case *ast.InSuper:
		return []child{{&n.Index, shadowed}}
	case *ast.SuperIndex:
		return []child{{&n.Index, shadowed}}
	case *ast.Local:
		return localChildren(n, shadowed)
	case *ast.Unary:
		return []child{{&n.Expr, shadowed}}
	default:
		return nil
	}
}

func applyChildren(n *ast.Apply, shadowed bool) []child {
	s := []child{{&n.Target, shadowed}}
	for i := range n.Arguments.Positional {
		s = append(s, child{&n.Arguments.Positional[i].Expr, shadowed})
	}
	for i := range n.Arguments.Named {
		s = append(s, child{&n.Arguments.Named[i].Arg, shadowed})
	}
	return s
}

// objectChildren returns the parts of an object. Names of fields are outside of the scope of
// its locals.
func objectChildren(n *ast.DesugaredObject, shadowed bool) []child {
	var s []child
	inside := shadowed || bindsStd(n.Locals)
	for i := range n.Locals {
		s = append(s, child{&n.Locals[i].Body, inside})
	}
	for i := range n.Asserts {
		s = append(s, child{&n.Asserts[i], inside})
	}
	for i := range n.Fields {
		s = append(s, child{&n.Fields[i].Name, shadowed}, child{&n.Fields[i].Body, inside})
	}
	return s
}

func functionChildren(n *ast.Function, shadowed bool) []child {
	var s []child
	for _, p := range n.Parameters {
		shadowed = shadowed || p.Name == "std"
	}
	for i := range n.Parameters {
		s = append(s, child{&n.Parameters[i].DefaultArg, shadowed})
	}
	return append(s, child{&n.Body, shadowed})
}

func localChildren(n *ast.Local, shadowed bool) []child {
	var s []child
	shadowed = shadowed || bindsStd(n.Binds)
	for i := range n.Binds {
		s = append(s, child{&n.Binds[i].Body, shadowed})
	}
	return append(s, child{&n.Body, shadowed})
}

// bindsStd reports whether std is among the variables.
func bindsStd(locals ast.LocalBinds) bool {
	for _, bind := range locals {
		if bind.Variable == "std" {
			return true
		}
	}
	return false
}
