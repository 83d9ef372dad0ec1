package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// Messages of the VM, which has no other way to distinguish its errors.
const (
	stackMessage    = "max stack frames exceeded."
	functionMessage = "couldn't manifest function as JSON"
	externalMessage = "Undefined external variable: "
)

// toError returns what an error of the VM means.
func (c *call) toError(ctx context.Context, err error) *engines.Error {
	var thrown vm.RuntimeError
	switch {
	case c.interrupter.tooDeep:
		return &engines.Error{Kind: engines.Exhausted, Err: err,
			Message: fmt.Sprintf("expressions wait for each other more than %d deep: "+
				"is there a recursion with tailstrict that does not end?", maxEvaluations)}
	case c.interrupter.stopped.Load():
		return engines.Ended(ctx)
	case !errors.As(err, &thrown):
		first, _, _ := strings.Cut(err.Error(), "\n")
		return &engines.Error{Kind: engines.Failed, Message: "the Jsonnet engine failed: " + engines.Truncate(first, maxShownBytes), Err: err}
	case thrown.Msg == stackMessage:
		return c.errorAt(engines.Exhausted, fmt.Sprintf("calls and fields wait for each other more than %d deep", maxCallDepth), thrown)
	case thrown.Msg == functionMessage:
		return c.function(thrown)
	case strings.HasPrefix(thrown.Msg, externalMessage):
		return c.errorAt(engines.Failed, c.program.unknownExternal(strings.TrimPrefix(thrown.Msg, externalMessage)), thrown)
	default:
		e := c.errorAt(engines.Failed, engines.Truncate(thrown.Msg, maxShownBytes), thrown)
		e.Message = explain(e.Message, c.program.script.Files[e.Location.File], e.Location, c.input.Request)
		return e
	}
}

// function returns the error of a function among values: in the answer, or in what the
// script made a text of.
func (c *call) function(thrown vm.RuntimeError) *engines.Error {
	path, inAnswer := c.path(thrown.StackTrace)
	switch {
	case !inAnswer:
		return c.errorAt(engines.Failed, functionMessage, thrown)
	case path == "":
		return &engines.Error{Kind: engines.BadResponse, Err: thrown,
			Message: "the hook gave back a function, not a response: is an argument missing?"}
	default:
		return &engines.Error{Kind: engines.BadResponse, Err: thrown, Message: path + ": is a function, which is no JSON"}
	}
}

// errorAt returns an error with the location of the innermost frame in the author's files,
// and with the stack.
func (c *call) errorAt(kind engines.Kind, message string, thrown vm.RuntimeError) *engines.Error {
	e := &engines.Error{Kind: kind, Message: message, Err: thrown}
	for i := len(thrown.StackTrace) - 1; i >= 0 && len(e.Stack) < maxFrames; i-- {
		f := thrown.StackTrace[i]
		if !c.isAuthored(f.Loc) {
			continue
		}
		at := location(f.Loc)
		if len(e.Stack) == 0 {
			e.Location = at
		}
		e.Stack = append(e.Stack, frame(f.Name, at))
	}
	return e
}

// frameName matches how the VM names what an expression is part of: "function <f>", "object
// <anonymous>", "thunk from <function <f>>".
var frameName = regexp.MustCompile(`^(?:thunk from <)?(?:function|object) <([^<>]+)>+$`)

func frame(name string, at engines.Location) string {
	m := frameName.FindStringSubmatch(name)
	if m == nil || m[1] == "anonymous" {
		return "at " + at.String()
	}
	return fmt.Sprintf("at %s (%s)", m[1], at)
}

// isAuthored reports whether a place is in a file of the tree: the others are of std, of the
// prelude and of the VM's own remarks.
func (c *call) isAuthored(loc ast.LocationRange) bool {
	if loc.File == nil || !loc.IsSet() {
		return false
	}
	name := string(loc.File.DiagnosticFileName)
	_, ok := c.program.linked.files[name]
	return ok && name != preludeFile
}

func location(loc ast.LocationRange) engines.Location {
	return engines.Location{File: string(loc.File.DiagnosticFileName), Line: loc.Begin.Line, Column: loc.Begin.Column}
}

// Frames by which the VM describes where in a value it is.
var (
	fieldRemark   = regexp.MustCompile(`^Field ("(?:[^"\\]|\\.)*"|` + "`[^`]*`" + `)$`)
	elementRemark = regexp.MustCompile(`^Array element (\d+)$`)
	plainKey      = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
)

// path reads the way to a value from the remarks at the end of a stack, and
// whether they start at the answer, rather than within an expression of the script's.
func (c *call) path(stack []vm.TraceFrame) (string, bool) {
	var b strings.Builder
	start := len(stack)
	for start > 0 && step(stack[start-1].Loc) != "" {
		start--
	}
	for _, f := range stack[start:] {
		b.WriteString(step(f.Loc))
	}
	for _, f := range stack[:start] {
		if c.isAuthored(f.Loc) {
			return "", false
		}
	}
	return strings.TrimPrefix(b.String(), "."), true
}

func step(loc ast.LocationRange) string {
	if loc.File != nil {
		return ""
	}
	if m := elementRemark.FindStringSubmatch(loc.FileName); m != nil {
		return "[" + m[1] + "]"
	}
	m := fieldRemark.FindStringSubmatch(loc.FileName)
	if m == nil {
		return ""
	}
	if name := strings.Trim(m[1], `"`); plainKey.MatchString(name) {
		return "." + name
	}
	return "[" + m[1] + "]"
}
