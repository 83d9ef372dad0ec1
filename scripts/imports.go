package scripts

import (
	"context"
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// Imports returns the files of a compiled tree that its hooks consist of, with all that they import, and those that further consist of,
// which are paths of the tree. Inline scripts are not among them.
func Imports(ctx context.Context, registry *engines.Registry, spec Spec, compiled *Compiled, further []string) (map[string]bool, error) {
	used := map[string]bool{}
	for _, name := range spec.hookNames() {
		hook := spec.Hooks[name]
		if err := addImports(ctx, registry, compiled.Files, hook.entry(name, registry), hook.Engine, used); err != nil {
			return nil, fmt.Errorf("hook %s: %w", name, err)
		}
	}
	for _, path := range further {
		if err := addImports(ctx, registry, compiled.Files, path, "", used); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for path := range used {
		if origin, known := compiled.Origins[path]; !known || origin.Hook != "" {
			delete(used, path)
		}
	}
	return used, nil
}

func addImports(
	ctx context.Context, registry *engines.Registry, files engines.Files, entry, engineName string, used map[string]bool,
) error {
	engine, err := engineFor(registry, engineName, entry)
	if err != nil {
		return err
	}
	program, err := compileWithDeadline(ctx, engine, engines.Source{
		Hook: engines.HookImports, Script: &engines.Script{Files: files, Path: entry},
	})
	if err != nil {
		return err
	}
	ctx, cancel := engines.WithTimeout(ctx, compileTimeout)
	defer cancel()
	response, err := program.Run(ctx, engines.Call{Now: time.Unix(0, 0)})
	if err != nil {
		return err
	}
	paths, _ := response.Body.([]any)
	for _, path := range paths {
		used[fmt.Sprint(path)] = true
	}
	return nil
}
