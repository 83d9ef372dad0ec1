package javascript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// manifest is the part of a package.json that names files.
type manifest struct {
	Main    any      `json:"main"`
	Module  any      `json:"module"`
	Exports *targets `json:"exports"`
	Imports *targets `json:"imports"`
}

// manifest reads the package.json of a folder, or returns nil if it has none.
func (t tree) manifest(folder string) (*manifest, error) {
	name := path.Join(folder, "package.json")
	text, ok := t.Files[name]
	if !ok {
		return nil, nil
	}
	t.use(name)
	m := &manifest{}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// mains returns the possible entry files of a package without exports, best first.
func (m *manifest) mains(r importRequest) []string {
	main, _ := m.Main.(string)
	module, _ := m.Module.(string)
	if r.required {
		return []string{main, module}
	}
	return []string{module, main}
}

// targets are the targets of a package's exports: a path, a list of which the first that
// resolves counts, or targets by key, in the order of the file.
type targets struct {
	path   string
	list   []*targets
	keys   []string
	values []*targets
}

// UnmarshalJSON reads a string, a list, an object or null, and takes anything else for null.
func (t *targets) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '"':
		return json.Unmarshal(text, &t.path)
	case '[':
		return json.Unmarshal(text, &t.list)
	case '{':
		return t.readObject(text)
	}
	return nil
}

func (t *targets) readObject(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		value := &targets{}
		if err := d.Decode(value); err != nil {
			return err
		}
		t.keys, t.values = append(t.keys, key.(string)), append(t.values, value)
	}
	return nil
}

// exported returns the path of the export of that name ("." for the package itself), for the
// conditions that hold.
func (t *targets) exported(name string, conditions []string) (string, bool) {
	if t == nil {
		return "", false
	}
	if !slices.ContainsFunc(t.keys, func(key string) bool { return key[:min(1, len(key))] == "." || key[:min(1, len(key))] == "#" }) {
		return t.chosen("", conditions, name == ".")
	}
	if i := slices.Index(t.keys, name); i >= 0 {
		return t.values[i].chosen("", conditions, true)
	}
	best, rest := -1, ""
	for i, key := range t.keys {
		before, after, pattern := strings.Cut(key, "*")
		if !pattern && !strings.HasSuffix(key, "/") || !strings.HasPrefix(name, before) || !strings.HasSuffix(name[len(before):], after) {
			continue
		}
		if best < 0 || len(before) > strings.IndexByte(t.keys[best]+"*", '*') {
			best, rest = i, strings.TrimSuffix(name[len(before):], after)
		}
	}
	if best < 0 || rest == "" {
		return "", false
	}
	return t.values[best].chosen(rest, conditions, true)
}

// chosen follows conditions down to a path, in which a star stands for rest.
func (t *targets) chosen(rest string, conditions []string, ok bool) (string, bool) {
	if !ok || t == nil {
		return "", false
	}
	for _, target := range t.list {
		if found, ok := target.chosen(rest, conditions, true); ok {
			return found, true
		}
	}
	for i, key := range t.keys {
		if slices.Contains(conditions, key) {
			if found, ok := t.values[i].chosen(rest, conditions, true); ok {
				return found, true
			}
		}
	}
	if strings.HasSuffix(t.path, "/") {
		return t.path + rest, true
	}
	return strings.ReplaceAll(t.path, "*", rest), t.path != ""
}
