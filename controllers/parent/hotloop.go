package parent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// filterChanges drops no-ops and changes in backoff. It records the shortest remaining backoff.
func (p *pass) filterChanges(ctx context.Context, changes []apply.Change) []apply.Change {
	return slices.DeleteFunc(changes, func(change apply.Change) bool {
		if p.history.IsNoop(change) {
			return true
		}
		if err := p.history.Conflict(change); err != nil {
			p.writes.unapplied = append(p.writes.unapplied, err)
			return true
		}
		backoff := p.backoff(change)
		p.due.backoff = variant.Earlier(p.due.backoff, backoff)
		if backoff == 0 && change.Observed != nil && p.detector.IsNear(p.subjectOf(change)) {
			// The write replaces the traces of the other writer.
			p.loop.others[change.Key] = p.otherWriter(ctx, change)
		}
		return backoff > 0
	})
}

func isRewrite(change apply.Change) bool {
	return change.Action == apply.ActionUpdate || change.Action == apply.ActionRecreate
}

// subjectOf returns the subject of a change for the fight detector.
func (p *pass) subjectOf(change apply.Change) loops.Subject {
	s := loops.Subject{Parent: p.parent.GetUID(), Child: change.Key, Field: loops.Existence}
	if isRewrite(change) {
		s.Field = loops.AnyField
	}
	return s
}

// backoff returns the remaining backoff of a change, or zero.
func (p *pass) backoff(change apply.Change) time.Duration {
	s := p.subjectOf(change)
	switch {
	case isRewrite(change):
		return p.detector.RewriteBackoff(s, p.fightInputs)
	case p.isTerminating(), change.Action == apply.ActionCreate && p.detector.IsRecreating(s):
		return 0
	}
	return max(p.detector.Backoff(s, p.fightInputs), p.detector.Backoff(s.Kind(), p.fightInputs))
}

// isTerminating reports whether the parent is being finalized or deleted, which no backoff may
// delay.
func (p *pass) isTerminating() bool { return p.observed.Finalizing || p.observed.Deleting() }

// noteOwnWrite records a write of this process, which distinguishes it from those of others.
func (p *pass) noteOwnWrite(result apply.Result) {
	change := result.Change
	s := loops.Subject{Parent: p.parent.GetUID(), Child: change.Key}
	var from, to uint64
	if change.Observed != nil {
		from = p.passCache.VersionOf(change.Observed)
	}
	if result.Object != nil {
		to = p.passCache.VersionOf(result.Object)
	}
	p.detector.NoteOwn(s, from, to)
}

// detectHotLoop reports children that are written again and again. It ignores
// ControllerRevisions.
func (p *pass) detectHotLoop(change apply.Change) {
	if p.isRevision(change) {
		return
	}
	if loop := p.detectFight(change); loop != nil {
		p.reportLoop(loop, loop.Child.String(), func() string { return p.claimingDefinitions(change.Object) })
	}
}

// reportLoop reports a hot loop, by an event and in the definition's status.
func (p *pass) reportLoop(loop *loops.Loop, object string, claimedBy func() string) {
	p.env.Metrics.CountHotLoop(p.config.Definition)
	what, cause := p.describeLoop(loop, object, claimedBy)
	message := fmt.Sprintf("%s for %s: %s", what, loop.Backoff, cause)
	verbosity.Warn(p.env.Log, "hot loop", "definition", p.config.Definition, "parent", p.key.String(), "message", message)
	p.warnOnce(variant.ReasonHotLoop, message)
	p.detector.NoteReported(loop, fmt.Sprintf("%s: %s", p.key, what))
	p.config.Changed()
}

// detectFight notifies the detector of a write. It returns the loop to report, or nil.
func (p *pass) detectFight(change apply.Change) (loop *loops.Loop) {
	s := p.subjectOf(change)
	switch {
	case isRewrite(change):
		loop = p.detectRewrite(s, change.Marks(), change.Diffs)
		if s.Field = loops.Existence; change.Action == apply.ActionRecreate {
			p.detector.NoteDelete(s, true, p.fightInputs)
		}
		return loop
	case p.isTerminating():
		return nil
	case change.Action == apply.ActionCreate, change.Action == apply.ActionAdopt && claims.IsOrphanOf(change.Observed, p.parent):
		return p.detector.NoteCreate(s, p.fightInputs)
	case change.Action == apply.ActionDelete, change.Action == apply.ActionOrphan:
		return p.detector.NoteDelete(s, false, p.fightInputs)
	}
	return nil
}

