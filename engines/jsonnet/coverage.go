package jsonnet

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// coverage is what calls of a program count: evaluations of expressions. It does not change once the program is linked.
type coverage struct {
	points []engines.CoveragePoint
	// conditions say, for each point, which counter makes it one that was reached.
	conditions []condition
	// evaluated are the counters of expressions by the start of their evaluation, and completed by its success.
	evaluated, completed map[ast.Node]int
	counters             int
}

// condition holds if a counter is above another one, or above zero if there is no other.
type condition struct{ counter, above int }

const none = -1

func newCoverage() *coverage {
	return &coverage{evaluated: map[ast.Node]int{}, completed: map[ast.Node]int{}}
}

// counter returns the counter of an expression.
func (c *coverage) counter(of map[ast.Node]int, node ast.Node) int {
	number, known := of[node]
	if !known {
		number, c.counters = c.counters, c.counters+1
		of[node] = number
	}
	return number
}

func (c *coverage) add(at *ast.LocationRange, decision string, outcome int, holds condition) {
	place := engines.Location{File: string(at.File.DiagnosticFileName), Line: at.Begin.Line, Column: at.Begin.Column}
	c.points = append(c.points, engines.CoveragePoint{Location: place, Decision: decision, Outcome: outcome})
	c.conditions = append(c.conditions, holds)
}

// addFile adds the points of a file: the first expressions of each line, what is evaluated by itself, and outcomes.
func (c *coverage) addFile(root ast.Node) { c.addNode(root, 0, true) }

// addNode adds the points of an expression within one that begins in the line outer. alone is true for what is evaluated
// when it is needed: a local, a field, or the body of a function.
func (c *coverage) addNode(node ast.Node, outer int, alone bool) {
	if node == nil {
		return
	}
	if at := node.Loc(); isPlaced(at) {
		_, isLocal := node.(*ast.Local) // It only names what it consists of.
		if !isLocal && (alone || at.Begin.Line != outer) {
			c.add(at, "", 0, condition{c.counter(c.evaluated, node), none})
		}
		if !isLocal {
			outer, alone = at.Begin.Line, false
		}
	}
	c.addDecision(node)
	failure := assertFailure(node)
	for _, part := range children(node, false) {
		if failure != nil && *part.node == ast.Node(failure) { // The parser puts it in the place of the assertion.
			c.addNode(failure.Expr, outer, false)
			continue
		}
		c.addNode(*part.node, outer, alone || isLazy(node, part.node))
	}
}

// assertFailure returns what an assertion fails with, or nil for any other expression.
func assertFailure(node ast.Node) *ast.Error {
	n, ok := node.(*ast.Conditional)
	if !ok {
		return nil
	}
	failure, ok := n.BranchFalse.(*ast.Error)
	if !ok || isPlaced(n.Loc()) && *failure.Loc() != *n.Loc() {
		return nil
	}
	return failure
}

// firstPlace returns the place of a condition, or of the first of several, which the parser joins without a place.
func firstPlace(condition ast.Node) *ast.LocationRange {
	for !isPlaced(condition.Loc()) {
		joined, ok := condition.(*ast.Binary)
		if !ok {
			break
		}
		condition = joined.Left
	}
	return condition.Loc()
}

func isPlaced(at *ast.LocationRange) bool { return at.File != nil && at.IsSet() }

// isLazy reports whether a part is evaluated by itself.
func isLazy(node ast.Node, part *ast.Node) bool {
	switch n := node.(type) {
	case *ast.Local:
		return part != &n.Body
	case *ast.Function:
		return true
	case *ast.DesugaredObject:
		return !slices.ContainsFunc(n.Fields, func(f ast.DesugaredObjectField) bool { return f.Name == *part })
	}
	return false
}

