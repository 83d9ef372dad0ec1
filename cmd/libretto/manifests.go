package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/manifest"
)

// manifestFlags are the flags of offline commands that name what to load.
type manifestFlags struct {
	filenames  []string
	recursive  bool
	namespace  string
	scripts    []string
	scriptsDir string
}

func (m *manifestFlags) addTo(f *pflag.FlagSet) {
	f.StringArrayVarP(&m.filenames, "filename", "f", nil, "file or directory with definitions, CustomResourceDefinitions and ConfigMaps, "+
		"or - for standard input; may be repeated. A directory with a kustomization.yaml is built")
	f.BoolVarP(&m.recursive, "recursive", "R", false, "read the directories in the directories of -f too")
	f.StringVarP(&m.namespace, "namespace", "n", "default", "namespace of objects without one")
	f.StringArrayVar(&m.scripts, "scripts", nil, "NAMESPACE/NAME=DIRECTORY: take the files of a directory for the keys of that ConfigMap, "+
		"as kubectl create configmap --from-file does; may be repeated")
	f.StringVar(&m.scriptsDir, "scripts-dir", "", "directory that script sources of kind directory are below, like that of serve")
}

// options returns what to load. Files may be given as arguments too.
func (m *manifestFlags) options(arguments []string, stdin io.Reader) (manifest.Options, error) {
	o := manifest.Options{
		Filenames: append(m.filenames, arguments...), Recursive: m.recursive, Stdin: stdin, Namespace: m.namespace, ScriptsDir: m.scriptsDir,
		Scripts: map[types.NamespacedName]string{},
	}
	for _, given := range m.scripts {
		name, directory, ok := strings.Cut(given, "=")
		namespace, name, named := strings.Cut(name, "/")
		if !ok || !named || namespace == "" || name == "" || directory == "" {
			return o, fmt.Errorf("--scripts %s: must be NAMESPACE/NAME=DIRECTORY", given)
		}
		o.Scripts[types.NamespacedName{Namespace: namespace, Name: name}] = directory
	}
	if len(o.Filenames) == 0 {
		return o, errNoFiles
	}
	return o, nil
}

// errNoFiles is the error of options that name no files. The rest of the options is complete.
var errNoFiles = errors.New("name the files with -f: a file, a directory, or - for standard input")
