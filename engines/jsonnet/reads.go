package jsonnet

import (
	"slices"
	"strings"

	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// The VM does not tell which fields of an object a script asks for: one may be asked for by
// std.objectHas, std.get or in. So which fields of the parent a hook may read is found in its source, at load. An
// expression whose value is the parent is followed through variables, and functions of this script and its imports. Wherever it
// goes to anything else, it counts as read as a whole.

// maxFollowed bounds how many expressions are looked at, and maxFollowedCalls how many calls are within each other. A script
// with more reads all of the parent.
const maxFollowed, maxFollowedCalls = 100_000, 100

// follower follows the request through a script.
type follower struct {
	linked *linked
	reads  engines.Reads
	left   int
	// calls are the calls around the present expression.
	calls []*followedCall
	// seen are functions that were given to what may call them with anything.
	seen map[closure]bool
}

// closure is a function and the scope that it is in.
type closure struct {
	function *ast.Function
	scope    *scope
}

type followedCall struct {
	closure
	repeated bool // by itself
}

// followed is what is known of a value: that it is a part of the request of which reads are noted, or a function, or
// a file or a field of it. Its zero value is anything else.
type followed struct {
	closure
	reads       *engines.Reads
	file, field string
}

// scope holds the variables around an expression.
type scope struct {
	outer     *scope
	variables map[ast.Identifier]followed
}

func (s *scope) lookup(name ast.Identifier) (v followed, found bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v, true
		}
	}
	return followed{}, false
}

// readsOf returns what a hook may read of its request, or nil for all. It is a set of paths below the parent only: other fields
// are noted when they are converted.
func (l *linked) readsOf(h hook) engines.ReadSet {
	asksHost := func(path string) bool { return strings.Contains(l.tree.text(path), "$field") }
	if h.none || slices.ContainsFunc(l.order, asksHost) { // A script can have the parent from the host's native function, too.
		return nil
	}
	f := &follower{linked: l, left: maxFollowed, seen: map[closure]bool{}}
	function := f.find(l.entry, h.field)
	if function.function == nil || len(function.function.Parameters) == 0 {
		return nil
	}
	result := f.enter(function.closure, nil, map[ast.Identifier]followed{f.parameterOf(function.function, h): {reads: &f.reads}})
	f.escape(result)
	if f.left < 0 {
		return nil
	}
	return f.reads.Set()
}

// refine returns what was read, with what the hook may read of the parent in place of the parent.
func (p *program) refine(read engines.ReadSet) engines.ReadSet {
	if p.ofParent == nil {
		return read
	}
	refined := engines.ReadSet{}
	for _, path := range read {
		if path != "parent" && path != "object" {
			refined = append(refined, path)
			continue
		}
		for _, below := range p.ofParent {
			if below == path || strings.HasPrefix(below, path+".") {
				refined = append(refined, below)
			}
		}
	}
	return refined.Union(engines.ReadSet{})
}

func (f *follower) parameterOf(function *ast.Function, h hook) ast.Identifier {
	if h.parameter == "" {
		return function.Parameters[0].Name
	}
	return ast.Identifier(h.parameter)
}

// find returns the function that a file is, or that is a field of its object.
func (f *follower) find(file, field string) followed {
	var s *scope
	for node := f.linked.node(file); node != nil; {
		switch n := node.(type) {
		case *ast.Local:
			s, node = f.bind(n.Binds, s), n.Body
		case *ast.Function:
			if field != "" {
				return followed{}
			}
			return followed{closure: closure{n, s}}
		case *ast.DesugaredObject:
			s = f.bind(n.Locals, s)
			for _, one := range n.Fields {
				if name, ok := one.Name.(*ast.LiteralString); ok && name.Value == field && !one.PlusSuper {
					return f.value(one.Body, s)
				}
			}
			return followed{}
		default:
			return followed{}
		}
	}
	return followed{}
}

// bind returns a scope with local variables, which may refer to each other.
func (f *follower) bind(binds ast.LocalBinds, outer *scope) *scope {
	s := &scope{outer: outer, variables: make(map[ast.Identifier]followed, len(binds))}
	for _, b := range binds {
		s.variables[b.Variable] = followed{}
		if function, ok := b.Body.(*ast.Function); ok {
			s.variables[b.Variable] = followed{closure: closure{function, s}}
		}
	}
	for range len(binds) + 1 {
		changed := false
		for _, b := range binds {
			if v := f.value(b.Body, s); v != s.variables[b.Variable] {
				s.variables[b.Variable], changed = v, true
				clear(f.seen) // With it, functions that were seen may read more.
			}
		}
		if !changed {
			break
		}
	}
	return s
}

// value returns what is known of an expression's value, and notes what the expression reads.
func (f *follower) value(node ast.Node, s *scope) followed {
	if node == nil {
		return followed{}
	}
	if f.left--; f.left < 0 {
		return followed{}
	}
	switch n := node.(type) {
	case *ast.Var:
		v, _ := s.lookup(n.Id)
		return v
	case *ast.Local:
		return f.value(n.Body, f.bind(n.Binds, s))
	case *ast.Function:
		return followed{closure: closure{n, s}}
	case *ast.Import:
		target, err := f.linked.resolve(importOf{n.Loc().FileName, strings.TrimPrefix(n.File.Value, codePrefix), true})
		if err != nil {
			return followed{}
		}
		return followed{file: target}
	case *ast.Index:
		return f.index(f.value(n.Target, s), n.Index, s)
	case *ast.Apply:
		return f.apply(n, s)
	case *ast.Conditional:
		f.escape(f.value(n.Cond, s))
		return f.either(f.value(n.BranchTrue, s), f.value(n.BranchFalse, s))
	case *ast.DesugaredObject:
		f.object(n, s)
		return followed{}
	case *ast.Error:
		return followed{} // What fails has no answer.
	case *ast.Binary:
		if isNull(n.Left) || isNull(n.Right) {
			f.value(n.Left, s)
			f.value(n.Right, s)
			return followed{}
		}
	}
	f.parts(node, s)
	return followed{}
}

