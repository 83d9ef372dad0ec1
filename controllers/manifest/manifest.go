// Package manifest loads what an author has in files, for commands that work without a cluster: definitions,
// CustomResourceDefinitions, the ConfigMaps that scripts come from, and other objects.
//
// It reads YAML and JSON as kubectl does, and builds kustomizations with kustomize's own library. Nothing is
// fetched: what is not in the files is a problem, with its place.
package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestGroup is the API group of files that are no objects of a cluster, such as tests.
const TestGroup = "libretto.dev"

// Options are what to load.
type Options struct {
	// Filenames are files, directories, and - for Stdin, like those of kubectl's -f. A directory with a
	// kustomization.yaml is built.
	Filenames []string
	// CRDs are files of which only the CustomResourceDefinitions are taken.
	CRDs []string
	// Recursive loads the directories in directories too.
	Recursive bool
	Stdin     io.Reader
	// Namespace is that of ConfigMaps without one. It defaults to default.
	Namespace string
	// Scripts are directories in the place of sources of scripts: their files are a ConfigMap's keys, as if it was made by
	// kubectl create configmap --from-file=DIRECTORY, or what the artifact of an object of Flux holds.
	Scripts map[scripts.ObjectName]string
	// ScriptsDir is the directory that script sources of kind directory are below, like the host's --scripts-dir.
	ScriptsDir string
	// IsScript reports whether a file of a directory is a script, by its name, and no manifest. Nil means none.
	IsScript func(name string) bool
	// Within bounds what is read.
	Within Boundary
	// Ignore reports whether a file of a directory is not read, and not among those that are skipped. Nil means none.
	Ignore func(name string) bool
	// Before are CustomResourceDefinitions that were read before: those that are the same are not read again.
	Before []*CRD
	// Overlay has texts in place of those that files have, by absolute path, such as what an editor has not saved.
	Overlay map[string]string
}

// overlaid returns the text in the place of a file's, if there is one.
func (o Options) overlaid(name string) (string, bool) {
	if len(o.Overlay) == 0 {
		return "", false
	}
	absolute, err := filepath.Abs(name)
	text, found := o.Overlay[absolute]
	return text, found && err == nil
}

// overlayIn puts texts in the place of those of the files of a directory, by their paths below it.
func (o Options) overlayIn(directory string, files map[string]string) {
	for name := range files {
		if text, found := o.overlaid(filepath.Join(directory, filepath.FromSlash(name))); found {
			files[name] = text
		}
	}
}

// Set is what was loaded.
type Set struct {
	// Definitions are the CompositeControllers, DecoratorControllers and MapControllers, with defaults.
	Definitions []*document.Object
	// CRDs are the CustomResourceDefinitions, without Libretto's own.
	CRDs []*CRD
	// Files are objects of the group TestGroup, such as tests, which no cluster has.
	Files []*document.Object
	// Objects are all others, ConfigMaps with scripts among them.
	Objects []*document.Object
	// Problems are why objects could not be read, and what an API server would refuse.
	Problems []*document.Error
	// Skipped are files and folders in directories that were not read, because they are no manifests: scripts, packages, hidden
	// folders, and configurations of tools.
	Skipped []string
	// Inputs are the files and directories that the set was made of, sorted.
	Inputs []string

	configMaps map[types.NamespacedName]*configMap
	// given are the definitions without defaults.
	given   map[*document.Object]*document.Object
	options Options

	mu          sync.Mutex
	directories map[string]scripts.Contents // read so far, by path
}

// CRD is a CustomResourceDefinition.
type CRD struct {
	*document.Object
	// Resources are the served versions, with their schemas.
	Resources []memcluster.Resource
	// Check returns what validation.CheckSchemas does.
	Check func() (field.ErrorList, error)
}

