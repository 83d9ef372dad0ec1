package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// checkUnused reports the files that no definition uses, each once. Definitions share sources: what one of them leaves another one uses.
// Nothing is known of the sources of a definition that does not load.
func (r *run) checkUnused(checks []*definitionCheck) {
	if r.refused {
		return
	}
	used, unknown := map[engines.Location]bool{}, map[scripts.Origin]bool{}
	for _, d := range checks {
		if d.tree == nil {
			for _, source := range d.sources {
				unknown[source.Origin()] = true
			}
			continue
		}
		for file := range d.tree.files {
			if d.tree.reached[file] || d.tree.tested[file] {
				used[d.locate(d.tree, engines.Location{File: file})] = true
			}
		}
	}
	for _, d := range checks {
		if d.tree != nil {
			d.checkUnused(used, unknown)
		}
	}
}

// checkUnused reports the files of the tree that are not used, and adds them to those that are, because that is enough.
func (d *definitionCheck) checkUnused(used map[engines.Location]bool, unknown map[scripts.Origin]bool) {
	unused := map[scripts.Origin][]string{}
	for _, file := range slices.Sorted(maps.Keys(d.tree.files)) {
		place, origin := d.locate(d.tree, engines.Location{File: file}), d.tree.origins[file]
		if !used[place] && !unknown[origin] && !scripts.IsLibrary(file) && !isCompanion(d.registry, file) {
			used[place] = true
			unused[origin] = append(unused[origin], file)
		}
	}
	for origin, files := range unused {
		d.reportUnused(d.tree, origin, files)
	}
}

// maxUnused is how many unused files of a source are reported each for itself. More are a library.
const maxUnused = 10

// reportUnused reports the files of a source that nothing reaches, which are sorted.
func (d *definitionCheck) reportUnused(t *tree, origin scripts.Origin, files []string) {
	if len(files) > maxUnused {
		d.warnf(t, engines.Location{File: files[0]}, reasonUnusedFile,
			"no hook and no test reaches %d files of %s, %s among them: leave them out, with items if the ConfigMap has other uses, or pack what the "+
				"hooks reach with libretto bundle", len(files), origin, strings.Join(files[:3], ", "))
		return
	}
	for _, file := range files {
		d.warnf(t, engines.Location{File: file}, reasonUnusedFile, "%s: no hook and no test reaches this file of %s: "+
			"leave it out, with items if the ConfigMap has other uses, or import it", file, origin)
	}
}
