package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
)

// source is where a subject comes from. Test files with equal sources share it.
type source struct {
	// definition is a file or a directory.
	definition string
	// ref is KIND/NAME, NAME or empty.
	ref       string
	namespace string
	// scripts are directories by NAMESPACE/NAME.
	scripts map[string]string
	// crds are files with CustomResourceDefinitions.
	crds []string
	// within bounds what is read.
	within manifest.Boundary
	// kinds are those of objects of the test file: what no CustomResourceDefinition says is taken from them.
	kinds []schema.GroupVersionKind
}

// key returns a text that is the same for equal sources.
func (s source) key() string {
	var scripts []string
	for _, name := range slices.Sorted(maps.Keys(s.scripts)) {
		scripts = append(scripts, name+"="+s.scripts[name])
	}
	return fmt.Sprintf("%q %q %q %q %q %q", s.definition, s.ref, s.namespace, scripts, s.crds, s.within)
}

// giveCRD returns how a CustomResourceDefinition is given. Of a kustomization only what it lists is read.
func (s source) giveCRD() string {
	if manifest.IsKustomization(s.definition) || strings.HasPrefix(strings.ToLower(filepath.Base(s.definition)), "kustomization") {
		return "list its CustomResourceDefinition in the resources of kustomization.yaml, or name its file in given"
	}
	return "put its CustomResourceDefinition beside the definition, or name its file in given"
}

// subjects loads what test files test, each definition once.
type subjects struct {
	engines    *engines.Registry
	scriptsDir string
	coverage   *coverage.Collector
	warn       func(string)

	mu       sync.Mutex
	sets     map[string]func() (*manifest.Set, error)
	subjects map[string]func() (compiled, error)
}

// compiled is a subject without the functions for files.
type compiled struct {
	*controllertest.Subject
	// directories are those below --scripts-dir that scripts are from.
	directories []string
}

func newSubjects(o Options) *subjects {
	return &subjects{
		engines: o.Engines, scriptsDir: o.ScriptsDir, coverage: o.Coverage, warn: o.Warn,
		sets: map[string]func() (*manifest.Set, error){}, subjects: map[string]func() (compiled, error){},
	}
}

// once returns the function that a map has for a key, which calls load once.
func once[T any](mu *sync.Mutex, known map[string]func() (T, error), key string, load func() (T, error)) func() (T, error) {
	mu.Lock()
	defer mu.Unlock()
	if known[key] == nil {
		known[key] = sync.OnceValues(load)
	}
	return known[key]
}

// load returns a subject, and the names of the files that the definition was read from. Even with an error it returns the directories.
func (s *subjects) load(ctx context.Context, from source) (compiled, []string, error) {
	set, err := once(&s.mu, s.sets, from.key(), func() (*manifest.Set, error) { return s.loadSet(ctx, from) })()
	if err != nil {
		return compiled{}, nil, err
	}
	assumed := assume(set, from.kinds)
	key := from.key()
	for _, resource := range assumed {
		key += " " + resource.Kind.String()
	}
	subject, err := once(&s.mu, s.subjects, key, func() (compiled, error) {
		for _, resource := range assumed {
			s.warn(manifest.Unvalidated(resource, from.giveCRD()))
		}
		return s.compile(ctx, set, from, append(set.Resources(), assumed...))
	})()
	return subject, set.Inputs, err
}

func (s *subjects) loadSet(ctx context.Context, from source) (*manifest.Set, error) {
	options := manifest.Options{
		Filenames: []string{from.definition}, CRDs: from.crds, Namespace: from.namespace, ScriptsDir: s.scriptsDir,
		Within:   from.within,
		Ignore:   func(name string) bool { return isTestName(s.engines, name) },
		IsScript: s.engines.HasScript,
	}
	for name, directory := range from.scripts {
		options.AddScripts(name, directory)
	}
	return manifest.Load(ctx, options)
}

// compile returns the subject of a set.
func (s *subjects) compile(
	ctx context.Context, set *manifest.Set, from source, resources []memcluster.Resource,
) (compiled, error) {
	object, err := choose(set.Definitions, from)
	if err := errors.Join(relevant(set, object), err); err != nil {
		return compiled{}, err
	}
	built, assumed := set.Assume(object, resources)
	for _, resource := range assumed {
		s.warn(manifest.Unvalidated(resource, from.giveCRD()))
	}
	resources = slices.Concat(resources, built, assumed)
	compile := func(ctx context.Context, definition *unstructured.Unstructured) (map[string]engines.Program, error) {
		return s.programs(ctx, set, from, (&document.Object{Unstructured: definition}).WithPlaces(object), resources)
	}
	directories := s.directories(object)
	programs, err := compile(ctx, object.Unstructured)
	if err != nil {
		return compiled{directories: directories}, err
	}
	subject := &controllertest.Subject{Definition: object.Unstructured, Programs: programs, Resources: resources, Compile: compile}
	return compiled{subject, directories}, nil
}

