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
	// hostModule is what scripts import the host's own module by, hostNamespace where
	// esbuild finds it, and hostPath what it is called in positions.
	hostModule    = "libretto"
	hostNamespace = "libretto-host"
	hostPath      = "<libretto>"
	pluginName    = "tree"
	// missingNamespace has modules that are not there, and missingPath begins their names.
	missingNamespace = "libretto-missing"
	missingPath      = "<missing "
	// entryPoint stands for the script in esbuild's options. It is no path of
	// the tree, because esbuild looks on the disk for a file of this name.
	entryPoint = "libretto-entry:/script"
	// noSourceMap is put at the end of each module. esbuild follows the last
	// such comment, even to files of the host, but not a relative one.
	noSourceMap = "\n//# sourceMappingURL=none"
)

// plugin answers all of esbuild's questions for modules: out of the tree, but for the
// host's own module. No file of the tree can be meant by the name of that, because their
// names begin with a dot where they are imported.
func (t tree) plugin(entry string) api.Plugin {
	return api.Plugin{Name: pluginName, Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if args.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{Path: entry, Namespace: namespace}, nil
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
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: hostNamespace}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
			text := authoring.JavaScript
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
		})
	}}
}

// onResolve returns where a module is found. What a package requires and is not there is an
// error where it is required, and a warning: many look in this way for what they can do
// without.
func (t tree) onResolve(r importRequest) api.OnResolveResult {
	found, err := t.resolve(r)
	switch {
	case err == nil:
		return api.OnResolveResult{Path: found, Namespace: namespace}
	case r.required && r.vendored():
		warning := api.Message{Text: err.Error()}
		name := missingPath + r.imported + " in " + r.importer + ">"
		return api.OnResolveResult{Path: name, Namespace: missingNamespace, PluginData: err.Error(), Warnings: []api.Message{warning}}
	default:
		return api.OnResolveResult{Errors: []api.Message{{Text: err.Error()}}}
	}
}

// missingModule returns a module that is not there, which throws why.
func missingModule(message string) api.OnLoadResult {
	text := fmt.Sprintf("throw new Error(%s); module.exports = {};", quote(message))
	return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}
}

// quote returns a string of JavaScript.
func quote(text string) string {
	quoted, _ := json.Marshal(text) // A string can always be written.
	return string(quoted)
}

func (t tree) load(name string) api.OnLoadResult {
	text, kind := t.Files[name], loader(name)
	if kind != api.LoaderText && nesting(text, maxSourceNesting) > maxSourceNesting {
		return api.OnLoadResult{Errors: []api.Message{{
			Text:     fmt.Sprintf("brackets are nested more than %d deep", maxSourceNesting),
			Location: &api.Location{File: name, Namespace: namespace},
		}}}
	}
	if kind == api.LoaderJS || kind == api.LoaderTS {
		text += noSourceMap
	}
	return api.OnLoadResult{Contents: &text, Loader: kind}
}