// detectRewrite notifies the detector of a write of something that was there. It returns the loop to report, or nil.
func (p *pass) detectRewrite(s loops.Subject, marks []fielddiff.Mark, diffs func() []fielddiff.Diff) (loop *loops.Loop) {
	for i, mark := range marks {
		found := p.detector.NoteUpdate(s, mark, p.fightInputs)
		if found != nil && loop == nil {
			loop = found
			loop.Diff = diffs()[i]
		}
	}
	if found := p.detector.NoteRewrite(s, p.fightInputs); found != nil && loop == nil {
		if loop = found; len(marks) > 0 {
			loop.Diff = diffs()[0]
		}
	}
	return loop
}

// noteNoHotLoop notes that the pass held back no write of the parent's objects.
func (p *pass) noteNoHotLoop() {
	if p.detector.NoteNoLoop(p.parent.GetUID(), func() uint64 { return p.commonInputs().Edit() }) {
		p.config.Changed()
	}
}

// partBacksOff reports whether a part of the parent must not be written now.
func (p *pass) partBacksOff(ctx context.Context, part string) bool {
	s := p.parentSubject(part)
	backoff := p.detector.RewriteBackoff(s, p.fightInputs)
	p.due.backoff = variant.Earlier(p.due.backoff, backoff)
	if backoff == 0 && p.detector.IsNear(s) {
		p.loop.others[s.Child] = p.otherWriterOf(ctx, part)
	}
	return backoff > 0
}

// notePart notifies the detector of a write of a part of the parent, which was before, and reports a hot loop.
func (p *pass) notePart(part string, before *unstructured.Unstructured) {
	s := p.parentSubject(part)
	p.detector.NoteOwn(s, p.hashPart(before, part), p.hashPart(p.parent, part))
	from, to := partOf(before, part), partOf(p.parent, part)
	diffs := func() []fielddiff.Diff { return fielddiff.Describe(nil, from, to) }
	if loop := p.detectRewrite(s, fielddiff.Marks(from, to), diffs); loop != nil {
		loop.Path = strings.TrimPrefix(loop.Path, "parent.")
		object := map[string]string{
			loops.ParentStatus: "the status of ", loops.ParentMetadata: "what is set in the labels and annotations of ",
		}[part]
		p.reportLoop(loop, object+s.Child.String(), nil)
	}
}

// parentSubject returns the subject of a part of the parent.
func (p *pass) parentSubject(part string) loops.Subject {
	return loops.Subject{Parent: p.parent.GetUID(), Child: apply.KeyOf(p.parent), Field: part}
}

// partOf returns a part of a parent in an object of its own, as comparisons of objects leave out the status.
func partOf(parent *unstructured.Unstructured, part string) *unstructured.Unstructured {
	fields, _ := parent.Object["metadata"].(map[string]any)
	content := map[string]any{"metadata": map[string]any{"labels": fields["labels"], "annotations": fields["annotations"]}}
	if part == loops.ParentStatus {
		content = map[string]any{"status": parent.Object["status"]}
	}
	return &unstructured.Unstructured{Object: map[string]any{"parent": content}}
}

// describeLoop returns what is not written and why, and how that came to be known, with the remedy. The former is the same each time.
func (p *pass) describeLoop(loop *loops.Loop, object string, claimedBy func() string) (what, cause string) {
	times := fmt.Sprintf("%d times within %s", loops.FightThreshold, loops.FightWindow)
	rival := cmp.Or(p.loop.others[loop.Child], unknownWriter)
	field := "its field " + fielddiff.PublicPath(loop.Child.Kind, loop.Path)
	what = object + " is left alone"
	masker := p.masker()
	switch {
	case loop.Feedback:
		return what, fmt.Sprintf("it was written %d times, each time soon after the last, although nothing had changed but what was just written; "+
			"%s was set to %s the last time: let the answer depend on what the hook is given, not on the time, on chance or on what the answer itself changes",
			loops.FreeRewrites+loops.FightThreshold, field, masker.Mask(loop.To))
	case loop.Field != loops.Existence:
		return what, fmt.Sprintf("%s was set to %s %s, and each time %s set it back, the last time to %s%s",
			field, masker.Mask(loop.To), times, rival, masker.Mask(loop.From), remedyFor(loop.Field))
	case loop.Child.Name == "":
		names := loop.From + " and then " + loop.To
		if loop.From == loop.To {
			names = loop.To
		}
		return fmt.Sprintf("no %s is created or deleted", loop.Child.Kind.Kind), fmt.Sprintf(
			"%s one sync deleted what the one before had created, though nothing but children had changed, such as %s: "+
				"let names depend on what the hook is given, not on the time or on chance", times, names)
	case loop.Created:
		return what, fmt.Sprintf("it was created %s, and each time %s deleted it: %s", times, claimedBy(), otherWriters)
	default:
		return what, fmt.Sprintf("it was deleted %s, and each time %s created it again: %s", times, rival, otherWriters)
	}
}

