package manifest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/engines"
)

// kustomizeFiles are the files that kustomize sees. It refuses those that are too large or grow too much, and makes the first kustomization
// ask for annotations with the origins of objects.
type kustomizeFiles struct {
	reader *reader
	// directory is the one to build, as it was given, and root its real path.
	directory, root string

	// text has what was read, by the path as users write it.
	text        map[string][]byte
	names       []string // Its keys, in the order of reading.
	parsed      map[string][]*document.Object
	kustom      string // The first kustomization.
	keepsOrigin bool
	err         error // Why kustomize was not given a file.
}

func newKustomizeFiles(directory string, r *reader) (*kustomizeFiles, error) {
	f := &kustomizeFiles{reader: r, directory: directory, text: map[string][]byte{}, parsed: map[string][]*document.Object{}}
	root, _, err := f.CleanedAbs(directory)
	f.root = root.String()
	return f, err
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
	if f.kustom == "" {
		return f.directory
	}
	return f.kustom
}

// CleanedAbs returns the real path of a directory, or that of a file's directory and the name of the file.
func (f *kustomizeFiles) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", "", err
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return "", "", fmt.Errorf("evalsymlink failure on '%s' : %w", path, err)
	}
	switch info, err := os.Stat(resolved); {
	case err != nil:
		return "", "", err
	case info.IsDir():
		return filesys.ConfirmedDir(resolved), "", nil
	default:
		return filesys.ConfirmedDir(filepath.Dir(resolved)), filepath.Base(resolved), nil
	}
}

// ReadFile returns the text of a file, within the limits.
func (f *kustomizeFiles) ReadFile(path string) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	shown := f.shown(path)
	text, again := f.text[shown]
	if !again {
		if f.err = f.reader.options.Within.Check(path); f.err != nil {
			return nil, f.err
		}
		if unsaved, found := f.reader.options.overlaid(shown); found {
			text = []byte(unsaved)
		} else if read, err := readRegular(path); err == nil {
			text = read
		} else {
			return nil, err
		}
		f.text[shown], f.names = text, append(f.names, shown)
		if f.err = f.accept(shown, text); f.err != nil {
			return nil, f.err
		}
	}
	if isKustomization(path) && (f.kustom == "" || f.kustom == shown) {
		f.kustom = shown
		return f.withOrigins(text), nil
	}
	return text, nil
}

// readRegular returns the text of a regular file, and a little more than the limit of one that is larger.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxBytes+1))
}

// accept returns an error for a file that kustomize must not see.
func (f *kustomizeFiles) accept(shown string, text []byte) error {
	if err := f.reader.count(shown, len(text)); err != nil {
		return err
	}
	if !isKustomization(shown) && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(shown)) {
		return nil
	}
	return document.Check(shown, text)
}

func isKustomization(path string) bool {
	return slices.Contains(kustomizationNames, filepath.Base(path))
}

// entry is a value of a kustomization.
type entry struct {
	value string
	at    engines.Location
}

// entries returns the values of the kustomizations that were read, in the order of reading.
func (f *kustomizeFiles) entries() []entry {
	var all []entry
	for _, name := range f.names {
		var root yaml.Node
		if isKustomization(name) && yaml.Unmarshal(f.text[name], &root) == nil {
			all = appendEntries(all, name, &root)
		}
	}
	return all
}

func appendEntries(all []entry, file string, node *yaml.Node) []entry {
	value := node
	if node.Kind == yaml.AliasNode {
		value = node.Alias
	}
	if value.Kind == yaml.ScalarNode {
		return append(all, entry{value.Value, engines.Location{File: file, Line: node.Line, Column: node.Column}})
	}
	for i, inner := range node.Content {
		if node.Kind != yaml.MappingNode || i%2 == 1 {
			all = appendEntries(all, file, inner)
		}
	}
	return all
}

// remote matches what kustomize would fetch.
var remote = regexp.MustCompile(`(?i)^(git::)?([a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@|(www\.)?github\.com[:/])`)

// remoteEntry returns what kustomize would fetch, and where it stands: the URL, in any file that was read, or a value of a kustomization
// that looks like a repository.
func (f *kustomizeFiles) remoteEntry(err *kustomize.Error) entry {
	found := entry{value: "a repository", at: engines.Location{File: f.rootName()}}
	if err.URL != "" {
		found.value = err.URL
		for _, name := range f.names {
			if before, _, is := strings.Cut(string(f.text[name]), err.URL); is {
				line := strings.Count(before, "\n")
				found.at = engines.Location{File: name, Line: line + 1, Column: len(before) - strings.LastIndex(before, "\n")}
				return found
			}
		}
		return found
	}
	for _, e := range f.entries() {
		if remote.MatchString(e.value) {
			found = e
		}
	}
	return found
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
