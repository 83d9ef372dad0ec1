package parent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// worthwhile drops the changes that are known to have no effect, and those of
// children that are left alone, and notes the shortest time until one of them no
// longer is.
func (p *pass) filterChanges(ctx context.Context, changes []apply.Change) []apply.Change {
	return slices.DeleteFunc(changes, func(change apply.Change) bool {
		if p.noopUpdates.contains(change) {
			return true
		}
		if err := p.conflictBackoff.lasting(change); err != nil {
			p.unapplied = append(p.unapplied, err)
			return true
		}
		backoff := p.backoff(change)
		p.rest = earlier(p.rest, backoff)
		if backoff == 0 && change.Observed != nil && p.detector.near(p.subjectOf(change)) {
			// Once it is written or gone, nothing tells whose it was.
			p.otherManagers[change.Key] = p.otherWriter(ctx, change)
		}
		return backoff > 0
	})
}

func rewrites(change apply.Change) bool {
	return change.Action == apply.ActionUpdate || change.Action == apply.ActionRecreate
}

// subjectOf returns what a change of a child may be a fight over.
func (p *pass) subjectOf(change apply.Change) fightSubject {
	s := fightSubject{parent: p.parent.GetUID(), child: change.Key, field: existence}
	if rewrites(change) {
		s.field = anyField
	}
	return s
}

// backoff returns how long a change of a child has to wait, or zero.
func (p *pass) backoff(change apply.Change) time.Duration {
	s := p.subjectOf(change)
	switch {
	case rewrites(change):
		return p.detector.backoff(s, p.fightInputs)
	case p.ending(), change.Action == apply.ActionCreate && p.detector.recreates(s):
		return 0
	}
	return max(p.detector.backoff(s, p.fightInputs), p.detector.backoff(s.kind(), p.fightInputs))
}

// ending reports whether the parent is on its way out, which nothing may hold up.
func (p *pass) ending() bool { return p.observed.Finalizing || p.observed.Deleting() }

// watchForLoop tells of children that are written and undone again and again. The
// ControllerRevisions of a rollout are none.
func (p *pass) watchForLoop(change apply.Change) {
	if p.revisions != nil && change.Resource == p.revisions.GroupVersionResource {
		return
	}
	if loop := p.loopOf(change); loop != nil {
		p.env.Metrics.hotLoop(p.config.Definition)
		p.env.Events.Event(p.parent, corev1.EventTypeWarning, variant.ReasonHotLoop, p.describeLoop(loop, change))
	}
}

// loopOf has the detector note a write, and returns the fight that is to be told, or nil.
func (p *pass) loopOf(change apply.Change) (loop *hotLoop) {
	s := p.subjectOf(change)
	switch {
	case rewrites(change):
		for _, diff := range change.Diffs() {
			s.field = diff.Path
			if s.field == "" {
				continue // It counts the differences that are not listed.
			}
			if found := p.detector.wrote(s, diff, p.fightInputs); loop == nil {
				loop = found
			}
		}
		if s.field = existence; change.Action == apply.ActionRecreate {
			p.detector.deleted(s, true, p.fightInputs)
		}
		return loop
	case p.ending():
		return nil
	case change.Action == apply.ActionCreate:
		return p.detector.created(s, p.fightInputs)
	case change.Action == apply.ActionDelete:
		return p.detector.deleted(s, false, p.fightInputs)
	}
	return nil
}

// describeLoop says what goes round in circles, who is the other one, and the way out.
func (p *pass) describeLoop(loop *hotLoop, change apply.Change) string {
	times := fmt.Sprintf("%d times within %s", undoneOften, undoneWithin)
	alone := fmt.Sprintf("%s is left alone for %s: ", loop.child, loop.rest)
	rival := cmp.Or(p.otherManagers[loop.child], somebody)
	switch {
	case loop.field != existence:
		return fmt.Sprintf("%sits field %s was set to %s %s, and each time %s set it back, the last time to %s",
			alone, loop.Path, loop.To, times, rival, loop.From)
	case loop.child.Name == "":
		names := loop.From + " and then " + loop.To
		if loop.From == loop.To {
			names = loop.To
		}
		return fmt.Sprintf("no %s is created or deleted for %s: %s one sync deleted what the one before had created, "+
			"though nothing but children had changed, such as %s: let names depend on what the hook is given, not on the time or on chance",
			loop.child.Kind.Kind, loop.rest, times, names)
	case loop.Diff == creation:
		return fmt.Sprintf("%sit was created %s, and each time %s deleted it: %s", alone, times, p.claimantOf(change.Object), apart)
	default:
		return fmt.Sprintf("%sit was deleted %s, and each time %s created it again: %s", alone, times, rival, apart)
	}
}

// apart is the way out for two who take the same children for their own.
const apart = "two definitions that select the same parents need different kinds of children; " +
	"of others the API server's audit log tells who they are"

// somebody is who nothing is known of.
const somebody = "somebody else"

// claimantOf names the other definitions of this process that take a child of the
// parent for their own.
func (p *pass) claimantOf(child *unstructured.Unstructured) string {
	names := p.env.Registry.claimants(p.Reconciler, p.observed.Parent, child)
	if len(names) == 0 {
		return somebody
	}
	return strings.Join(names, " or ")
}

// otherWriter names who else has written the child: who created it, of one that is
// deleted again and again, or else the newest entry of its managedFields that is not this
// host's. They are not cached, so that this takes a request.
func (p *pass) otherWriter(ctx context.Context, change apply.Change) string {
	claimant := p.claimantOf(change.Observed)
	if change.Action == apply.ActionDelete && claimant != somebody {
		return claimant
	}
	live, err := p.env.Client.Resource(change.Resource).Namespace(change.Key.Namespace).Get(ctx, change.Key.Name, metav1.GetOptions{})
	if err != nil {
		return claimant
	}
	manager := newestManager(live, p.config.Managers.Own)
	if manager == "" && change.Action == apply.ActionDelete && len(live.GetManagedFields()) > 0 {
		return fmt.Sprintf("another host that writes as %q", ownManager)
	}
	return cmp.Or(manager, claimant)
}

// newestManager names who wrote last, but for this host and the definition's own manager,
// or nobody.
func newestManager(object *unstructured.Unstructured, own string) string {
	name, newest := "", time.Time{}
	for _, entry := range object.GetManagedFields() {
		if entry.Manager != ownManager && entry.Manager != own && entry.Time != nil && entry.Time.After(newest) {
			name, newest = entry.Manager, entry.Time.Time
		}
	}
	return name
}
