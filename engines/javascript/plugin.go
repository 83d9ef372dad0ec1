package javascript

import (
	"encoding/json"
	"fmt"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/libretto-k8s/libretto/engines/authoring"
)

const (
	// namespace keeps esbuild from taking the tree's paths for files.
	namespace = "libretto-module"
	// hostModule is the name by which scripts import the host's own module, hostNamespace
	// its namespace in esbuild, and hostPath its name in positions.
	hostModule    = "libretto"
	hostNamespace = "libretto-host"
	hostPath      = "<libretto>"
	pluginName    = "tree"
	// missingNamespace is the namespace of missing modules, and missingPath the start of their names.
	missingNamespace = "libretto-missing"
	missingPath      = "<missing "
	// entryPoint stands for the script in esbuild's options. It is no path of
	// the tree, because esbuild looks on the disk for a file of this name.
	entryPoint = "libretto-entry:/script"
	// noSourceMap is put at the end of each module. esbuild follows the last
	// such comment, even to files of the host, but not a relative one.
	noSourceMap = "\n//# sourceMappingURL=none"
)

// plugin resolves all modules for esbuild: from the tree, except for the host's own module.
// The name of that can't mean a file of the tree, because imports of these begin with a dot.
func (t tree) plugin(entry string) api.Plugin {
	return api.Plugin{Name: pluginName, Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if args.Kind == api.ResolveEntryPoint {
				return t.resolveEntry(entry), nil
			}
			if found, ok := t.resolveTest(entry, args); ok {
				return found, nil
			}
			if args.Path == hostModule {
				return api.OnResolveResult{Path: hostPath, Namespace: hostNamespace, SideEffects: api.SideEffectsFalse}, nil
			}
			return t.onResolve(newImportRequest(args)), nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			return t.load(args.Path), nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: missingNamespace}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			message, _ := args.PluginData.(string)
			return missingModule(message), nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: testNamespace}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			text := testModules[args.Path]
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: hostNamespace}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
			text := authoring.JavaScript
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
		})
	}}
}

// onResolve returns the path of a module. If a package requires a missing module, that is an
// error at run time, and a warning: many packages look for optional dependencies in this way.
func (t tree) onResolve(r importRequest) api.OnResolveResult {
	found, err := t.resolve(r)
	switch {
	case err == nil:
		t.imports.Store([2]string{r.importer, found}, true)
		return api.OnResolveResult{Path: found, Namespace: namespace}
	case r.required && r.vendored(), t.keepImports:
		warning := api.Message{Text: err.Error()}
		name := missingPath + r.imported + " in " + r.importer + ">"
		return api.OnResolveResult{Path: name, Namespace: missingNamespace, PluginData: err.Error(), Warnings: []api.Message{warning}}
	default:
		return api.OnResolveResult{Errors: []api.Message{{Text: err.Error()}}}
	}
}

// missingModule returns a module that throws the message.
func missingModule(message string) api.OnLoadResult {
	text := fmt.Sprintf("throw new Error(%s); module.exports = {};", quote(message))
	return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}
}

// quote returns text as a JavaScript string.
func quote(text string) string {
	quoted, _ := json.Marshal(text) // A string can always be written.
	return string(quoted)
}

func (t tree) load(name string) api.OnLoadResult {
	t.use(name)
	text, kind := t.Files[name], loader(name)
	if t.read.Add(int64(len(text))) > maxSourceBytes {
		return api.OnLoadResult{Errors: []api.Message{{
			Text: fmt.Sprintf("with this file the script imports more than %d KiB: import less, or bundle it without what is not used",
				maxSourceBytes>>10),
			Location: &api.Location{File: name, Namespace: namespace},
		}}}
	}
	if kind != api.LoaderText && nesting(text, maxSourceNesting) > maxSourceNesting {
		return api.OnLoadResult{Errors: []api.Message{{
			Text:     fmt.Sprintf("brackets are nested more than %d deep", maxSourceNesting),
			Location: &api.Location{File: name, Namespace: namespace},
		}}}
	}
	if t.keepImports && isOwnTypeScript(name) {
		text, kind = withImports(text), api.LoaderJS
	}
	if kind == api.LoaderJS || kind == api.LoaderTS {
		text += noSourceMap
	}
	return api.OnLoadResult{Contents: &text, Loader: kind}
}