// remedyFor returns what to do about two writers of a field, as the end of a sentence.
func remedyFor(field string) string {
	switch field {
	case loops.ParentStatus:
		return ": let only one of them return that field, and the others no status"
	case loops.ParentMetadata:
		return ": let only one of them set it"
	default:
		return ""
	}
}

// separateKinds is the remedy for two definitions that claim the same children.
const separateKinds = "two definitions that select the same parents need different kinds of children"

// otherWriters is the remedy for two writers, of whom one may be unknown.
const otherWriters = separateKinds + "; of others the API server's audit log tells who they are"

// unknownWriter names an unknown other writer.
const unknownWriter = "somebody else"

// claimingDefinitions returns the names of the other definitions of this process that claim a child of
// the parent, or unknownWriter.
func (p *pass) claimingDefinitions(child *unstructured.Unstructured) string {
	names := p.env.Registry.DefinitionsClaiming(p.config.Definition, p.observed.Parent, child)
	if len(names) == 0 {
		return unknownWriter
	}
	return strings.Join(names, " or ")
}

// otherWriter returns the name of the other writer of a child: the creator of one that is
// deleted again and again, otherwise the newest entry of managedFields that is not of this
// program. It sends a request, as managedFields are not cached.
func (p *pass) otherWriter(ctx context.Context, change apply.Change) string {
	claiming := p.claimingDefinitions(change.Observed)
	if change.Action == apply.ActionDelete && claiming != unknownWriter {
		return claiming
	}
	live, err := p.get(ctx, change.Resource, change.Key.Namespace, change.Key.Name)
	if err != nil {
		return claiming
	}
	manager := newestManager(live, p.config.Managers.Own)
	if manager == "" && change.Action == apply.ActionDelete && len(live.GetManagedFields()) > 0 {
		return fmt.Sprintf("another host that writes as %q", ownManager)
	}
	return cmp.Or(manager, claiming)
}

// otherWriterOf returns the name of the other writer of a part of the parent: the field manager that wrote it last or, if that is this
// program, the other definitions that write it. It sends a request, as managedFields are not cached.
func (p *pass) otherWriterOf(ctx context.Context, part string) string {
	others := strings.Join(p.env.Registry.DefinitionsWriting(p.config.Definition, p.observed.Parent, part), " or ")
	live, err := p.get(ctx, p.source.GroupVersionResource, p.parent.GetNamespace(), p.parent.GetName())
	if err != nil {
		return cmp.Or(others, unknownWriter)
	}
	managed := slices.DeleteFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		fields := &map[string]any{}
		return entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), fields) != nil || !writesPart(*fields, part)
	})
	live.SetManagedFields(managed)
	own := slices.IndexFunc(managed, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == ownManager })
	manager := newestManager(live, p.config.Managers.Own)
	other := slices.IndexFunc(managed, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == manager })
	if own >= 0 && other >= 0 &&
		(managed[other].Time.Before(managed[own].Time) || others != "" && managed[other].Time.Equal(managed[own].Time)) {
		manager = "" // It wrote before. Times are whole seconds, in which a definition writes more often than anybody else.
	}
	if manager == "" && others == "" && own >= 0 {
		return fmt.Sprintf("another host that writes as %q", ownManager)
	}
	return cmp.Or(manager, others, unknownWriter)
}

// writesPart reports whether the fields of a manager have some of a part of a parent.
func writesPart(fields map[string]any, part string) bool {
	if part == loops.ParentStatus {
		return fields["f:status"] != nil
	}
	metadata, _ := fields["f:metadata"].(map[string]any)
	return metadata["f:labels"] != nil || metadata["f:annotations"] != nil
}

// HotLoops returns what the hot loops are that go on, sorted.
func (r *Reconciler) HotLoops() []string { return r.detector.InForce() }

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
