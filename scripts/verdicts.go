package scripts

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/libretto-k8s/libretto/scripts/archive"
)

// verdicts are the texts of one definition whose tests need not be run. A text is the files of the sources, whatever the settings of
// the hooks are.
type verdicts struct {
	mu sync.Mutex
	// passed are texts whose tests passed, the last one last.
	passed []fingerprint
	// serving is the text that serves: its tests never hold it back.
	serving fingerprint
}

// maxVerdicts is as many as revisions are archived.
const maxVerdicts = archive.Limit

func (v *verdicts) knows(text fingerprint) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.serving == text || slices.Contains(v.passed, text)
}

func (v *verdicts) pass(text fingerprint) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.passed = append(slices.DeleteFunc(v.passed, func(p fingerprint) bool { return p == text }), text)
	v.passed = v.passed[max(0, len(v.passed)-maxVerdicts):]
}

// serve notes the files that serve, and reports whether they have tests that passed.
func (v *verdicts) serve(d *moduleTree) bool {
	var text fingerprint
	tested := d.hasTests()
	if tested {
		text = d.text()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.serving = text
	return tested && slices.Contains(v.passed, text)
}

// verdictsFor returns those of a definition: another tree of the same one may be open, with an earlier spec. A tree that follows tests
// nothing, and what it serves may not have been tested.
func (l *Library) verdictsFor(spec Spec) *verdicts {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.trees {
		if t.spec.isOfSameDefinition(spec) && t.spec.Follows == spec.Follows {
			return t.kept.verdicts
		}
	}
	return &verdicts{}
}

// isOfSameDefinition reports whether both specs are of one definition.
func (s Spec) isOfSameDefinition(other Spec) bool {
	if s.Definition != other.Definition || s.Archive == nil || other.Archive == nil {
		return false
	}
	return s.Archive.Owner.UID == other.Archive.Owner.UID
}

// needsTests reports whether the tests of a text must be run before it serves. They need not if they passed before, or if the text
// serves, or served when the process began.
func (t *Tree) needsTests(ctx context.Context, d *moduleTree, id RevisionID) bool {
	if t.spec.IgnoreTests || t.spec.Follows || t.library.Tester == nil || !d.hasTests() {
		return false
	}
	text := d.text()
	switch {
	case t.kept.verdicts.knows(text), id.IsKnownAs(t.spec.Serving):
		return false
	case t.kept.archiver == nil:
		return true
	}
	if archived, err := t.loadArchived(ctx, id); err == nil && archived.TestsPassed {
		t.kept.verdicts.pass(text)
		return false
	}
	if t.Current() != nil || t.spec.Serving == "" {
		return true
	}
	// The settings of the hooks may have changed since the text served.
	served, err := t.loadArchived(ctx, t.spec.Serving)
	return err != nil || !maps.Equal(served.Files, d.sourceFiles())
}

// text returns the fingerprint of the files from sources.
func (d *moduleTree) text() fingerprint { return fingerprintOf(d.sourceFiles(), nil) }

// hasTests reports whether a source has a file of tests.
func (d *moduleTree) hasTests() bool {
	for file, origin := range d.origins {
		if origin.Hook == "" && IsTest(d.engines, file) {
			return true
		}
	}
	return false
}
