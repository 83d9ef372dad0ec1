package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// ManifestFlags are the flags of offline commands that name what to load.
type ManifestFlags struct {
	filenames  []string
	recursive  bool
	Namespace  string
	scripts    []string
	ScriptsDir string
}

// AddTo adds the flags of commands that read definitions from files.
func (m *ManifestFlags) AddTo(f *pflag.FlagSet) {
	f.StringArrayVarP(&m.filenames, "filename", "f", nil, "file or directory with definitions, CustomResourceDefinitions and ConfigMaps, "+
		"or - for standard input; may be repeated. A directory with a kustomization.yaml is built")
	f.BoolVarP(&m.recursive, "recursive", "R", false, "read the directories in the directories of -f too")
	if f.Lookup("namespace") == nil { // A command that has the flag sets Namespace.
		f.StringVarP(&m.Namespace, "namespace", "n", "default", "namespace of objects without one")
	}
	m.AddScriptsTo(f)
}

// AddScriptsTo adds those of the flags that say where scripts are.
func (m *ManifestFlags) AddScriptsTo(f *pflag.FlagSet) {
	f.StringArrayVar(&m.scripts, "scripts", nil, "NAMESPACE/NAME=DIRECTORY: take the files of a directory for the keys of that ConfigMap, "+
		"as kubectl create configmap --from-file does; KIND/NAMESPACE/NAME=DIRECTORY: for the artifact of that object of Flux; may be repeated")
	f.StringVar(&m.ScriptsDir, "scripts-dir", "", "directory that script sources of kind directory are below, like that of serve")
}

// Options returns what to load. Files may be given as arguments too.
func (m *ManifestFlags) Options(arguments []string, stdin io.Reader) (manifest.Options, error) {
	o := manifest.Options{
		Filenames: append(m.filenames, arguments...), Recursive: m.recursive, Stdin: stdin, Namespace: m.Namespace, ScriptsDir: m.ScriptsDir,
		IsScript: standard.IsScript,
	}
	for _, given := range m.scripts {
		name, directory, _ := strings.Cut(given, "=")
		if !o.AddScripts(name, directory) {
			return o, fmt.Errorf("--scripts %s: must be NAMESPACE/NAME=DIRECTORY, or KIND/NAMESPACE/NAME=DIRECTORY for an object of Flux", given)
		}
	}
	if len(o.Filenames) == 0 {
		return o, ErrNoFiles
	}
	return o, nil
}

// ErrNoFiles is the error of options that name no files. The rest of the options is complete.
var ErrNoFiles = errors.New("name the files with -f: a file, a directory, or - for standard input")
