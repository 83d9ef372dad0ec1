package javascript

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// name returns the step of a name that stands for a value, and notes it.
func (o *outliner) name(e *ast.Identifier) *engines.OutlineStep {
	name := e.Name.String()
	if o.used[name] == nil {
		o.used[name] = map[file.Idx]bool{}
	}
	o.used[name][e.Idx] = true
	return o.step(engines.OutlineName, name)
}

// word matches what may be a name.
var word = regexp.MustCompile(`[A-Za-z_$][\w$]*`)

// globals are the names of values that all scripts have, or that modules have.
var globals = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{"arguments": true, "console": true, "exports": true, "module": true, "require": true, "structuredClone": true}
	for _, name := range append(goja.New().GlobalObject().GetOwnPropertyNames(), "Iterator", "TextDecoder", "TextEncoder", intl) {
		all[name] = true
	}
	return all
})

// undeclared reports the first use of each name that the author's files use and nothing declares. A name that stands anywhere else in the
// bundle, even in a text, may be declared there.
func (o *outliner) undeclared(b *bundledTree) (warnings []*engines.Error) {
	count, declared := map[string]int{}, []string{}
	for _, name := range word.FindAllString(b.code, -1) {
		if count[name]++; o.used[name] != nil && count[name] == len(o.used[name])+1 {
			declared = append(declared, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.used)) {
		if count[name] != len(o.used[name]) || globals()[name] {
			continue
		}
		at := location(o.file.Position(int(slices.Min(slices.Collect(maps.Keys(o.used[name])))) - o.file.Base()))
		if slices.Contains(b.used, at.File) && isOwn(at.File) {
			advice := cmp.Or(missingGlobals[name], spelling.Meant(name, declared), "declare it, or correct its name")
			warnings = append(warnings, engines.InvalidError(at, "%s is not defined: %s", name, advice))
		}
	}
	return warnings
}