// directories returns the directories below --scripts-dir that a definition names, with all that are in them.
func (s *subjects) directories(definition *document.Object) []string {
	var all []string
	sources, _, _ := unstructured.NestedSlice(definition.Object, "spec", "scriptSources")
	for _, source := range sources {
		fields, _ := source.(map[string]any)
		name, found, _ := unstructured.NestedString(fields, "directory", "path")
		if !found || s.scriptsDir == "" || !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		root := filepath.Join(s.scriptsDir, filepath.FromSlash(name))
		all = append(all, root) // It may be made later.
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				all = append(all, path)
			}
			return nil // What can't be read is an error of the scripts.
		})
	}
	return all
}

// hostNamespace is the namespace of the host.
const hostNamespace = "libretto"

// programs compiles the scripts of a definition.
func (s *subjects) programs(
	ctx context.Context, set *manifest.Set, from source, object *document.Object, resources []memcluster.Resource,
) (map[string]engines.Program, error) {
	base, err := stage.NewBase(object.Unstructured, resources, stage.Host{HostNamespace: hostNamespace}, controllertest.DefaultNow)
	if err != nil {
		return nil, err
	}
	if refusal := base.Refusal; refusal != nil {
		err := refusal.Err
		if refusal.Reason == plan.ReasonResourceNotFound {
			err = fmt.Errorf("%w (%s)", err, from.giveCRD())
		}
		return nil, &document.Error{Location: object.Location, Message: fmt.Sprintf("%s: %v", manifest.Name(object), err)}
	}
	spec, err := base.Plan.Scripts()
	if err != nil {
		return nil, &document.Error{Location: object.Location, Message: fmt.Sprintf("%s: %v", manifest.Name(object), err)}
	}
	spec.Coverage = s.coverage != nil
	compiled, err := set.Programs(ctx, s.engines, object, spec)
	for _, warning := range compiled.Warnings {
		s.warn(warning.Error())
	}
	if s.coverage != nil {
		return s.coverage.Watch(compiled.ByHook), err // It counts calls.
	}
	return controllertest.Remember(compiled.ByHook), err
}

// choose returns the definition that is tested. It returns another one with an error, if there is any.
func choose(all []*document.Object, from source) (*document.Object, error) {
	var found []*document.Object
	var names []string
	for _, object := range all {
		name := object.GetKind() + "/" + object.GetName()
		names = append(names, name)
		if from.ref == "" || from.ref == name || from.ref == object.GetName() {
			found = append(found, object)
		}
	}
	slices.Sort(names)
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(all) == 0:
		return nil, fmt.Errorf("%s: there is no CompositeController, DecoratorController or MapController: "+
			"name the file or folder that has one with definition", from.definition)
	case len(found) == 0:
		return nil, fmt.Errorf("%s: there is no definition %s: there are %s", from.definition, from.ref, strings.Join(names, ", "))
	default:
		return nil, fmt.Errorf("%s: there are several definitions: choose one with definitionRef: %s", from.definition, strings.Join(names, ", "))
	}
}

// relevant returns the problems of a set that matter for a definition: not those of objects that cases may be given.
func relevant(set *manifest.Set, definition *document.Object) error {
	others := map[engines.Location]bool{}
	for _, object := range set.Objects {
		others[object.Location] = object.GetKind() != "ConfigMap"
	}
	for _, object := range set.Definitions {
		others[object.Location] = definition != nil && object != definition
	}
	var errs []error
	for _, problem := range set.Problems {
		if problem.Object.File == "" || !others[problem.Object] {
			errs = append(errs, problem)
		}
	}
	return errors.Join(errs...)
}

// assume returns resources for the kinds that are neither built in nor in a set.
func assume(set *manifest.Set, kinds []schema.GroupVersionKind) []memcluster.Resource {
	known := map[schema.GroupVersionKind]bool{}
	for _, resource := range slices.Concat(memcluster.BuiltIn(), set.Resources()) {
		known[resource.Kind] = true
	}
	var assumed []memcluster.Resource
	for _, kind := range kinds {
		if known[kind] {
			continue
		}
		known[kind] = true
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		if resource, err := memcluster.Custom(kind.GroupVersion().String(), kind.Kind, plural.Resource, true, true); err == nil {
			assumed = append(assumed, resource)
		}
	}
	return assumed
}
