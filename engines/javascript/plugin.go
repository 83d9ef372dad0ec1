package javascript

import (
	"fmt"

	"github.com/evanw/esbuild/pkg/api"
)

const (
	// namespace keeps esbuild from taking the tree's paths for files.
	namespace = "libretto-module"
	// entryPoint stands for the script in esbuild's options. It is no path of
	// the tree, because esbuild looks on the disk for a file of this name.
	entryPoint = "libretto-entry:/script"
	// noSourceMap is put at the end of each module. esbuild follows the last
	// such comment, even to files of the host, but not a relative one.
	noSourceMap = "\n//# sourceMappingURL=none"
)

// plugin answers all of esbuild's questions for modules out of the tree.
func (t tree) plugin(entry string) api.Plugin {
	return api.Plugin{Name: "tree", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if args.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{Path: entry, Namespace: namespace}, nil
			}
			found, err := t.resolve(args.Importer, args.Path)
			if err != nil {
				return api.OnResolveResult{Errors: []api.Message{{Text: err.Error()}}}, nil
			}
			return api.OnResolveResult{Path: found, Namespace: namespace}, nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			return t.load(args.Path), nil
		})
	}}
}

func (t tree) load(name string) api.OnLoadResult {
	text, kind := t[name], loader(name)
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
