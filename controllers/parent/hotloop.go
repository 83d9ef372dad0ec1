package parent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/verbosity"
)

// filterChanges drops no-ops and changes in backoff. It records the shortest remaining backoff.
func (p *pass) filterChanges(ctx context.Context, changes []apply.Change) []apply.Change {
	return slices.DeleteFunc(changes, func(change apply.Change) bool {
		if p.history.isNoop(change) {
			return true
		}
		if err := p.history.conflict(change); err != nil {
			p.unapplied = append(p.unapplied, err)
			return true
		}
		backoff := p.backoff(change)
		p.shortestBackoff = variant.Earlier(p.shortestBackoff, backoff)
		if backoff == 0 && change.Observed != nil && p.detector.isNear(p.subjectOf(change)) {
			// The write replaces the traces of the other writer.
			p.otherManagers[change.Key] = p.otherWriter(ctx, change)
		}
		return backoff > 0
	})
}

func isRewrite(change apply.Change) bool {
	return change.Action == apply.ActionUpdate || change.Action == apply.ActionRecreate
}

// subjectOf returns the subject of a change for the fight detector.
func (p *pass) subjectOf(change apply.Change) fightSubject {
	s := fightSubject{parent: p.parent.GetUID(), child: change.Key, field: existence}
	if isRewrite(change) {
		s.field = anyField
	}
	return s
}

// backoff returns the remaining backoff of a change, or zero.
func (p *pass) backoff(change apply.Change) time.Duration {
	s := p.subjectOf(change)
	switch {
	case isRewrite(change):
		return p.detector.backoff(s, p.fightInputs)
	case p.isTerminating(), change.Action == apply.ActionCreate && p.detector.isRecreating(s):
		return 0
	}
	return max(p.detector.backoff(s, p.fightInputs), p.detector.backoff(s.kind(), p.fightInputs))
}

// isTerminating reports whether the parent is being finalized or deleted, which no backoff may
// delay.
func (p *pass) isTerminating() bool { return p.observed.Finalizing || p.observed.Deleting() }

// detectHotLoop reports children that are written and undone again and again. It ignores
// ControllerRevisions.
func (p *pass) detectHotLoop(change apply.Change) {
	if p.isRevision(change) {
		return
	}
	if loop := p.detectFight(change); loop != nil {
		p.env.Metrics.countHotLoop(p.config.Definition)
		message := p.describeLoop(loop, change)
		p.logHotLoop(message)
		p.warnOnce(variant.ReasonHotLoop, message)
	}
}

// logHotLoop logs a hot loop.
func (p *pass) logHotLoop(message string) {
	verbosity.Warn(p.env.Log, "hot loop", "definition", p.config.Definition, "parent", p.key.String(), "message", message)
}

// detectFight notifies the detector of a write. It returns the fight to report, or nil.
func (p *pass) detectFight(change apply.Change) (loop *hotLoop) {
	s := p.subjectOf(change)
	switch {
	case isRewrite(change):
		for i, mark := range change.Marks() {
			found := p.detector.noteUpdate(s, mark, p.fightInputs)
			if found != nil && loop == nil {
				loop = found
				loop.Diff = change.Diffs()[i]
				loop.field = loop.Path
			}
		}
		if s.field = existence; change.Action == apply.ActionRecreate {
			p.detector.noteDelete(s, true, p.fightInputs)
		}
		return loop
	case p.isTerminating():
		return nil
	case change.Action == apply.ActionCreate:
		return p.detector.noteCreate(s, p.fightInputs)
	case change.Action == apply.ActionDelete:
		return p.detector.noteDelete(s, false, p.fightInputs)
	}
	return nil
}

// describeLoop returns the message of a hot loop: what is written, by which other writer, and
// the remedy.
func (p *pass) describeLoop(loop *hotLoop, change apply.Change) string {
	times := fmt.Sprintf("%d times within %s", fightThreshold, fightWindow)
	alone := fmt.Sprintf("%s is left alone for %s: ", loop.child, loop.backoff)
	rival := cmp.Or(p.otherManagers[loop.child], unknownWriter)
	switch {
	case loop.field != existence:
		masker := p.masker()
		return fmt.Sprintf("%sits field %s was set to %s %s, and each time %s set it back, the last time to %s",
			alone, fielddiff.PublicPath(loop.child.Kind, loop.Path), masker.Mask(loop.To), times, rival, masker.Mask(loop.From))
	case loop.child.Name == "":
		names := loop.From + " and then " + loop.To
		if loop.From == loop.To {
			names = loop.To
		}
		return fmt.Sprintf("no %s is created or deleted for %s: %s one sync deleted what the one before had created, "+
			"though nothing but children had changed, such as %s: let names depend on what the hook is given, not on the time or on chance",
			loop.child.Kind.Kind, loop.backoff, times, names)
	case loop.created:
		return fmt.Sprintf("%sit was created %s, and each time %s deleted it: %s", alone, times, p.claimantsOf(change.Object), otherWriters)
	default:
		return fmt.Sprintf("%sit was deleted %s, and each time %s created it again: %s", alone, times, rival, otherWriters)
	}
}

// separateKinds is the remedy for two definitions that claim the same children.
const separateKinds = "two definitions that select the same parents need different kinds of children"

// otherWriters is the remedy for two writers, of whom one may be unknown.
const otherWriters = separateKinds + "; of others the API server's audit log tells who they are"

// unknownWriter names an unknown other writer.
const unknownWriter = "somebody else"

// claimantsOf returns the names of the other definitions of this process that claim a child of
// the parent, or unknownWriter.
func (p *pass) claimantsOf(child *unstructured.Unstructured) string {
	names := p.env.Registry.claimants(p.config.Definition, p.observed.Parent, child)
	if len(names) == 0 {
		return unknownWriter
	}
	return strings.Join(names, " or ")
}

// otherWriter returns the name of the other writer of a child: the creator of one that is
// deleted again and again, otherwise the newest entry of managedFields that is not of this
// program. It sends a request, as managedFields are not cached.
func (p *pass) otherWriter(ctx context.Context, change apply.Change) string {
	claimant := p.claimantsOf(change.Observed)
	if change.Action == apply.ActionDelete && claimant != unknownWriter {
		return claimant
	}
	live, err := p.get(ctx, change.Resource, change.Key.Namespace, change.Key.Name)
	if err != nil {
		return claimant
	}
	manager := newestManager(live, p.config.Managers.Own)
	if manager == "" && change.Action == apply.ActionDelete && len(live.GetManagedFields()) > 0 {
		return fmt.Sprintf("another host that writes as %q", ownManager)
	}
	return cmp.Or(manager, claimant)
}

// newestManager returns the last field manager other than this program and the definition's own,
// or "".
func newestManager(object *unstructured.Unstructured, own string) string {
	name, newest := "", time.Time{}
	for _, entry := range object.GetManagedFields() {
		if entry.Manager != ownManager && entry.Manager != own && entry.Time != nil && entry.Time.After(newest) {
			name, newest = entry.Manager, entry.Time.Time
		}
	}
	return name
}
