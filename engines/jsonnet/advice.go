package jsonnet

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

var (
	noField     = regexp.MustCompile(`^Field does not exist: (.*)$`)
	noIndex     = regexp.MustCompile(`^Value non indexable: \*jsonnet\.value(\w+)$`)
	ownModule   = regexp.MustCompile(`local\s+(\w+)\s*=\s*import\s*['"]libretto(?:\.libsonnet)?['"]`)
	moduleField = regexp.MustCompile(`(?m)^  (\w+)\(.*::`)
)

// explain adds to a message of the VM what to do, and removes names of Go. text is the file of the place.
func explain(message, text string, at engines.Location) string {
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
		advice := "docs/reference/library.md has its functions"
		if near := engines.Nearest(name, moduleFunctions()); near != "" {
			advice = "is " + near + " meant?"
		}
		return fmt.Sprintf("%s: the module libretto has no such function: %s", message, advice)
	}
	if strings.HasPrefix(code, "std."+name) {
		return message + ": std has no such function"
	}
	return fmt.Sprintf("%s: if it may be missing, write std.get(object, '%s', default)", message, name)
}

func moduleFunctions() []string {
	var names []string
	for _, found := range moduleField.FindAllStringSubmatch(authoring.Jsonnet, -1) {
		names = append(names, found[1])
	}
	return names
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
