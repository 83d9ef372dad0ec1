package javascript

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/libretto-k8s/libretto/engines/authoring"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

var (
	// noExport and undefinedImport match esbuild's messages about a name that a module does not export.
	noExport        = regexp.MustCompile(`^No matching export in "(.+)" for import "(.+)"$`)
	undefinedImport = regexp.MustCompile(`^Import "(.+)" will always be undefined because there is no matching export in "(.+)"$`)
	// notSupported matches esbuild's words for syntax that it can't make goja understand.
	notSupported = regexp.MustCompile(` (?:is|are) not (?:available|supported) in the configured target environment.*$`)
	// exported matches what a module says about its exports, types not, and declaredType the types of a declaration file.
	exported     = regexp.MustCompile(`(?m)^export (?:default )?(?:async )?(?:function\*?|const|let|var|class|enum) +([\w$]+)`)
	declaredType = regexp.MustCompile(`(?m)^export (?:interface|type) (\w+)`)
)

// advised returns a message of esbuild in the author's terms, with what to do.
func (t tree) advised(m api.Message) string {
	text := stripNamespaces(m.Text)
	if found := noExport.FindStringSubmatch(text); found != nil {
		return text + t.exportAdvice(found[1], found[2])
	}
	if found := undefinedImport.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("No matching export in %q for %q", found[2], found[1]) + t.exportAdvice(found[2], found[1])
	}
	javaScript := m.Location != nil && path.Ext(m.Location.File) != ".ts"
	switch {
	case strings.HasPrefix(text, "The JSX syntax extension"):
		return "Unexpected \"<\": scripts have no JSX and no HTML: a text is put in quotes"
	case strings.HasPrefix(text, "Top-level await"):
		return "await stands outside of a function: a module can't wait: write it into the hook's function, and make that async"
	case text == "Unexpected end of file":
		return text + ": a bracket, a quote or a comment that was opened is not closed"
	case strings.HasSuffix(text, `but found ":"`) && isAfterQuote(m.Location):
		return text + ": that is JSON, and a script is code: export function sync() { return {...} }"
	case javaScript && strings.HasSuffix(text, `but found ":"`):
		return text + ": if it is a type, that is TypeScript: name the file .ts, or leave the type out"
	}
	return notSupported.ReplaceAllString(text, " is not supported by scripts")
}

// isAfterQuote reports whether a quote stands before a place, so that this is about a field of JSON and no type.
func isAfterQuote(at *api.Location) bool {
	if at == nil || at.Column > len(at.LineText) {
		return false
	}
	before := strings.TrimRight(at.LineText[:at.Column], " \t")
	return strings.HasSuffix(before, `"`) || strings.HasSuffix(before, "'")
}

// exportAdvice says which exports a module has, for a name that it does not have. It starts with a colon.
func (t tree) exportAdvice(module, name string) string {
	names := t.exports(module)
	host := module == hostPath
	switch {
	case host && isHostType(name):
		return ": it is a type: write import type"
	case name == "default" && len(names) > 0:
		return fmt.Sprintf(": it has no default export: write import * as NAME for all of it, or import { %s }", names[0])
	case len(names) == 0:
		return ""
	}
	return ": " + spelling.Hint(name, names)
}

// exports returns what a module exports by name, as far as its text says it in plain declarations.
func (t tree) exports(module string) []string {
	text := t.Files[module]
	if module == hostPath {
		text = authoring.JavaScript
	}
	names := map[string]bool{}
	for _, found := range exported.FindAllStringSubmatch(text, -1) {
		names[found[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// isHostType reports whether the module libretto has a type of that name.
func isHostType(name string) bool {
	for _, found := range declaredType.FindAllStringSubmatch(authoring.Declarations, -1) {
		if found[1] == name {
			return true
		}
	}
	return false
}
