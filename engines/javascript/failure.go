package javascript

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/file"

	"github.com/libretto-k8s/libretto/engines"
)

// failure converts an error of a call. Formatting an exception may run script code, which
// the interrupt still bounds.
func (i *isolate) failure(ctx context.Context, err error) *engines.Error {
	if thrown, ok := err.(*goja.Exception); ok { // To unwrap one runs script code.
		return i.exception(ctx, thrown)
	}
	var ours *engines.Error
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &interrupted):
		return withStack(engines.Ended(ctx), frames(interrupted.Stack()))
	case errors.As(err, &overflow):
		e := &engines.Error{Kind: engines.Exhausted, Err: err, Message: fmt.Sprintf("functions call each other more than %d deep", maxCallDepth)}
		return withStack(e, frames(overflow.Stack()))
	default:
		return &engines.Error{Kind: engines.Failed, Message: err.Error(), Err: err}
	}
}

func (i *isolate) exception(ctx context.Context, thrown *goja.Exception) *engines.Error {
	written, err := i.protect(func() (any, error) {
		var ours *engines.Error
		if errors.As(thrown, &ours) {
			return ours, nil
		}
		return i.thrownError(thrown.Value(), thrown.Stack()), nil
	})
	if err == nil {
		return written.(*engines.Error)
	}
	e := &engines.Error{Kind: engines.Failed, Message: "threw a value that can't be shown"}
	if ctx.Err() != nil {
		e = engines.Ended(ctx)
	}
	return withStack(e, frames(thrown.Stack()))
}

// thrownError returns the error for what a script threw. An Error has the stack of where it
// was made, which helps more than where it was last thrown from.
func (i *isolate) thrownError(v goja.Value, stack []goja.StackFrame) *engines.Error {
	e := &engines.Error{Kind: engines.Failed, Message: i.message(v)}
	if o, ok := v.(*goja.Object); ok && classOf(o) == "Error" {
		if own := parsedFrames(ownStack(o)); len(own) > 0 {
			return withStack(e, own)
		}
	}
	return withStack(e, frames(stack))
}

func (i *isolate) message(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return "threw " + i.format(v, maxShownBytes)
	}
	if classOf(o) != "Error" {
		return "threw " + i.format(o, maxShownBytes)
	}
	name, message := errorField(o, "name"), errorField(o, "message")
	switch {
	case message == "":
		return engines.Truncate(name, maxShownBytes)
	case name == "" || name == "Error":
		return engines.Truncate(message, maxShownBytes)
	default:
		return engines.Truncate(name+": "+message, maxShownBytes)
	}
}

// ownStack returns an Error's stack, which goja formats on access, with name and message.
// Formatting would not end if one of these were the error itself.
func ownStack(o *goja.Object) string {
	for _, name := range []string{"name", "message"} {
		if _, nested := o.Get(name).(*goja.Object); nested {
			return ""
		}
	}
	return errorField(o, "stack")
}

// errorField returns a field of an Error as text, unless it is an object: formatting an error
// that is its own message would not end.
func errorField(o *goja.Object, name string) string {
	v := o.Get(name)
	if _, nested := v.(*goja.Object); nested || v == nil || goja.IsUndefined(v) {
		return ""
	}
	return primitive(v)
}

// frame is one line of a script's stack.
type frame struct {
	function string
	at       engines.Location
}

func (f frame) String() string {
	if f.function == "" {
		return "at " + f.at.String()
	}
	return fmt.Sprintf("at %s (%s)", f.function, f.at)
}

// withStack adds the stack to an error, and the location of the innermost frame.
func withStack(e *engines.Error, stack []frame) *engines.Error {
	for _, f := range stack[:min(len(stack), maxFrames)] {
		e.Stack = append(e.Stack, f.String())
	}
	if len(stack) > 0 {
		e.Location = stack[0].at
	}
	return e
}

// frames returns the frames in the author's code, without goja's functions, the helpers that
// esbuild adds and the host's own module.
func frames(stack []goja.StackFrame) []frame {
	var kept []frame
	for _, f := range stack {
		if at := location(f.Position()); isAuthored(at) {
			kept = append(kept, frame{function: functionName(f.FuncName()), at: at})
		}
	}
	return kept
}

// functionName returns the name of a function, or "" for the wrapper of a module.
func functionName(function string) string {
	if isModule(function) {
		return ""
	}
	return function
}

// isModule reports whether a name is that of the function that esbuild makes of a module.
func isModule(function string) bool {
	return strings.HasPrefix(function, namespace+":") || strings.HasPrefix(function, testNamespace+":") ||
		strings.HasPrefix(function, missingNamespace+":")
}

// stackLine matches how goja formats a frame, with its program counter in the last brackets.
var stackLine = regexp.MustCompile(`(?m)^\s*at (?:(\S+) \()?(.+):(\d+):(\d+)\(\d+\)\)?$`)

func parsedFrames(text string) []frame {
	var kept []frame
	for _, m := range stackLine.FindAllStringSubmatch(text, -1) {
		line, _ := strconv.Atoi(m[3])
		column, _ := strconv.Atoi(m[4])
		at := location(file.Position{Filename: m[2], Line: line, Column: column})
		if isAuthored(at) {
			kept = append(kept, frame{function: functionName(strings.TrimPrefix(m[1], "new ")), at: at})
		}
	}
	return kept
}

// isAuthored reports whether a place is in a file of the tree.
func isAuthored(at engines.Location) bool {
	return at.File != "" && at.File != bundleName && !strings.HasPrefix(at.File, ownPath) && !strings.Contains(at.File, missingPath)
}

// location converts a position. It undoes goja's parsing of paths as URLs.
func location(p file.Position) engines.Location {
	name := p.Filename
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return engines.Location{File: name, Line: p.Line, Column: p.Column}
}
