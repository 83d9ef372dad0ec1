package jsonnet

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

var (
	noField   = regexp.MustCompile(`^Field does not exist: (.*)$`)
	noIndex   = regexp.MustCompile(`^Value non indexable: \*jsonnet\.value(\w+)$`)
	ownModule = regexp.MustCompile(`local\s+(\w+)\s*=\s*import\s*['"]libretto(?:\.libsonnet)?['"]`)
)

// explain adds to a message of the VM what to do, and removes names of Go. text is the file of the place.
// request is looked at for the field that was meant, because the VM does not say of which object one is missing.
func explain(message, text string, at engines.Location, request map[string]any) string {
	if found := noIndex.FindStringSubmatch(message); found != nil {
		kind := strings.ToLower(found[1])
		if kind != "null" {
			return fmt.Sprintf("a field or an element of a %s is asked for: only objects, arrays and strings have some", kind)
		}
		return "a field or an element of null is asked for: look whether the value is there, as in if x == null then ... else"
	}
	found := noField.FindStringSubmatch(message)
	if found == nil {
		return message
	}
	name := found[1]
	code := lineFrom(text, at)
	if module := ownModule.FindStringSubmatch(text); module != nil && strings.HasPrefix(code, module[1]+"."+name) {
		advice := cmp.Or(spelling.Meant(name, authoring.Names()), "docs/reference/library.md has its functions")
		return fmt.Sprintf("%s: the module libretto has no such function: %s", message, advice)
	}
	if strings.HasPrefix(code, "std."+name) {
		return message + ": std has no such function"
	}
	if strings.HasPrefix(code, "request."+name) {
		if meant := engines.MissingRequestField(name, slices.Collect(maps.Keys(request))); meant != "" {
			return message + ": " + meant
		}
	}
	if meant := engines.MissingField(name, append(engines.FieldNames(request), authoring.Names()...)); meant != "" {
		return message + ": " + meant
	}
	return fmt.Sprintf("%s: if it may be missing, write std.get(object, '%s', default)", message, name)
}

// lineFrom returns the rest of a line from a place on.
func lineFrom(text string, at engines.Location) string {
	lines := strings.SplitN(text, "\n", at.Line+1)
	if at.Line < 1 || at.Line > len(lines) || at.Column < 1 || at.Column > len(lines[at.Line-1]) {
		return ""
	}
	return lines[at.Line-1][at.Column-1:]
}

// explainSyntax returns a message of the parser without the name of what it was doing.
func explainSyntax(message string) string {
	if before, ok := strings.CutSuffix(message, " while parsing terminal"); ok {
		return before + ", where a value is needed"
	}
	return message
}
