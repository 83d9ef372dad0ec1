// Package types implements libretto types: it writes the types of hooks for editors, and as a TypeScript declaration file those of
// custom resources and of the hooks of definitions. The types of resources are made from the schemas of CustomResourceDefinitions.
package types

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/libretto-k8s/libretto/controllers/manifest"
)

// Options are how types are written.
type Options struct {
	// KubernetesTypes takes the types of built-in kinds from the npm package kubernetes-types.
	KubernetesTypes bool
}

// Declarations are the types.
type Declarations struct {
	// Text is the declaration file.
	Text string
	// Untyped are built-in kinds whose fields are not checked, and Unknown are resources whose CustomResourceDefinition is missing.
	Untyped, Unknown []string
}

const header = `// Types of custom resources and of the hooks of definitions, made from CustomResourceDefinitions. "libretto" is libretto.d.ts.

import type * as libretto from "libretto";
`

// Declare returns the types of all CustomResourceDefinitions of a set, and of the hooks of its definitions.
func Declare(set *manifest.Set, o Options) (*Declarations, error) {
	w := &writer{
		options: o, identifiers: map[string]bool{"libretto": true},
		names: map[schema.GroupVersionKind]string{}, withStatus: map[schema.GroupVersionKind]bool{},
	}
	w.text.WriteString(header)
	customs, err := readCRDs(set)
	if err != nil {
		return nil, err
	}
	kindOf := set.Known().Kind
	var definitions []*definition
	for _, object := range set.Definitions {
		definitions = append(definitions, w.definition(object, kindOf))
	}
	w.builtIns = slices.DeleteFunc(w.builtIns, func(kind schema.GroupVersionKind) bool {
		return slices.ContainsFunc(customs, func(c custom) bool { return c.kind == kind })
	})
	w.nameKinds(customs)
	w.nameHooks(definitions)
	for _, c := range customs {
		w.writeKind(c)
	}
	for _, kind := range w.builtIns {
		w.writeBuiltIn(kind)
	}
	for _, d := range definitions {
		w.writeDefinition(d)
	}
	return &Declarations{Text: w.text.String(), Untyped: w.untyped, Unknown: w.unknown}, nil
}

// custom is a version of a custom resource.
type custom struct {
	kind schema.GroupVersionKind
	// versions is how many versions the CustomResourceDefinition serves.
	versions int
	schema   *apiextensionsv1.JSONSchemaProps
}

// readCRDs returns the served versions of all CustomResourceDefinitions, by group, kind and version, the newest first.
func readCRDs(set *manifest.Set) ([]custom, error) {
	var all []custom
	for _, object := range set.CRDs {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object.Object, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", object.Location, err)
		}
		served := slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Served })
		for _, v := range served {
			c := custom{
				kind:     schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind},
				versions: len(served),
			}
			if v.Schema != nil {
				c.schema = v.Schema.OpenAPIV3Schema
			}
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b custom) int {
		if byName := strings.Compare(a.kind.GroupKind().String(), b.kind.GroupKind().String()); byName != 0 {
			return byName
		}
		return -version.CompareKubeAwareVersionStrings(a.kind.Version, b.kind.Version)
	})
	return all, nil
}

// nameKinds names the types of all kinds: by the kind alone if that is clear, else with the version, and with the group.
func (w *writer) nameKinds(customs []custom) {
	groups := map[string]map[string]bool{}
	count := func(kind schema.GroupVersionKind) {
		if groups[kind.Kind] == nil {
			groups[kind.Kind] = map[string]bool{}
		}
		groups[kind.Kind][kind.Group] = true
	}
	for _, c := range customs {
		count(c.kind)
	}
	for _, kind := range w.builtIns {
		count(kind)
	}
	name := func(kind schema.GroupVersionKind, versions int) {
		text := pascal(kind.Kind)
		if versions > 1 {
			text += pascal(kind.Version)
		}
		if len(groups[kind.Kind]) > 1 && kind.Group == "" {
			text = "Core" + text
		} else if len(groups[kind.Kind]) > 1 {
			text = pascal(kind.Group) + text
		}
		w.names[kind] = w.identifier(text)
	}
	for _, c := range customs {
		name(c.kind, c.versions)
	}
	for _, kind := range w.builtIns {
		versions := 0
		for _, other := range w.builtIns {
			if other.GroupKind() == kind.GroupKind() {
				versions++
			}
		}
		name(kind, versions)
	}
}