// isNull reports whether an expression is null. A comparison with it does not look into an object.
func isNull(node ast.Node) bool {
	_, is := node.(*ast.LiteralNull)
	return is
}

// parts notes that all that an expression consists of goes to where it is not followed.
func (f *follower) parts(node ast.Node, s *scope) {
	for _, part := range children(node, false) {
		f.escape(f.value(*part.node, s))
	}
}

func (f *follower) object(n *ast.DesugaredObject, s *scope) {
	inside := f.bind(n.Locals, s)
	for _, check := range n.Asserts {
		f.escape(f.value(check, inside))
	}
	for _, field := range n.Fields {
		f.escape(f.value(field.Name, s))
		f.escape(f.value(field.Body, inside))
	}
}

// index returns what is known of a field.
func (f *follower) index(target followed, key ast.Node, s *scope) followed {
	name, isLiteral := key.(*ast.LiteralString)
	switch {
	case !isLiteral:
		f.escape(f.value(key, s))
		f.escape(target)
	case target.reads != nil:
		return followed{reads: target.reads.Field(name.Value, map[string]any{})}
	case target.file != "" && target.field == "":
		return followed{file: target.file, field: name.Value}
	}
	return followed{}
}

// either returns what is known of one of two values.
func (f *follower) either(a, b followed) followed {
	if a == b {
		return a
	}
	f.escape(a)
	f.escape(b)
	return followed{}
}

// escape notes that a value goes to where it is not followed: all of it may be read.
func (f *follower) escape(v followed) {
	v.reads.All()
	if v.function == nil || f.seen[v.closure] {
		return
	}
	f.seen[v.closure] = true
	f.escape(f.enter(v.closure, nil, nil))
}

// apply follows a call.
func (f *follower) apply(n *ast.Apply, s *scope) followed {
	var given []followed
	named := map[ast.Identifier]followed{}
	isFollowed := false
	for _, argument := range n.Arguments.Positional {
		given = append(given, f.value(argument.Expr, s))
	}
	for _, argument := range n.Arguments.Named {
		named[argument.Name] = f.value(argument.Arg, s)
		given = append(given, named[argument.Name])
	}
	for _, v := range given {
		isFollowed = isFollowed || v.reads != nil || v.function != nil
	}
	if result, ok := f.builtin(n, given, s); ok {
		return result
	}
	target := f.value(n.Target, s)
	if target.file != "" && isFollowed {
		target = f.find(target.file, target.field)
	}
	if target.function == nil {
		f.escape(target)
		for _, v := range given {
			f.escape(v)
		}
		return followed{}
	}
	return f.enter(target.closure, given[:len(n.Arguments.Positional)], named)
}

// typePredicates are functions of std that look at the type of a value alone.
var typePredicates = []string{"isObject", "isString", "isArray", "isNumber", "isBoolean", "isFunction", "type"}

// builtin follows a call of std that looks at one field of an object, or at none.
func (f *follower) builtin(n *ast.Apply, given []followed, s *scope) (followed, bool) {
	target, ok := n.Target.(*ast.Index)
	if !ok || len(given) == 0 || len(n.Arguments.Named) > 0 || given[0].reads == nil {
		return followed{}, false
	}
	_, shadowed := s.lookup("std")
	name := stdField(target, shadowed)
	if slices.Contains(typePredicates, name) {
		return followed{}, true
	}
	if len(given) < 2 || !slices.Contains([]string{"get", "objectHas", "objectHasAll", "objectHasEx", "equals"}, name) {
		return followed{}, false
	}
	if len(given) == 2 && name == "equals" && isNull(n.Arguments.Positional[1].Expr) {
		return followed{}, true
	}
	field, ok := n.Arguments.Positional[1].Expr.(*ast.LiteralString)
	if !ok || name == "equals" {
		return followed{}, false
	}
	part := given[0].reads.Field(field.Value, map[string]any{})
	for _, v := range given[2:] {
		f.escape(v)
	}
	if name != "get" {
		return followed{}, true
	}
	return followed{reads: part}, true
}

// enter follows a call of a function with arguments, and returns what is known of its value.
func (f *follower) enter(c closure, positional []followed, named map[ast.Identifier]followed) followed {
	if len(f.calls) == maxFollowedCalls {
		f.left = -1
	}
	for _, around := range f.calls {
		if around.closure == c {
			around.repeated = true
			for _, v := range positional {
				f.escape(v)
			}
			for _, v := range named {
				f.escape(v)
			}
			return followed{}
		}
	}
	call := &followedCall{closure: c}
	f.calls = append(f.calls, call)
	inside := &scope{outer: c.scope, variables: map[ast.Identifier]followed{}}
	for i, p := range c.function.Parameters {
		inside.variables[p.Name] = named[p.Name]
		if i < len(positional) {
			inside.variables[p.Name] = positional[i]
		}
	}
	for _, p := range c.function.Parameters {
		f.escape(f.value(p.DefaultArg, inside))
	}
	result := f.value(c.function.Body, inside)
	f.calls = f.calls[:len(f.calls)-1]
	if call.repeated {
		f.escape(result)
		return followed{}
	}
	return result
}
