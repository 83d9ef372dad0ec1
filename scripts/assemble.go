package scripts

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/engines"
)

// ErrMissing says that a ConfigMap does not exist.
var ErrMissing = errors.New("not found: create it, or correct the name in scriptSources")

// draft is a module tree as its sources have it at one moment.
type draft struct {
	files    map[string]string
	origins  map[string]Origin // of each file
	problems []Problem
	// pending says that some source has not been read yet.
	pending bool
}

// assemble puts the files of all sources into one tree, and finds all that is wrong with them.
func assemble(spec Spec, readings map[types.NamespacedName]reading, registry *engines.Registry) *draft {
	d := &draft{files: map[string]string{}, origins: map[string]Origin{}}
	for _, source := range spec.Sources {
		d.addConfigMap(source.ConfigMap, readings[source.ConfigMap.name()])
	}
	for _, name := range spec.hookNames() {
		if hook := spec.Hooks[name]; hook.Inline != "" {
			d.add(Origin{Hook: name}, hook.entry(name, registry), hook.Inline)
		}
	}
	return d
}

// entry is the path of a hook's script. An inline one gets a name that says whose it is.
func (h Hook) entry(name string, registry *engines.Registry) string {
	if h.Inline == "" {
		return h.Path
	}
	return "inline-" + name + registry.Extension(h.Engine)
}

func (d *draft) addConfigMap(c *ConfigMap, r reading) {
	origin := Origin{ConfigMap: c.name()}
	switch {
	case r.refusal != nil:
		d.fail(origin, r.refusal)
	case !r.answered:
		d.pending = true
	case r.files == nil:
		d.fail(origin, ErrMissing)
	default:
		d.addItems(origin, c, r.files)
	}
}

func (d *draft) addItems(origin Origin, c *ConfigMap, files map[string]string) {
	items := c.Items
	if len(items) == 0 {
		for _, key := range slices.Sorted(maps.Keys(files)) {
			items = append(items, Item{Key: key, Path: key})
		}
	}
	for _, item := range items {
		text, ok := files[item.Key]
		if !ok {
			d.fail(origin, invalid(engines.Location{}, "no key %q: it has %s", item.Key, list(maps.Keys(files))))
			continue
		}
		d.add(origin, path.Join(c.Prefix, item.Path), text)
	}
}

func (d *draft) add(origin Origin, path, text string) {
	if first, taken := d.origins[path]; taken {
		d.fail(origin, invalid(engines.Location{File: path}, "the path is taken by %s: set prefix, or choose with items", first))
		return
	}
	if bad := notText(text); bad >= 0 {
		d.fail(origin, invalid(place(path, text, bad), "not UTF-8 text: correct it, or leave it out with items"))
		return
	}
	d.files[path], d.origins[path] = text, origin
}

func (d *draft) fail(origin Origin, err error) {
	d.problems = append(d.problems, Problem{Origin: origin, Err: err})
}

// place gives line and column of a byte.
func place(path, text string, offset int) engines.Location {
	before := text[:offset]
	return engines.Location{
		File:   path,
		Line:   strings.Count(before, "\n") + 1,
		Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
	}
}

// notText finds the first byte that is not UTF-8, or gives -1.
func notText(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return -1
}

func invalid(at engines.Location, format string, args ...any) error {
	return &engines.Error{Kind: engines.Invalid, Location: at, Message: fmt.Sprintf(format, args...)}
}
