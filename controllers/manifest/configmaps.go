package manifest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/artifact"
	"github.com/libretto-k8s/libretto/scripts/bundle"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

// configMap is a ConfigMap that scripts may come from.
type configMap struct {
	object *document.Object // nil if a directory takes its place and there is none
	data   map[string]string
	// files are the files that keys are from, if they are known.
	files    map[string]string
	problems []directory.Problem
	// leftOut are the paths of a directory's files that no ConfigMap has a key for, sorted.
	leftOut []string
	err     error
}

func (s *Set) putConfigMap(o loaded) {
	s.Objects = append(s.Objects, o.Object)
	name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	if name.Namespace == "" {
		name.Namespace = s.options.Namespace
	}
	c := &configMap{object: o.Object, data: map[string]string{}, files: o.files}
	data, ok := o.Object.Object["data"].(map[string]any)
	if !ok && o.Object.Object["data"] != nil {
		s.failf(o.Object, "data", "ConfigMap %s: data must be an object whose values are strings", name)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		field := fmt.Sprintf("data[%s]", key)
		text, ok := data[key].(string)
		if !ok {
			s.failf(o.Object, field, "ConfigMap %s: data.%s must be a string: put it into quotes", name, key)
			continue
		}
		for _, problem := range validation.IsConfigMapKey(key) {
			s.failf(o.Object, field, "ConfigMap %s: data: %q is no key: %s", name, key, problem)
		}
		c.data[key] = text
	}
	s.readBinary(o.Object, c)
	s.configMaps[name] = c
}

// readBinary reads the keys of binaryData, which the host takes like those of data.
func (s *Set) readBinary(o *document.Object, c *configMap) {
	binary, _ := o.Object["binaryData"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(binary)) {
		encoded, _ := binary[key].(string)
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			s.failf(o, fmt.Sprintf("binaryData[%s]", key), "ConfigMap %s: binaryData.%s is no base64: %v", o.GetName(), key, err)
			continue
		}
		c.data[key] = string(decoded)
	}
}

// AddScripts puts a directory in the place of a source that is named NAMESPACE/NAME, if it is a ConfigMap, or KIND/NAMESPACE/NAME, if it is
// an object of Flux. It returns false if it is neither.
func (o *Options) AddScripts(name, directory string) bool {
	parts := strings.Split(name, "/")
	_, isKind := artifact.ResourceFor(parts[0])
	isFlux := isKind && len(parts) == 3
	if !isFlux && len(parts) != 2 || slices.Contains(parts, "") || directory == "" {
		return false
	}
	object := scripts.ConfigMapName(parts[len(parts)-2], parts[len(parts)-1])
	if isFlux {
		object.Kind = parts[0]
	}
	if o.Scripts == nil {
		o.Scripts = map[scripts.ObjectName]string{}
	}
	o.Scripts[object] = directory
	return true
}

// ScriptsName returns the name of a source as AddScripts takes it.
func ScriptsName(source scripts.ObjectName) string {
	if source.Kind == scripts.ConfigMapKind {
		return source.NamespacedName.String()
	}
	return source.Kind + "/" + source.NamespacedName.String()
}

// addDirectories puts directories in the place of ConfigMaps, and notes those that are artifacts.
func (s *Set) addDirectories() error {
	for source, root := range s.options.Scripts {
		err := s.options.Within.Check(root)
		switch {
		case err != nil:
		case source.Kind == scripts.ConfigMapKind:
			s.configMaps[source.NamespacedName], err = s.fromDirectory(source.NamespacedName, root)
			s.Inputs = append(s.Inputs, root)
		default:
			err = s.addArtifact(root)
		}
		if err != nil {
			return fmt.Errorf("--scripts %s=%s: %w", ScriptsName(source), root, err)
		}
	}
	slices.Sort(s.Inputs)
	return nil
}

// addArtifact notes the folders of an artifact. What is in them is read when it is asked for.
func (s *Set) addArtifact(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path != root && directory.IsIgnored(entry.Name()) {
			return fs.SkipDir
		}
		s.Inputs = append(s.Inputs, path)
		return nil
	})
}

// fromDirectory returns the ConfigMap that kubectl create configmap --from-file would make.
func (s *Set) fromDirectory(name types.NamespacedName, path string) (*configMap, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	contents := directory.Read(path, ".")
	if contents.Err != nil {
		return nil, contents.Err
	}
	s.options.overlayIn(path, contents.Files)
	c := &configMap{data: map[string]string{}, files: map[string]string{}, problems: contents.Problems}
	if before := s.configMaps[name]; before != nil {
		c.object = before.object
	}
	for key, text := range contents.Files {
		if len(validation.IsConfigMapKey(key)) == 0 {
			c.data[key], c.files[key] = text, filepath.Join(path, key)
		} else {
			c.leftOut = append(c.leftOut, key)
		}
	}
	slices.Sort(c.leftOut)
	if len(c.data) == 0 && !slices.ContainsFunc(entries, fs.DirEntry.IsDir) {
		return nil, errors.New("it has no files")
	}
	return c, nil
}

var quoted = regexp.MustCompile(`"(?:\./)?([^"]+)"`)

