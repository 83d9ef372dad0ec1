package check

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// tree is a module tree that loads. What it says about the use of files and names it takes from the text, by rules that hold
// in every language: what no text names can't be used. So a use may be missed in favour of the author, and none is made up.
type tree struct {
	engines *engines.Registry
	spec    scripts.Spec
	files   engines.Files
	origins map[string]scripts.Origin
	// reached are the files that hooks reach, by way of names in quotes, and tested those that tests reach.
	reached, tested map[string]bool
	// byName are the files that a name in quotes reaches, and always those that any file reaches.
	byName map[string][]string
	always []string
}

func newTree(registry *engines.Registry, spec scripts.Spec, compiled *scripts.Compiled) *tree {
	t := &tree{
		engines: registry, spec: spec, files: compiled.Files, origins: compiled.Origins, reached: map[string]bool{}, tested: map[string]bool{},
	}
	t.index()
	for file, origin := range t.origins {
		if origin.Hook != "" {
			t.reach(file, t.reached)
		}
	}
	for _, hook := range spec.Hooks {
		if hook.Path != "" {
			t.reach(hook.Path, t.reached)
		}
	}
	for file := range t.files {
		if scripts.IsTest(registry, file) {
			t.reach(file, t.tested)
		}
	}
	return t
}

// quoted matches what follows a quote, as the path of an import does.
var quoted = regexp.MustCompile("[\"'`]([^\"'`\\s]+)")

// reach adds a file and all that it may import to those that are reached.
func (t *tree) reach(file string, reached map[string]bool) {
	if reached[file] {
		return
	}
	reached[file] = true
	names := map[string]bool{}
	for _, match := range quoted.FindAllStringSubmatch(t.files[file], -1) {
		names[stem(match[1])] = true
		names[path.Base(t.engines.TrimExtension(match[1]))] = true
	}
	for name := range names {
		for _, other := range t.byName[name] {
			t.reach(other, reached)
		}
	}
	for _, other := range t.always {
		t.reach(other, reached)
	}
}

// index fills byName and always. A file is entered under its name; one that an import of its folder may lead to, by its name or by a
// package.json, which is read then, under the name of the folder too, and under "." and "..".
func (t *tree) index() {
	t.byName = map[string][]string{}
	for file := range t.files {
		add := func(name string) { t.byName[name] = append(t.byName[name], file) }
		add(t.nameOf(file))
		folder := path.Dir(file)
		switch {
		case stem(file) != "index" && path.Base(file) != "package.json":
		case folder == ".":
			t.always = append(t.always, file)
		default:
			add(path.Base(folder))
			add("")
		}
	}
}

// stem returns the last element of a path without its extensions.
func stem(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return name
}

// nameOf returns the name of a file in imports. Those of sync.js do not reach sync.test.js.
func (t *tree) nameOf(file string) string {
	if strings.Contains(path.Base(file), ".test.") {
		return path.Base(t.engines.TrimExtension(file))
	}
	return stem(file)
}

// isCompanion reports whether a file is not meant to be imported: documentation, types, tests, and what tools have.
func isCompanion(registry *engines.Registry, file string) bool {
	name := path.Base(file)
	switch {
	case strings.HasPrefix(name, "."), strings.HasPrefix(name, "tsconfig"), strings.HasPrefix(name, "jsonnetfile."):
		return true
	case name == "package.json", name == "package-lock.json", name == "jsconfig.json", name == "kustomization.yaml":
		return true
	}
	switch path.Ext(name) {
	case ".md", ".txt", "", ".yaml", ".yml":
		return !registry.HasScript(name)
	}
	return strings.HasSuffix(name, ".d.ts") || strings.Contains(name, "_test.") || strings.Contains(name, ".test.")
}

// checkTree reports what is suspicious about scripts that load.
func (d *definitionCheck) checkTree(t *tree) {
	for _, file := range slices.Sorted(maps.Keys(t.reached)) {
		if scripts.IsLibrary(file) {
			continue
		}
		for _, unused := range unusedImports(t.engines.ImportsIn(file), t.files[file]) {
			d.warnf(t, engines.Location{File: file, Line: unused.line}, reasonUnusedImport, "%s is imported and not used: leave it out", unused.name)
		}
	}
	d.checkDirections(t)
	d.reportLibraries(t)
	d.checkParameters(t)
	d.checkSecrets(t)
}

