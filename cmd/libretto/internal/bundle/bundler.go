// Package bundle implements libretto bundle: it makes bundles of definitions, which are what their hooks consist of as one immutable
// ConfigMap, named by the hash of its content, and the definition that names it.
package bundle

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/bundle"
)

// Options are how bundles are made.
type Options struct {
	// NamePrefix is put before the names of ConfigMaps.
	NamePrefix string
	// WithTests takes the tests among the files in.
	WithTests bool
	// Namespace is that of the bundle of a definition whose sources are directories only.
	Namespace string
}

// Bundle is the bundle of a definition.
type Bundle struct {
	// ConfigMaps are none if the hooks use no files of script sources, and several if the files do not fit into one.
	ConfigMaps []*unstructured.Unstructured
	// Definition names ConfigMaps as its only script sources.
	Definition *unstructured.Unstructured
	// Files are the paths of the files, and Left those of the sources that no hook reaches.
	Files, Left []string
	// Size is how many bytes the files have, and Packed the archives.
	Size, Packed int
	// LargeForApply reports whether kubectl apply needs --server-side.
	LargeForApply bool
}

const (
	// maxPacked is what the keys of a ConfigMap may have together.
	maxPacked = 1 << 20
	// maxApplied is what an archive may have at most so that kubectl apply can keep a copy of its ConfigMap in an annotation: annotations may
	// have 256 KiB, and the copy has the archive in base64.
	maxApplied = 180 << 10
)

// Make returns the bundle of a definition of a set that check found no errors in.
func Make(ctx context.Context, set *manifest.Set, registry *engines.Registry, definition *document.Object, o Options) (*Bundle, error) {
	spec, err := check.Scripts(set, definition)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.Name(definition), err)
	}
	b := &Bundle{Definition: asGiven(set.WithoutDefaults(definition))}
	if len(spec.Sources) == 0 {
		return b, nil
	}
	files, err := b.files(ctx, set, registry, spec, o.WithTests)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.Name(definition), err)
	}
	if len(files) == 0 { // Inline scripts that import nothing.
		unstructured.RemoveNestedField(b.Definition.Object, "spec", "scriptSources")
		return b, nil
	}
	archives, err := pack(files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.Name(definition), err)
	}
	namespace, err := namespaceOf(spec, o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.Name(definition), err)
	}
	var sources []any
	for _, packed := range archives {
		name := o.NamePrefix + definition.GetName() + "-" + bundle.Hash(packed)
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return nil, fmt.Errorf("%s: the ConfigMap's name would be %q: %s",
				manifest.Name(definition), name, strings.Join(problems, "; "))
		}
		b.ConfigMaps = append(b.ConfigMaps, configMap(namespace, name, packed))
		sources = append(sources, map[string]any{"configMap": map[string]any{"namespace": namespace, "name": name}})
		b.Packed += len(packed)
		b.LargeForApply = b.LargeForApply || len(packed) > maxApplied
	}
	return b, unstructured.SetNestedSlice(b.Definition.Object, sources, "spec", "scriptSources")
}

// pack returns archives of files that each fit into a ConfigMap. They are few, if not as few as possible.
func pack(files map[string]string) ([][]byte, error) {
	packed, err := bundle.Pack(files)
	switch {
	case err != nil:
		return nil, err
	case len(packed) <= maxPacked:
		return [][]byte{packed}, nil
	}
	if len(files) == 1 {
		for file := range files {
			return nil, fmt.Errorf("%s has %d KiB when it is packed, and a ConfigMap takes no more than %d: split the file",
				file, len(packed)>>10, maxPacked>>10)
		}
	}
	var archives [][]byte
	for _, share := range divide(files, len(packed)/maxPacked+1) {
		some, err := pack(share)
		if err != nil {
			return nil, err
		}
		archives = append(archives, some...)
	}
	return archives, nil
}

// divide returns files in up to n shares of about the same size, in the order of their paths. Several files are at least two shares: the
// share of a file is that of its middle.
func divide(files map[string]string, n int) []map[string]string {
	size := func(file string) int { return len(file) + len(files[file]) + 1 }
	total := 0
	for file := range files {
		total += size(file)
	}
	var shares []map[string]string
	before, last := 0, -1
	for _, file := range slices.Sorted(maps.Keys(files)) {
		share := (2*before + size(file)) * n / (2 * total)
		if share != last {
			shares, last = append(shares, map[string]string{}), share
		}
		shares[len(shares)-1][file] = files[file]
		before += size(file)
	}
	return shares
}

// asGiven returns a copy of the definition without what only a cluster has.
func asGiven(definition *document.Object) *unstructured.Unstructured {
	given := definition.DeepCopy()
	given.SetNamespace("") // As the API server does.
	delete(given.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(given.Object, "metadata", field)
	}
	return given
}

// files returns the files of the bundle.
func (b *Bundle) files(
	ctx context.Context, set *manifest.Set, registry *engines.Registry, spec scripts.Spec, withTests bool,
) (map[string]string, error) {
	compiled, err := scripts.Compile(ctx, registry, spec, set.Contents)
	if err != nil {
		return nil, err
	}
	if len(compiled.Problems) > 0 {
		return nil, errors.New(compiled.Problems[0].String())
	}
	var functionTests []string
	var cases strings.Builder
	for file, text := range compiled.Files {
		switch {
		case !withTests || !scripts.IsTest(registry, file) || compiled.Origins[file].Hook != "":
		case strings.HasSuffix(file, ".yaml"):
			cases.WriteString(file + "\n" + text)
		default:
			functionTests = append(functionTests, file)
		}
	}
	used, err := scripts.Imports(ctx, registry, spec, compiled, functionTests)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(compiled.Files)) {
		switch {
		case compiled.Origins[file].Hook != "":
		case used[file], strings.Contains(cases.String(), path.Base(file)): // Cases name objects and golden files.
			files[file] = compiled.Files[file]
			b.Files = append(b.Files, file)
			b.Size += len(compiled.Files[file])
		default:
			b.Left = append(b.Left, file)
		}
	}
	return files, nil
}

// namespaceOf returns the namespace of the sources. Several are refused: who may write one of them would write all scripts.
func namespaceOf(spec scripts.Spec, otherwise string) (string, error) {
	var names []string
	for _, source := range spec.Sources {
		if namespace := source.Origin().Object().Namespace; namespace != "" && !slices.Contains(names, namespace) {
			names = append(names, namespace)
		}
	}
	switch len(names) {
	case 0:
		return otherwise, nil
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("its scriptSources are objects of several namespaces, %s: a bundle is in one, "+
		"and whoever may write there could change all scripts: put the sources into one namespace first", strings.Join(names, ", "))
}

func configMap(namespace, name string, packed []byte) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name, "namespace": namespace},
		"immutable":  true,
		"binaryData": map[string]any{bundle.Key: base64.StdEncoding.EncodeToString(packed)},
	}}
}