// LeftOut returns what to do about a problem of a source that quotes a file which the directory in its place has in a folder, or "". It
// begins with a colon.
func (s *Set) LeftOut(origin scripts.Origin, problem string) string {
	c := s.configMaps[origin.ConfigMap]
	if c == nil {
		return ""
	}
	for _, name := range quoted.FindAllStringSubmatch(problem, -1) {
		for _, file := range c.leftOut {
			if strings.Contains("/"+file, "/"+name[1]) {
				return fmt.Sprintf(": %s is left out, as --scripts %s=%s takes no folders, because a ConfigMap has none: "+
					"deploy with libretto bundle and scriptSources: [{directory: ...}], or lay the file beside the scripts",
					filepath.Join(s.options.Scripts[origin.Object()], file), origin.ConfigMap, s.options.Scripts[origin.Object()])
			}
		}
	}
	return ""
}

// ConfigMaps returns the names of all ConfigMaps, sorted.
func (s *Set) ConfigMaps() []types.NamespacedName { return sortedNames(maps.Keys(s.configMaps)) }

// ConfigMap returns a ConfigMap of the files, or nil.
func (s *Set) ConfigMap(name types.NamespacedName) *document.Object {
	if c := s.configMaps[name]; c != nil {
		return c.object
	}
	return nil
}

// Replaced returns the names of the ConfigMaps and objects of Flux in whose place directories are, sorted.
func (s *Set) Replaced() []scripts.ObjectName {
	all := slices.Collect(maps.Keys(s.options.Scripts))
	slices.SortFunc(all, func(a, b scripts.ObjectName) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func sortedNames(names iter.Seq[types.NamespacedName]) []types.NamespacedName {
	return slices.SortedFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}

// Contents returns what a script source holds, for scripts.Compile.
func (s *Set) Contents(origin scripts.Origin) scripts.Contents {
	if origin.Directory != "" {
		if s.options.ScriptsDir == "" {
			return scripts.Contents{Err: errors.New("is a directory of the host: name the folder that it is below with --scripts-dir")}
		}
		return s.directory(s.options.ScriptsDir, origin.Directory)
	}
	if flux := origin.Flux; flux.Kind != "" {
		root, given := s.options.Scripts[flux.ObjectName]
		if !given {
			return scripts.Contents{Err: fmt.Errorf("is Flux's, which no file has: give the folder that it is made of with --scripts %s=DIRECTORY",
				ScriptsName(flux.ObjectName))}
		}
		contents := s.directory(root, path.Join(".", flux.Path))
		if contents.Files == nil && contents.Err == nil {
			contents.Err = fmt.Errorf("there is no folder %s in %s", flux.Path, root)
		}
		return contents
	}
	c := s.configMaps[origin.ConfigMap]
	if c == nil {
		return scripts.Contents{}
	}
	return scripts.Contents{Files: c.data, Problems: c.problems, Err: c.err}
}

// directory returns what a directory held when it was first asked for: a library has thousands of files, and a set is of one moment.
func (s *Set) directory(root, name string) scripts.Contents {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := filepath.Join(root, name)
	contents, known := s.directories[at]
	if !known {
		read := directory.Read(root, name)
		s.options.overlayIn(at, read.Files)
		contents = scripts.Contents{Files: read.Files, Problems: read.Problems, Err: read.Err}
		s.directories[at] = contents
	}
	return contents
}

// Locate returns where a place in the module tree of a definition is in the files, or at itself if that is not known. origin is
// where the file of the tree is from.
func (s *Set) Locate(definition *document.Object, spec scripts.Spec, origin scripts.Origin, at engines.Location) engines.Location {
	switch {
	case origin.Hook != "":
		return locateInline(definition, spec, origin.Hook, at)
	case at.File == "":
		return placeOfSource(definition, spec, origin)
	case origin.Directory != "":
		at.File = filepath.Join(s.options.ScriptsDir, filepath.FromSlash(origin.Directory), filepath.FromSlash(at.File))
		return at
	}
	c := s.configMaps[origin.ConfigMap]
	key, known := spec.KeyOf(origin, at.File)
	if root, given := s.options.Scripts[origin.Flux.ObjectName]; given && known {
		at.File = filepath.Join(root, filepath.FromSlash(path.Join(origin.Flux.Path, key)))
		return at
	}
	if c == nil || !known {
		return placeOfSource(definition, spec, origin)
	}
	at.File = key
	return c.locate(at)
}

// locate returns where a place in a key is in the files.
func (c *configMap) locate(at engines.Location) engines.Location {
	key := at.File
	if file := c.files[key]; file != "" {
		at.File = file
		return at
	}
	if _, isKey := c.data[key]; !isKey && c.data[bundle.Key] != "" {
		at.File = path.Join(c.object.Location.File, bundle.Key, key)
		return at
	}
	return c.object.PlaceIn(fmt.Sprintf("data[%s]", key), at.Line, at.Column)
}

// locateInline returns a place in the inline script of a hook, or that of the hook.
func locateInline(definition *document.Object, spec scripts.Spec, hook string, at engines.Location) engines.Location {
	field := fmt.Sprintf("spec.hooks.%s.script", hook)
	if spec.Hooks[hook].Inline != "" && at.File != "" {
		return definition.PlaceIn(field+".inline", at.Line, at.Column)
	}
	if spec.Hooks[hook].Path != "" {
		field += ".path"
	}
	return definition.Place(field)
}

// placeOfSource returns where a definition names a source.
func placeOfSource(definition *document.Object, spec scripts.Spec, origin scripts.Origin) engines.Location {
	for i, source := range spec.Sources {
		if source.Origin() == origin {
			return definition.Place(fmt.Sprintf("spec.scriptSources[%d]", i))
		}
	}
	return definition.Place("spec.scriptSources")
}
