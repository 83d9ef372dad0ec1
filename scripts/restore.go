package scripts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/libretto-k8s/libretto/scripts/archive"
)

// restoreWait is how long a text that loads waits for the archive if that can't be read for what may pass: then it is previewed without
// what served before. restoreRetry and maxRestoreRetry are the first and the last delay before the archive is read again.
const (
	restoreWait     = 30 * time.Second
	restoreRetry    = time.Second
	maxRestoreRetry = time.Minute
	// readTimeout is how long a read of the archive may take.
	readTimeout = 10 * time.Second
)

// restored is the result of restoring the revision that served when the previous process
// ended.
type restored struct {
	final  bool   // there is no use in another attempt
	from   string // the ControllerRevision that serves
	reason string // why none does
	// since is when an attempt first failed for what may pass, and again when there is another one, or zero.
	since, again time.Time
	delay        time.Duration // before the one after that
}

// failed notes that an attempt failed for what may pass.
func (r restored) failed(err error) restored {
	now := time.Now()
	if r.since.IsZero() {
		r.since, r.delay = now, restoreRetry
	}
	r.reason = fmt.Sprintf("%s: it is tried again, at least every %s", err, maxRestoreRetry)
	r.again, r.delay = now.Add(r.delay), min(2*r.delay, maxRestoreRetry)
	return r
}

// isAwaited reports whether a text that loads waits for the archive.
func (r restored) isAwaited() bool { return !r.since.IsZero() && time.Since(r.since) < restoreWait }

// lastGood returns what serves while the sources don't load: what loaded last in this
// process or, at its start, what served before it.
func (t *Tree) lastGood(ctx context.Context) *Revision {
	last := t.Current()
	if last != nil || t.kept.archiver == nil || t.spec.Serving == "" || t.restored.final || time.Now().Before(t.restored.again) {
		return last
	}
	r, err := t.restore(ctx, t.spec.Serving)
	if errors.Is(err, archive.ErrNone) && t.spec.Stable != "" {
		lost := err
		if r, err = t.restore(ctx, t.spec.Stable); errors.Is(err, archive.ErrNone) {
			err = fmt.Errorf("%w; %w", lost, err)
		}
	}
	switch {
	case err == nil:
		t.restored = restored{final: true, from: t.kept.archiver.history.Namespace + "/" + t.kept.archiver.history.Name(string(r.ID))}
	case errors.Is(err, archive.ErrNone):
		t.restored = restored{final: true, reason: err.Error()}
	default:
		t.restored = t.restored.failed(err)
	}
	return r
}

// restore returns the archived revision of an ID, which may be the first digits alone. A user who may write ControllerRevisions
// must not thereby become the author of scripts, so the whole hash of the files and hooks must be the
// ID that the definition's status has.
func (t *Tree) restore(ctx context.Context, id RevisionID) (*Revision, error) {
	archived, err := t.loadArchived(ctx, id)
	if err != nil {
		return nil, err
	}
	spec, hooks, err := t.archivedHooks(archived)
	if err != nil {
		return nil, fmt.Errorf("%w: what is kept of revision %s can't be used: %w", archive.ErrNone, id.Short(), err)
	}
	d := newModuleTree(t.library.Engines)
	maps.Copy(d.files, archived.Files)
	d.addInline(spec, t.library.Engines)
	content := fingerprintOf(d.files, hooks)
	if !content.id().IsKnownAs(id) {
		return nil, fmt.Errorf("%w: what is kept of revision %s has other files, or the hooks had other settings then",
			archive.ErrNone, id.Short())
	}
	d.trustDomain = restoredDomain(t.spec.Definition, content.id())
	r, problems := t.build(ctx, spec, d, content)
	switch {
	case problems == nil:
		return r, nil
	case isTransient(problems):
		return nil, problems[0].Err
	}
	return nil, fmt.Errorf("%w: revision %s does not load any more: %w", archive.ErrNone, id.Short(), problems[0].Err)
}

// loadArchived reads a revision from the archive.
func (t *Tree) loadArchived(ctx context.Context, id RevisionID) (archive.Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return t.kept.archiver.history.Load(ctx, string(id))
}

// archivedHooks returns the spec of the tree with the hooks of an archived revision, and these encoded.
func (t *Tree) archivedHooks(r archive.Revision) (Spec, []byte, error) {
	spec, err := t.spec.withHooks(r.Hooks)
	if err == nil && !slices.Equal(spec.hookNames(), t.spec.hookNames()) {
		err = fmt.Errorf("%w: for %q, and not for %q", ErrOtherHooks, spec.hookNames(), t.spec.hookNames())
	}
	if err != nil {
		return spec, nil, err
	}
	hooks, err := spec.encodeHooks() // The API server may have written the same JSON in another way.
	return spec, hooks, err
}

// restoredDomain returns the trust domain of a restored revision. Its authors are those of the sources at
// that time, which nothing tells, and the present sources may be others. So the domain is of that text and
// that definition alone. No namespace has a colon in its name.
func restoredDomain(definition string, id RevisionID) string {
	return "restored:" + definition + ":" + string(id)
}
