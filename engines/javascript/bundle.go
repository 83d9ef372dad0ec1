package javascript

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// bundledTree is a module tree as one script. Its value is a function of (module,
// exports, and what the host's own module takes) that leaves what the entry exports in
// module.exports.
type bundledTree struct {
	entry     string
	code      string
	sourceMap []byte
	warnings  []*engines.Error
	// used are the paths of the files that it is made of, which are in tree.
	used []string
	tree tree
	// points are set by compile if coverage is.
	coverage bool
	points   []engines.CoveragePoint
	// outline is set by compile if outlined is.
	outlined bool
	outline  *engines.Outline
}

// supported has false for features that goja lacks, so that esbuild lowers them. Other features
// are not lowered: lowered code is slower, and its errors are harder to read.
var supported = map[string]bool{
	"async-generator": false,
	"decorators":      false,
	"for-await":       false,
	"import-meta":     false,
	"top-level-await": false,
	"using":           false,
}

// defines are what packages ask of their environment.
var defines = map[string]string{"global": "globalThis", "process.env.NODE_ENV": `"production"`}

const (
	wrapperStart = "(function (module, exports, " + authoring.CallName + ", " + authoring.StackName + ") {"
	wrapperEnd   = "})"
)

func bundle(script *engines.Script, ofTests bool) (*bundledTree, error) {
	files := tree{Files: script.Files, ofTests: ofTests, used: &sync.Map{}, imports: &sync.Map{}, read: newCount()}
	if err := script.Files.Check(script.Path); err != nil {
		return nil, err
	}
	build := options(files, script.Path)
	if script.Coverage {
		build.TreeShaking = api.TreeShakingFalse // What nothing uses is to be counted too.
	}
	result := api.Build(build)
	if len(result.Errors) > 0 {
		return nil, files.buildError(result.Errors)
	}
	b := &bundledTree{entry: script.Path, used: files.usedPaths(), tree: files, coverage: script.Coverage, outlined: script.Outline}
	var err error
	if b.warnings, err = files.buildWarnings(script.Path, result.Warnings); err != nil {
		return nil, err
	}
	for _, file := range result.OutputFiles {
		if strings.HasSuffix(file.Path, ".map") {
			b.sourceMap = file.Contents
		} else {
			b.code = finishCode(string(file.Contents))
		}
	}
	return b, nil
}

// buildWarnings returns what in the build's warnings is about imports. A name that the host's module does not have is an error.
func (t tree) buildWarnings(entry string, messages []api.Message) (warnings []*engines.Error, err error) {
	for _, m := range messages {
		found := undefinedImport.FindStringSubmatch(stripNamespaces(m.Text))
		switch {
		case m.PluginName == pluginName:
			warnings = append(warnings, t.invalid(m))
		case found != nil && found[2] == hostPath:
			return nil, t.invalid(m)
		}
	}
	unused, err := t.unusedImports(entry)
	return slices.Concat(warnings, unused, t.uncheckedGlobals(entry)), err
}

// exportsLine is how esbuild ends the exports of an ES module: by copying them to
// another object, which takes longer than many hooks. The copy is not needed.
var exportsLine = regexp.MustCompile(`(?m)^module\.exports = __toCommonJS\((\w+)\);$`)

// finishCode makes the bundle strict if it is of ES modules, which esbuild leaves to the
// runtime. Line numbers stay the same for the source map.
func finishCode(code string) string {
	if !exportsLine.MatchString(code) {
		return code
	}
	strict := strings.Replace(code, wrapperStart, wrapperStart+` "use strict";`, 1)
	return exportsLine.ReplaceAllString(strict, "module.exports = $1;")
}

func options(files tree, entry string) api.BuildOptions {
	return api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: entryPoint, OutputPath: "bundle"}},
		Plugins:             []api.Plugin{files.plugin(entry)},
		Bundle:              true,
		Outdir:              "out",
		Format:              api.FormatCommonJS,
		Platform:            api.PlatformNeutral,
		Target:              api.ESNext,
		Supported:           supported,
		Sourcemap:           api.SourceMapExternal,
		SourcesContent:      api.SourcesContentExclude,
		LegalComments:       api.LegalCommentsNone,
		TsconfigRaw:         "{}",
		Define:              defines,
		LogLevel:            api.LogLevelSilent,
		Banner:              map[string]string{"js": wrapperStart},
		Footer:              map[string]string{"js": wrapperEnd},
	}
}

// buildError returns esbuild's errors as one, with the location of the first.
func (t tree) buildError(messages []api.Message) *engines.Error {
	all := make([]*engines.Error, len(messages))
	for i, m := range messages {
		all[i] = t.invalid(m)
	}
	return engines.JoinErrors(all)
}

func (t tree) invalid(m api.Message) *engines.Error {
	return engines.InvalidError(t.location(m.Location), "%s", t.advised(m))
}

// location returns a location in the author's file. The line that load adds counts as the end
// of the file.
func (t tree) location(l *api.Location) engines.Location {
	if l == nil {
		return engines.Location{}
	}
	place := engines.Location{File: stripNamespaces(l.File)}
	if l.Line == 0 {
		return place
	}
	place.Line, place.Column = l.Line, l.Column+1
	if text, ok := t.Files[place.File]; ok && place.Line > strings.Count(text, "\n")+1 {
		place.Line, place.Column = strings.Count(text, "\n")+1, len(text)-strings.LastIndexByte(text, '\n')
	}
	return place
}

var withoutNamespaces = strings.NewReplacer(hostNamespace+":", "", testNamespace+":", "", namespace+":", "")

// stripNamespaces removes esbuild's namespaces from the paths in a text.
func stripNamespaces(text string) string {
	return withoutNamespaces.Replace(text)
}
