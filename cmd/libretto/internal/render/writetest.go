package render

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
)

// checkTest returns an error for flags that a test file can't be made with.
func (o *renderOptions) checkTest() error {
	switch {
	case o.output != "test":
		return nil
	case !o.untilSettled:
		return errors.New("-o test: give --until-settled too: a case of a test goes on until nothing changes")
	case o.hook != "":
		return errors.New("-o test: leave out --hook: the file is about all that the definition does")
	case o.manifests.ScriptsDir != "":
		return errors.New("-o test: leave out --scripts-dir: a test file can't name it")
	default:
		return nil
	}
}

// writeTest writes a test file with what was rendered, and says where it belongs. Each definition has a document.
func (o *renderOptions) writeTest(
	w cli.Process, files manifest.Options, options Options, renderings []*Rendering, load loadFunc,
) error {
	var documents []string
	first, several := "", false
	for len(renderings) > 0 {
		of := renderings[0].Definition
		end := slices.IndexFunc(renderings, func(r *Rendering) bool { return r.Definition != of })
		if end < 0 {
			end = len(renderings)
		}
		i := slices.IndexFunc(options.Set.Definitions, func(d *document.Object) bool { return d.Unstructured == of })
		definition := options.Set.Definitions[i]
		folder, name, err := placeOfTest(definition.Location.File, files.Filenames)
		if err != nil {
			return err
		}
		if first == "" {
			first, several = folder, end < len(renderings)
		}
		if folder != first {
			return fmt.Errorf("-o test: there are definitions in %s and in %s: give the files of one", first, folder)
		}
		f := TestFile{
			Definition: name, Several: several, Answers: options.Answers, Now: o.now, Ready: readyOfTest(o.ready, options, renderings[:end]),
		}
		if o.manifests.Namespace != "default" {
			f.Namespace = o.manifests.Namespace
		}
		if err := completeTest(&f, folder, files, options.Set, definition, load); err != nil {
			return err
		}
		text, err := f.Test(renderings[:end])
		if err != nil {
			return err
		}
		documents = append(documents, string(text))
		renderings = renderings[end:]
	}
	_, err := fmt.Fprintf(w.Stdout, "# A test that passes now: put it into %s with a name that ends in %s.\n%s",
		filepath.ToSlash(first), controllertest.FileSuffix, strings.Join(documents, "---\n"))
	return err
}

// loadFunc loads files.
type loadFunc func(manifest.Options) (*manifest.Set, error)

// placeOfTest returns the folder for the test of a definition, and the file with the definition if that has to be named.
func placeOfTest(file string, given []string) (folder, definition string, err error) {
	for _, name := range given {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			continue // Standard input.
		case !info.IsDir() && filepath.Clean(name) == filepath.Clean(file):
			return filepath.Dir(name), filepath.Base(name), nil
		case !info.IsDir() && strings.HasPrefix(filepath.Base(name), "kustomization"):
			name = filepath.Dir(name)
		case !info.IsDir():
			continue
		}
		if inside, err := filepath.Rel(name, file); err == nil && filepath.IsLocal(inside) {
			if manifest.IsKustomization(name) {
				return filepath.Clean(name), "", nil
			}
			return filepath.Dir(file), "", nil
		}
	}
	return "", "", fmt.Errorf("-o test: the definition is in %s, and a test needs it in a file: name that with -f", file)
}

// relativeTo returns a path as a test file in a folder has it.
func relativeTo(folder, name string) (string, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if name, err = filepath.Abs(name); err != nil {
		return "", err
	}
	relative, err := filepath.Rel(absolute, name)
	return filepath.ToSlash(relative), err
}

// completeTest loads what a test in a folder finds there, and adds to it what else it needs.
func completeTest(
	f *TestFile, folder string, files manifest.Options, set *manifest.Set, definition *document.Object, load loadFunc,
) error {
	f.Scripts = map[string]string{}
	for source, directory := range files.Scripts {
		relative, err := relativeTo(folder, directory)
		if err != nil {
			return err
		}
		f.Scripts[manifest.ScriptsName(source)] = relative
	}
	found, err := load(manifest.Options{
		Filenames: []string{filepath.Join(folder, f.Definition)}, Namespace: files.Namespace, Scripts: files.Scripts,
		IsScript: files.IsScript,
	})
	if err != nil {
		return err
	}
	if len(found.Definitions) > 1 {
		f.Ref = definition.GetKind() + "/" + definition.GetName()
	}
	known := map[string]bool{}
	for _, crd := range found.CRDs {
		known[crd.GetName()] = true
	}
	named := map[string]bool{}
	for _, crd := range set.CRDs {
		if known[crd.GetName()] {
			continue
		}
		if crd.Location.File == "stdin" {
			return fmt.Errorf("-o test: CustomResourceDefinition %s is in standard input, and a test needs it in a file: name that with -f",
				crd.GetName())
		}
		name, err := relativeTo(folder, crd.Location.File)
		if err != nil {
			return err
		}
		named[name] = true
	}
	f.CRDs = slices.Sorted(maps.Keys(named))
	return nil
}

// readyOfTest returns which objects become ready in a test, as --ready selected them.
func readyOfTest(flag string, options Options, renderings []*Rendering) any {
	switch flag {
	case "all":
		return nil
	case "none":
		return flag
	}
	names := []any{}
	for _, r := range renderings {
		for _, child := range r.Children {
			if options.Ready(child) {
				names = append(names, SlashedName(child))
			}
		}
	}
	return names
}