// addDecision adds the outcomes of an expression that decides. The parser makes conditions of assertions and of those in
// comprehensions, and gives them no place.
func (c *coverage) addDecision(node ast.Node) {
	switch n := node.(type) {
	case *ast.Conditional:
		at, decision := n.Loc(), "if"
		if failure := assertFailure(n); failure != nil {
			at, decision = failure.Loc(), "assert"
		} else if !isPlaced(at) {
			at = firstPlace(n.Cond)
		}
		if isPlaced(at) {
			c.add(at, decision, 0, condition{c.counter(c.evaluated, n.BranchTrue), none})
			c.add(at, decision, 1, condition{c.counter(c.evaluated, n.BranchFalse), none})
		}
	case *ast.Binary:
		if at := n.Right.Loc(); isPlaced(at) && (n.Op == ast.BopAnd || n.Op == ast.BopOr) {
			right := c.counter(c.evaluated, n.Right)
			c.add(at, n.Op.String(), 0, condition{right, none})
			c.add(at, n.Op.String(), 1, condition{c.counter(c.completed, n), right})
		}
	}
}

// replaced tells that an expression takes the place of others, which are not evaluated any more.
func (c *coverage) replaced(by ast.Node, nodes ...ast.Node) {
	taken, known := c.evaluated[by]
	for _, node := range nodes {
		number, counted := c.evaluated[node]
		switch {
		case !counted || node == by:
		case !known:
			c.evaluated[by] = number
			taken, known = number, true
		default:
			for i := range c.conditions {
				if c.conditions[i].counter == number {
					c.conditions[i].counter = taken
				}
			}
		}
	}
}

// replacedParts returns an expression, and its parts that are not evaluated if it is a format that was inlined.
func replacedParts(node ast.Node) []ast.Node {
	parts := []ast.Node{node}
	call, ok := node.(*ast.Apply)
	if !ok {
		return parts
	}
	for _, argument := range call.Arguments.Positional {
		switch argument.Expr.(type) {
		case *ast.LiteralString, *ast.Array:
			parts = append(parts, argument.Expr)
		}
	}
	return parts
}

// countAll parses the files that are counted, and adds the points of those that are not imported: they are not covered.
func (l *linked) countAll(ctx context.Context) error {
	l.coverage = newCoverage()
	for _, path := range l.order {
		if !isCode(path) {
			continue
		}
		file, err := parseFile(path, l.tree.text(path), l.coverage)
		if err := l.countingError(ctx, err); err != nil {
			return err
		}
		l.counted[path] = file
	}
	for _, path := range slices.Sorted(maps.Keys(l.tree.Files)) {
		if _, imported := l.files[path]; imported || !isCode(path) {
			continue
		}
		if parsed, err := parse(path, l.tree.Files[path]); err == nil {
			l.coverage.addFile(parsed)
		}
		if err := l.countingError(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// countingError returns err, or why to count no more.
func (l *linked) countingError(ctx context.Context, err error) error {
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return engines.Ended(ctx)
	case len(l.coverage.points) > engines.MaxCoveragePoints:
		return engines.TooManyPoints(l.entry)
	default:
		return nil
	}
}

// isCode reports whether a file is code of the author's: neither data, nor a library, nor a test.
func isCode(name string) bool {
	extension := path.Ext(name)
	return slices.Contains(Definition().Extensions, extension) && !strings.HasSuffix(strings.TrimSuffix(name, extension), "_test") &&
		!slices.Contains(strings.Split(path.Dir(name), "/"), "vendor")
}

// counts are the counters of one call.
type counts struct {
	*coverage
	values []uint32
}

func (c *coverage) start() *counts {
	if c == nil {
		return nil
	}
	return &counts{c, make([]uint32, c.counters)}
}

func (c *counts) before(node ast.Node) {
	if number, counted := c.evaluated[node]; counted {
		c.values[number]++
	}
}

func (c *counts) after(node ast.Node, err error) {
	if _, isBinary := node.(*ast.Binary); !isBinary || err != nil {
		return
	}
	if number, counted := c.completed[node]; counted {
		c.values[number]++
	}
}

// reached returns the points that the call reached.
func (c *counts) reached() engines.Coverage {
	if c == nil {
		return nil
	}
	set := engines.NewCoverage(len(c.points))
	for i, holds := range c.conditions {
		least := uint32(0)
		if holds.above != none {
			least = c.values[holds.above]
		}
		if c.values[holds.counter] > least {
			set.Add(i)
		}
	}
	return set
}
