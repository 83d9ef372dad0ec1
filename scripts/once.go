package scripts

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts/bundle"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

// Contents is what a source holds.
type Contents struct {
	// Files are the texts by key or path. It is nil if there is no such source.
	Files map[string]string
	// Problems are about single files of a directory.
	Problems []directory.Problem
	// Err is why the source can't be read, or nil.
	Err error
}

// Compiled is a module tree that was compiled once.
type Compiled struct {
	// Files are the files of the tree, and Origins where each is from.
	Files   engines.Files
	Origins map[string]Origin
	// ID is that of the revision that a host makes of the tree. It is empty if the tree has no such files.
	ID RevisionID
	// Programs are the hooks that compiled, by name.
	Programs map[string]engines.Program
	// Problems are all reasons why the tree does not load. Warnings are problems of programs that load nevertheless.
	Problems, Warnings []Problem
}

// Compile assembles and compiles a module tree like a Library, once and without watching: contents returns what
// a source holds. An error means that spec can never load, whatever the sources hold.
func Compile(ctx context.Context, registry *engines.Registry, spec Spec, contents func(Origin) Contents) (*Compiled, error) {
	d, hooks, err := assembleOnce(registry, spec, contents)
	if err != nil {
		return nil, err
	}
	result := &Compiled{Files: d.files, Origins: d.origins, Problems: d.problems}
	if len(d.problems) == 0 {
		result.ID = fingerprintOf(d.files, hooks).id()
		result.Programs, result.Problems = compile(ctx, registry, spec, d)
		result.Warnings = d.warnings(result.Programs)
	}
	return result, nil
}

// Identify returns the ID of the revision that a Library makes of a module tree, without compiling it. An error means that it makes none.
func Identify(registry *engines.Registry, spec Spec, contents func(Origin) Contents) (RevisionID, error) {
	d, hooks, err := assembleOnce(registry, spec, contents)
	switch {
	case err != nil:
		return "", err
	case len(d.problems) > 0:
		return "", fmt.Errorf("%s: %w", d.problems[0].Origin, d.problems[0].Err)
	}
	return fingerprintOf(d.files, hooks).id(), nil
}

// Origins returns where the files of a module tree are from, as far as it can be put together.
func Origins(registry *engines.Registry, spec Spec, contents func(Origin) Contents) map[string]Origin {
	d, _, err := assembleOnce(registry, spec, contents)
	if err != nil {
		return nil
	}
	return d.origins
}

// assembleOnce puts a module tree together, and encodes its hooks.
func assembleOnce(registry *engines.Registry, spec Spec, contents func(Origin) Contents) (d *moduleTree, hooks []byte, err error) {
	if err := spec.check(); err != nil {
		return nil, nil, err
	}
	readings, unpackers := map[Origin]reading{}, map[Origin]unpackFunc{}
	for origin := range spec.origins() {
		c := contents(origin)
		readings[origin] = reading{synced: true, files: c.Files, problems: c.Problems, err: c.Err}
		if origin.ConfigMap.Name != "" {
			unpackers[origin] = bundle.UnpackWithin
		}
	}
	expand(spec, readings, unpackers)
	hooks, err = spec.encodeHooks()
	return assemble(spec, readings, registry), hooks, err
}

// CompileText compiles the hooks of spec from the files of a text that compiled: tests may give hooks other settings, and other inline
// scripts. It returns the first error.
func CompileText(ctx context.Context, registry *engines.Registry, spec Spec, text TestedText) (map[string]engines.Program, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	d := newModuleTree(registry)
	d.trustDomain = text.TrustDomain
	maps.Copy(d.files, text.Files)
	for name, hook := range text.Spec.Hooks {
		if hook.Inline != "" {
			delete(d.files, hook.entry(name, registry))
		}
	}
	d.addInline(spec, registry)
	programs, problems := compile(ctx, registry, spec, d)
	if len(problems) > 0 {
		return nil, problems[0].Err
	}
	return programs, nil
}

// KeyOf returns the key of a ConfigMap, or the path in its bundle or in the folder of an artifact, that is at a path of the tree.
func (s Spec) KeyOf(origin Origin, file string) (key string, known bool) {
	for _, source := range s.Sources {
		if source.Origin() != origin || source.Directory != nil {
			continue
		}
		var items []Item
		var prefix string
		if source.Flux != nil {
			prefix = source.Flux.Prefix
		} else {
			items, prefix = source.ConfigMap.Items, source.ConfigMap.Prefix
		}
		for _, item := range items {
			if path.Join(prefix, item.Path) == file {
				return item.Key, true
			}
		}
		if len(items) > 0 {
			continue
		}
		if prefix == "" {
			return file, true
		}
		if name, ok := strings.CutPrefix(file, prefix+"/"); ok {
			return name, true
		}
	}
	return "", false
}