// directionControls are the characters that turn the direction of the text after them, up to the end of the line.
const directionControls = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// checkDirections reports files that are used, also of libraries, in which editors and reviews show a text in another order than it is run
// in.
func (d *definitionCheck) checkDirections(t *tree) {
	for _, file := range slices.Sorted(maps.Keys(t.reached)) {
		text := t.files[file]
		if at := strings.IndexAny(text, directionControls); at >= 0 {
			r, _ := utf8.DecodeRuneInString(text[at:])
			d.warnf(t, engines.Location{File: file, Line: 1 + strings.Count(text[:at], "\n")}, reasonTextDirection,
				"U+%04X turns the direction of the text after it, so that it is shown in another order than it is run in: "+
					"leave it out, or write it as an escape", r)
		}
	}
}

// minUnusedBytes is how much of the libraries must be unused for a note.
const minUnusedBytes = 256 << 10

// reportLibraries notes how much of the libraries in the tree nothing reaches. That is as it should be, and costs room in each host.
func (d *definitionCheck) reportLibraries(t *tree) {
	var first string
	files, unused, bytes, unusedBytes := 0, 0, 0, 0
	for file, text := range t.files {
		if !scripts.IsLibrary(file) {
			continue
		}
		files, bytes = files+1, bytes+len(text)
		if !t.reached[file] && !t.tested[file] {
			unused, unusedBytes = unused+1, unusedBytes+len(text)
			if first == "" || file < first {
				first = file
			}
		}
	}
	if unusedBytes < minUnusedBytes {
		return
	}
	d.add(Finding{
		Severity: Note, Reason: reasonUnusedLibraries, Object: d.name,
		Location: d.set.Locate(d.object, t.spec, t.origins[first], engines.Location{}),
		Message: fmt.Sprintf("nothing reaches %d of the %d files of libraries (%.1f of %.1f MiB): libretto bundle packs only what the hooks reach",
			unused, files, float64(unusedBytes)/(1<<20), float64(bytes)/(1<<20)),
	})
}

// warnf reports a warning about a file of the tree.
func (d *definitionCheck) warnf(t *tree, at engines.Location, reason, format string, args ...any) {
	d.add(Finding{Severity: Warning, Reason: reason, Object: d.name, Message: fmt.Sprintf(format, args...), Location: d.locate(t, at)})
}

// locate returns where the place in a file of the tree is among the files that are checked.
func (d *definitionCheck) locate(t *tree, at engines.Location) engines.Location {
	return d.set.Locate(d.object, t.spec, t.origins[at.File], at)
}

// checkParameters reports parameters that no script names.
func (d *definitionCheck) checkParameters(t *tree) {
	for name, hook := range t.spec.Hooks {
		if hook.Parameters != nil && !t.names("parameters") {
			d.reportf(Warning, reasonUnusedParameters, fmt.Sprintf("spec.hooks.%s.script.parameters", name),
				"hook %s: it is given parameters, and no file that it reaches names request.parameters", name)
		}
	}
}

// names reports whether a file that is used contains a word.
func (t *tree) names(word string) bool {
	for file := range t.reached {
		if strings.Contains(t.files[file], word) {
			return true
		}
	}
	return false
}

// secretsRule matches a rule of a customize hook's answer for Secrets.
var secretsRule = regexp.MustCompile(`\bresource["']?\s*:\s*["']?secrets\b`)

// checkSecrets reports a customize hook that asks for Secrets that the definition does not declare.
func (d *definitionCheck) checkSecrets(t *tree) {
	if _, ok := t.spec.Hooks["customize"]; !ok || d.declaresSecrets() {
		return
	}
	for _, file := range slices.Sorted(maps.Keys(t.reached)) {
		if scripts.IsLibrary(file) {
			continue
		}
		if found := secretsRule.FindStringIndex(t.files[file]); found != nil {
			line := 1 + strings.Count(t.files[file][:found[0]], "\n")
			d.warnf(t, engines.Location{File: file, Line: line}, reasonSecretsUndeclared,
				"hook customize asks for Secrets, which a script is given only if spec.relatedResources lists them: "+
					"add {apiVersion: v1, resource: secrets}")
		}
	}
}

func (d *definitionCheck) declaresSecrets() bool {
	rules, _, _ := unstructured.NestedSlice(d.object.Object, "spec", "relatedResources")
	return slices.ContainsFunc(rules, func(rule any) bool {
		fields, _ := rule.(map[string]any)
		return fields["resource"] == "secrets" && fields["nameFrom"] == nil
	})
}
