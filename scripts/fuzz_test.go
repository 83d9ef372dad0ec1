package scripts

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/libretto-k8s/libretto/engines"
)

// FuzzAssemble puts any ConfigMaps into a tree. A spec that was accepted makes a tree whose files have paths
// inside of it and valid text, each of one source, and everything else is reported.
func FuzzAssemble(f *testing.F) {
	f.Add("lib", "a.js", "x/b.js", "text", "b", "more", true)
	f.Add("", "a.js", "a.js", "one", "a.js", "two", false)
	f.Add("..", "../a.js", "/a.js", "\xff", "b", "\xc0\x80", true)
	f.Add("lib/..", "a", "./a", "", ".", "", false)
	f.Fuzz(func(t *testing.T, prefix, key, path, text, otherKey, otherText string, items bool) {
		one := Source{ConfigMap: &ConfigMap{Namespace: "n", Name: "one", Prefix: prefix}}
		if items {
			one.ConfigMap.Items = []Item{{Key: key, Path: path}, {Key: otherKey, Path: "other"}}
		}
		other := Source{ConfigMap: &ConfigMap{Namespace: "n", Name: "other"}}
		spec := Spec{Sources: []Source{one, other}, Hooks: map[string]Hook{"sync": {Inline: otherText, Engine: "fake"}}}
		if spec.check() != nil || !validKey(key) || !validKey(otherKey) {
			return
		}
		given := map[string]string{key: text, otherKey: otherText}
		tree := assemble(spec, map[Origin]reading{
			one.Origin(): {synced: true, files: given}, other.Origin(): {synced: true, files: map[string]string{key: text}},
		}, &engines.Registry{})
		for path, text := range tree.files {
			if !fs.ValidPath(path) || path == "." || !utf8.ValidString(text) {
				t.Errorf("the tree has %q, with %q", path, text)
			}
			if _, ok := tree.origins[path]; !ok {
				t.Errorf("%q is of no source", path)
			}
		}
		for _, problem := range slices.Concat(tree.problems, tree.leftOut) {
			var e *engines.Error
			if !errors.As(problem.Err, &e) || e.Kind != engines.Invalid {
				t.Errorf("%v of type %T", problem.Err, problem.Err)
			}
		}
		if tree.pending || len(tree.files)+len(tree.problems)+len(tree.leftOut) < 2 {
			t.Errorf("%d files, %d problems and %d files left out of two sources", len(tree.files), len(tree.problems), len(tree.leftOut))
		}
	})
}

// validKey reports whether the API server takes a key of a ConfigMap.
func validKey(key string) bool {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return false
		}
	}
	return key != "" && key != "." && (len(key) < 2 || key[:2] != "..")
}
