package engines

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Registry is the list of engines that a process offers. It does not change once made.
type Registry struct {
	definitions []Definition
	engines     map[string]Engine
}

// NewRegistry starts the engines of the list. Two of one name, or two that
// claim one file extension, are an error.
func NewRegistry(config Config, definitions ...Definition) (*Registry, error) {
	r := &Registry{engines: map[string]Engine{}}
	owners := map[string]string{}
	for _, d := range definitions {
		if _, taken := r.engines[d.Name]; taken {
			return nil, fmt.Errorf("engine %q is listed twice", d.Name)
		}
		for _, extension := range d.Extensions {
			if owner, taken := owners[extension]; taken {
				return nil, fmt.Errorf("engines %q and %q both claim %s files", owner, d.Name, extension)
			}
			owners[extension] = d.Name
		}
		engine, err := d.New(config)
		if err != nil {
			return nil, fmt.Errorf("engine %q: %w", d.Name, err)
		}
		r.engines[d.Name] = engine
		r.definitions = append(r.definitions, d)
	}
	return r, nil
}

// ByName returns the engine of that name, or an *Error of kind Invalid that lists those there are.
func (r *Registry) ByName(name string) (Engine, error) {
	if engine, ok := r.engines[name]; ok {
		return engine, nil
	}
	return nil, &Error{Kind: Invalid, Message: fmt.Sprintf("no engine %q: this host offers %s", name, strings.Join(r.names(), ", "))}
}

// NameForPath returns the name of the engine for a script of that path, by the
// longest extension that fits, or an *Error of kind Invalid that lists the extensions known.
func (r *Registry) NameForPath(path string) (string, error) {
	d, _ := r.forPath(path)
	if d != nil {
		return d.Name, nil
	}
	var known []string
	for _, d := range r.definitions {
		known = append(known, d.Extensions...)
	}
	slices.Sort(known)
	return "", &Error{Kind: Invalid, Location: Location{File: path}, Message: fmt.Sprintf(
		"no engine for a script of this name: known endings are %s, or set engine", strings.Join(known, ", "))}
}

// HasScript reports whether the file of that path is a script of one of the engines, by its name.
func (r *Registry) HasScript(path string) bool {
	owner, _ := r.forPath(path)
	return owner != nil
}

// ForPath returns the engine for a script of that path, or the error of NameForPath.
func (r *Registry) ForPath(path string) (Engine, error) {
	name, err := r.NameForPath(path)
	if err != nil {
		return nil, err
	}
	return r.ByName(name)
}

// forPath returns the engine for a script of that path, or nil, and which of its extensions the path has.
func (r *Registry) forPath(path string) (owner *Definition, longest string) {
	for i, d := range r.definitions {
		for _, extension := range d.Extensions {
			if strings.HasSuffix(path, extension) && len(extension) > len(longest) {
				owner, longest = &r.definitions[i], extension
			}
		}
	}
	return owner, longest
}

// TrimExtension returns a path without the extension of a script.
func (r *Registry) TrimExtension(path string) string {
	_, extension := r.forPath(path)
	return strings.TrimSuffix(path, extension)
}

// ImportsIn returns what matches the imports of the script of that path, or nil.
func (r *Registry) ImportsIn(path string) *regexp.Regexp {
	if d, _ := r.forPath(path); d != nil {
		return d.Imports
	}
	return nil
}

// TestsIn returns which tests of functions the file of that path has, by its name, or nil.
func (r *Registry) TestsIn(path string) *TestFiles {
	for _, d := range r.definitions {
		if d.Tests != nil && slices.ContainsFunc(d.Tests.Endings, func(ending string) bool { return strings.HasSuffix(path, ending) }) {
			return d.Tests
		}
	}
	return nil
}

// TestEndings returns how the names of files with tests of functions end.
func (r *Registry) TestEndings() []string {
	var endings []string
	for _, d := range r.definitions {
		if d.Tests != nil {
			endings = append(endings, d.Tests.Endings...)
		}
	}
	return endings
}

// Extension returns the first file extension of the engine of that name, for a
// script that has no file, or "" if there is no such engine or it has none.
func (r *Registry) Extension(name string) string {
	for _, d := range r.definitions {
		if d.Name == name && len(d.Extensions) > 0 {
			return d.Extensions[0]
		}
	}
	return ""
}

func (r *Registry) names() []string {
	names := make([]string, 0, len(r.definitions))
	for _, d := range r.definitions {
		names = append(names, d.Name)
	}
	return names
}
