package javascript

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/libretto-k8s/libretto/engines"
)

// keepImports makes esbuild keep the imports of TypeScript that nothing uses, unless they say that they are types.
const keepImports = `{"compilerOptions": {"verbatimModuleSyntax": true}}`

// unusedImports reports imports of TypeScript that lead to nothing, and that esbuild drops because no code uses them: those that
// are used are errors already. It may be types that are imported so, which a name in the text of the module shows. A name that the
// host's module does not have is an error, and what is not in the tree is a warning.
func (t tree) unusedImports(entry string) (warnings []*engines.Error, err error) {
	if !slices.ContainsFunc(t.usedPaths(), isOwnTypeScript) {
		return nil, nil
	}
	t.keepImports, t.read = true, newCount()
	build := options(t, entry)
	build.TsconfigRaw, build.Sourcemap = keepImports, api.SourceMapNone
	result := api.Build(build)
	var wrong []*engines.Error
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		if m.Location == nil || !isOwnTypeScript(stripNamespaces(m.Location.File)) {
			continue
		}
		t.replace(m.Location)
		found := noExport.FindStringSubmatch(stripNamespaces(m.Text))
		switch {
		case found == nil && m.PluginName == pluginName:
			warnings = append(warnings, t.warning(m, "nothing uses it: leave the import out, or write import type if it is of types"))
		case found == nil:
		case found[1] == hostPath && !isHostType(found[2]):
			wrong = append(wrong, t.invalid(m))
		case found[1] != hostPath && !t.mayDeclare(found[1], found[2]):
			warnings = append(warnings, t.warning(m, "nothing uses it: leave it out"))
		}
	}
	if len(wrong) > 0 {
		return nil, engines.JoinErrors(wrong)
	}
	return warnings, nil
}

// withImports returns a module of TypeScript as JavaScript with all imports that are not said to be of types: esbuild does not
// ask of TypeScript whether what it imports is there.
func withImports(text string) string {
	return string(api.Transform(text, api.TransformOptions{Loader: api.LoaderTS, TsconfigRaw: keepImports, LogLevel: api.LogLevelSilent}).Code)
}

// replace gives a place in a module without types the line and column of the author's: those of the first mention of what is there.
func (t tree) replace(at *api.Location) {
	mention := strings.Trim(at.LineText[min(at.Column, len(at.LineText)):][:max(0, min(at.Length, len(at.LineText)-at.Column))], `"'`)
	text := t.Files[stripNamespaces(at.File)]
	found := regexp.MustCompile(`(?:^|[^\w$])(` + regexp.QuoteMeta(mention) + `)(?:[^\w$]|$)`).FindStringSubmatchIndex(text)
	if at.Line, at.Column = 0, 0; found != nil {
		before := text[:found[2]]
		at.Line, at.Column = strings.Count(before, "\n")+1, len(before)-strings.LastIndexByte(before, '\n')-1
	}
}

func (t tree) warning(m api.Message, advice string) *engines.Error {
	e := t.invalid(m)
	e.Message += "; " + advice
	return e
}

// isOwnTypeScript reports whether a file is TypeScript, and of no package.
func isOwnTypeScript(name string) bool {
	return path.Ext(name) == ".ts" && isOwn(name)
}

// isOwn reports whether a file is of no package.
func isOwn(name string) bool {
	return !slices.Contains(strings.Split(path.Dir(name), "/"), modulesFolder)
}

// passesOn matches exports of all that another module has.
var passesOn = regexp.MustCompile(`(?m)^\s*export\s+(?:type\s+)?\*`)

// mayDeclare reports whether a module may have a type of that name.
func (t tree) mayDeclare(module, name string) bool {
	text := t.Files[module]
	return passesOn.MatchString(text) || regexp.MustCompile(`(?:^|[^\w$])`+regexp.QuoteMeta(name)+`(?:[^\w$]|$)`).MatchString(text)
}
