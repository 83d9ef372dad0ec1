package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// kustomizeFiles is the file system that kustomize sees. It refuses files that are too large or grow too much, and
// kustomizations that name something to fetch, because kustomize would fetch it. It makes the first kustomization ask for
// annotations with the origins of objects.
type kustomizeFiles struct {
	filesys.FileSystem
	reader *reader
	// directory is the one to build, as it was given, and root its real path.
	directory, root string

	mu sync.Mutex
	// text has what was read, by the path as users write it.
	text        map[string][]byte
	parsed      map[string][]*document.Object
	entries     []entry
	kustom      string // the first kustomization
	keepsOrigin bool
	err         error
}

// entry is a file that a kustomization names.
type entry struct {
	value string
	at    engines.Location
}

func newKustomizeFiles(directory string, r *reader) (*kustomizeFiles, error) {
	disk := filesys.MakeFsOnDisk()
	root, _, err := disk.CleanedAbs(directory)
	if err != nil {
		return nil, err
	}
	return &kustomizeFiles{
		FileSystem: disk, reader: r, directory: directory, root: root.String(),
		text: map[string][]byte{}, parsed: map[string][]*document.Object{},
	}, nil
}

// shown returns a path as users write it.
func (f *kustomizeFiles) shown(path string) string {
	if relative, err := filepath.Rel(f.root, path); err == nil {
		return filepath.Join(f.directory, relative)
	}
	return path
}

// rootName returns the path of the kustomization that is built.
func (f *kustomizeFiles) rootName() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kustom == "" {
		return f.directory
	}
	return f.kustom
}

// refused returns why kustomize was not given a file, or nil.
func (f *kustomizeFiles) refused() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// read returns the names of the files that kustomize has read.
func (f *kustomizeFiles) read() iter.Seq[string] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Keys(maps.Clone(f.text))
}

// ReadFile returns the text of a file, within the limits.
func (f *kustomizeFiles) ReadFile(path string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	text, err := f.FileSystem.ReadFile(path)
	if err != nil {
		return nil, err
	}
	shown := f.shown(path)
	if _, again := f.text[shown]; !again {
		f.err = f.accept(shown, text)
	}
	f.text[shown] = text
	if f.err != nil {
		return nil, f.err
	}
	if slices.Contains(kustomizationNames, filepath.Base(path)) && (f.kustom == "" || f.kustom == shown) {
		f.kustom = shown
		return f.withOrigins(text), nil
	}
	return text, nil
}

// accept returns an error for a file that kustomize must not see.
func (f *kustomizeFiles) accept(shown string, text []byte) error {
	if err := f.reader.count(shown, len(text)); err != nil {
		return err
	}
	isKustomization := slices.Contains(kustomizationNames, filepath.Base(shown))
	if !isKustomization && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(shown)) {
		return nil
	}
	if err := document.Check(shown, text); err != nil {
		return err
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var root yaml.Node
		if decoder.Decode(&root) != nil || len(root.Content) == 0 {
			return nil // That was the last one, or kustomize says what is wrong.
		}
		if isKustomization || isPluginConfig(root.Content[0]) {
			if err := f.checkLocal(shown, root.Content[0]); err != nil {
				return err
			}
		}
	}
}

// isPluginConfig reports whether a document configures a transformer or generator of kustomize.
func isPluginConfig(root *yaml.Node) bool {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if value := root.Content[i+1].Value; root.Content[i].Value == "apiVersion" {
			return value == "builtin" || strings.HasPrefix(value, "kustomize.config.k8s.io/")
		}
	}
	return true
}

// remote matches what kustomize would fetch.
var remote = regexp.MustCompile(`(?i)^(git::)?([a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@|(www\.)?github\.com[:/])`)

// plainFields are fields whose values are no files.
var plainFields = []string{
	"annotations", "commonAnnotations", "commonLabels", "generatorOptions", "images", "inline", "labels", "literals", "metadata", "namePrefix",
	"nameSuffix", "namespace", "newName", "options", "patch", "replicas", "source", "target", "targets", "value", "vars",
}

// checkLocal returns an error if a kustomization names something to fetch, and notes the files that it names.
func (f *kustomizeFiles) checkLocal(shown string, node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return f.checkFile(node.Value, engines.Location{File: shown, Line: node.Line, Column: node.Column})
	}
	for i, inner := range node.Content {
		if node.Kind == yaml.MappingNode && (i%2 == 0 || slices.Contains(plainFields, node.Content[i-1].Value)) {
			continue
		}
		if err := f.checkLocal(shown, inner); err != nil {
			return err
		}
	}
	return nil
}

// checkFile returns an error if a value names something to fetch: a path, NAME=PATH, or a configuration in place of its file.
func (f *kustomizeFiles) checkFile(value string, at engines.Location) error {
	if strings.Contains(value, "\n") {
		decoder := yaml.NewDecoder(strings.NewReader(value))
		for {
			var inner yaml.Node
			if decoder.Decode(&inner) != nil {
				return nil
			}
			var problem *document.Error
			if err := f.checkLocal(at.File, &inner); errors.As(err, &problem) {
				return &document.Error{Location: at, Message: problem.Message}
			}
		}
	}
	_, named, _ := strings.Cut(value, "=")
	for _, path := range []string{value, named} {
		if remote.MatchString(path) {
			return &document.Error{Location: at, Message: fmt.Sprintf(
				"%s is not fetched: this command needs no network: run kustomize localize, or pipe kustomize build into -f -", path)}
		}
	}
	f.entries = append(f.entries, entry{value, at})
	return nil
}

// withOrigins returns a kustomization that asks for annotations with origins.
func (f *kustomizeFiles) withOrigins(text []byte) []byte {
	const field, option = "buildMetadata", "originAnnotations"
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return text
	}
	top := root.Content[0]
	list := &yaml.Node{Kind: yaml.SequenceNode}
	found := false
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value == field {
			list, found = top.Content[i+1], true
		}
	}
	for _, item := range list.Content {
		if item.Value == option {
			f.keepsOrigin = true
			return text
		}
	}
	list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: option})
	if !found {
		top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: field}, list)
	}
	changed, err := yaml.Marshal(&root)
	if err != nil {
		return text
	}
	return changed
}
