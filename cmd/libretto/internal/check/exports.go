package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
)

// hooksOf are the hooks that each kind of definition may have.
var hooksOf = map[string][]string{
	v1alpha1.CompositeControllerKind: {"sync", "finalize", "customize"},
	v1alpha1.DecoratorControllerKind: {"sync", "finalize", "customize"},
	v1alpha1.MapControllerKind:       {"map", "tombstone", "finalize", "customize"},
}

// exported matches the export of a function by a module of JavaScript.
var exported = regexp.MustCompile(`(?m)^export\s+(?:async\s+)?(?:function|const)\s+(\w+)`)

// checkExports reports functions of entry files that are named like hooks and that no definition has as one. Nothing is known of what a
// definition calls that does not load.
func (r *run) checkExports(checks []*definitionCheck) {
	if r.refused || slices.ContainsFunc(checks, func(d *definitionCheck) bool { return d.tree == nil && len(d.sources) > 0 }) {
		return
	}
	called := map[engines.Location]map[string]bool{}
	entries := func(visit func(d *definitionCheck, file, function string, called map[string]bool)) {
		for _, d := range checks {
			if d.tree == nil {
				continue
			}
			for name, hook := range d.tree.spec.Hooks {
				if hook.Path == "" {
					continue
				}
				at := d.locate(d.tree, engines.Location{File: hook.Path})
				if called[at] == nil {
					called[at] = map[string]bool{}
				}
				visit(d, hook.Path, cmp.Or(hook.Function, name), called[at])
			}
		}
	}
	entries(func(_ *definitionCheck, _, function string, called map[string]bool) { called[function] = true })
	entries(func(d *definitionCheck, file, _ string, called map[string]bool) {
		text := d.tree.files[file]
		for _, found := range exported.FindAllStringSubmatchIndex(text, -1) {
			name := text[found[2]:found[3]]
			if called[name] || !slices.Contains(hooksOf[d.object.GetKind()], name) {
				continue
			}
			called[name] = true
			d.warnf(d.tree, engines.Location{File: file, Line: 1 + strings.Count(text[:found[2]], "\n")}, reasonHookNotCalled,
				"%s is exported and never called, as the definition has no such hook: add it to spec.hooks, or leave it out", name)
		}
	})
}