// Err returns all problems as one error, or nil.
func (s *Set) Err() error {
	errs := make([]error, len(s.Problems))
	for i, p := range s.Problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// Load reads the files. An error means that a file could not be read at all. Problems with what files hold are in the set, with
// everything that has none.
func Load(ctx context.Context, options Options) (*Set, error) {
	if options.Namespace == "" {
		options.Namespace = corev1.NamespaceDefault
	}
	s := &Set{options: options, configMaps: map[types.NamespacedName]*configMap{}, directories: map[string]scripts.Contents{}}
	r := &reader{options: options, read: map[string]bool{}, inputs: map[string]bool{}}
	for _, name := range options.Filenames {
		if err := r.add(ctx, name); err != nil {
			return nil, err
		}
	}
	others := len(r.objects)
	for _, name := range options.CRDs {
		if err := r.add(ctx, name); err != nil {
			return nil, err
		}
	}
	r.objects = slices.Concat(r.objects[:others], slices.DeleteFunc(r.objects[others:], func(o loaded) bool {
		return o.GroupVersionKind().GroupKind() != apiextensionsv1.Kind("CustomResourceDefinition")
	}))
	s.Problems, s.Skipped, s.Inputs = r.problems, r.skipped, slices.Sorted(maps.Keys(r.inputs))
	s.sort(r.objects)
	if err := s.validate(); err != nil {
		return nil, err
	}
	return s, s.addDirectories()
}

// LoadValid returns what Load does if there are no problems, and else these as one error.
func LoadValid(ctx context.Context, options Options) (*Set, error) {
	s, err := Load(ctx, options)
	if err == nil {
		err = s.Err()
	}
	return s, err
}

// loaded is an object and the files that its keys are from, if it was generated from files.
type loaded struct {
	*document.Object
	files map[string]string
}

// sort distributes the objects, each name once.
func (s *Set) sort(all []loaded) {
	first := map[string]*document.Object{}
	for _, o := range all {
		namespace := o.GetNamespace()
		if namespace == "" {
			namespace = s.options.Namespace // Also of objects that have none, which does no harm.
		}
		key := fmt.Sprintf("%s %s/%s", o.GroupVersionKind().GroupKind(), namespace, o.GetName())
		earlier := first[key]
		switch {
		case o.GetName() == "":
			s.put(o)
		case earlier == nil:
			first[key] = o.Object
			s.put(o)
		case !jsonvalue.Equal(earlier.Object, o.Object.Object):
			s.failf(o.Object, "metadata.name", "%s is given twice: it is at %s too, and differs: leave one of them out",
				Name(o.Object), earlier.Location)
		}
	}
}

func (s *Set) put(o loaded) {
	group, kind, isDefinition := o.GroupVersionKind().Group, o.GetKind(), v1alpha1.IsDefinition(o.GroupVersionKind().GroupKind())
	switch {
	case group == TestGroup && !isDefinition:
		s.Files = append(s.Files, o.Object)
		return
	case o.GetName() == "" && o.GetGenerateName() == "":
		s.failf(o.Object, "metadata", "%s: metadata.name is missing", kind)
		return
	}
	switch {
	case o.GroupVersionKind() == apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"):
		s.putCRD(o.Object)
	case isDefinition:
		if v1alpha1.IsNamespaced(group) && o.GetNamespace() == "" {
			o.SetNamespace(s.options.Namespace)
		}
		s.Definitions = append(s.Definitions, o.Object)
	case o.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("ConfigMap"):
		s.putConfigMap(o)
	default:
		s.Objects = append(s.Objects, o.Object)
	}
}

// putCRD reads a CustomResourceDefinition. Libretto's own are known already.
func (s *Set) putCRD(o *document.Object) {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	if group == v1alpha1.GroupName || v1alpha1.IsNamespaced(group) {
		return
	}
	for _, before := range s.options.Before {
		if jsonvalue.Equal(before.Object.Object, o.Object) {
			s.CRDs = append(s.CRDs, &CRD{Object: o, Resources: before.Resources, Check: before.Check})
			return
		}
	}
	resources, err := validation.Read(o.Unstructured)
	if err != nil {
		s.failAt(o, err)
		return
	}
	check := sync.OnceValues(func() (field.ErrorList, error) { return validation.CheckSchemas(o.Unstructured) })
	s.CRDs = append(s.CRDs, &CRD{Object: o, Resources: resources, Check: check})
}

// Name returns "Kind namespace/name" of an object, for messages.
func Name(o *document.Object) string {
	name := o.GetName()
	if name == "" {
		name = o.GetGenerateName()
	}
	if namespace := o.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return o.GetKind() + " " + name
}

func (s *Set) failf(o *document.Object, field, format string, args ...any) {
	s.Problems = append(s.Problems, &document.Error{
		Location: o.Place(field), Message: fmt.Sprintf(format, args...), Object: o.Location,
	})
}

// AddStored adds a definition or a ConfigMap of a cluster, which are as an API server stored them, unless the files have it. Places in
// it are named by it and by the key.
func (s *Set) AddStored(object *unstructured.Unstructured) {
	o := document.At(&document.Object{Unstructured: object}, engines.Location{})
	o.Location.File = Name(o)
	files := map[string]string{}
	for _, field := range []string{"data", "binaryData"} {
		values, _ := object.Object[field].(map[string]any)
		for key := range values {
			files[key] = o.Location.File + "/" + key
		}
	}
	if s.configMaps[types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] == nil || object.GetKind() != "ConfigMap" {
		s.put(loaded{Object: o, files: files})
	}
}
