package scripts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

// PreviewInterval is the least time between two previews of an edit that is held for what may pass.
const PreviewInterval = 30 * time.Second

// maxPreviewShare bounds the share of the time that these previews take: one in so many parts.
const maxPreviewShare = 10

// RepeatAfter returns when to preview again what took a time to preview. It is one of few values, so that it seldom changes.
func RepeatAfter(took time.Duration) time.Duration {
	after := PreviewInterval
	for after < maxPreviewShare*took {
		after *= 2
	}
	return after
}

// Preview is what a preview of a revision came to.
type Preview struct {
	// Later is set if there can't be a preview yet. The preview inputs change when there can.
	Later bool
	// Held is why the revision does not take over, or empty.
	Held string
	// RepeatAfter is when the revision is previewed again, as Held contains something that may pass without an edit, or zero.
	RepeatAfter time.Duration
	// Destroys is set if it would delete or recreate a child, though not enough to be held.
	Destroys bool
	// Approved is what an approval names by which the revision takes over without a preview, or empty.
	Approved RevisionID
	// Summary is what was previewed, and what is unknown, or empty.
	Summary string
	// Unknown is how many parents could not be previewed.
	Unknown int
	// NoBaseline is set if there was nothing to compare the revision with, although parents have children: another one has served.
	NoBaseline bool
	// Compared is set if it was compared with what serves for another spec.
	Compared bool
	// NoBaselineReason is why there was nothing to compare it with, or empty. The tree sets it.
	NoBaselineReason string
}

// HeldText returns what is said of a revision that is held. If it serves already, generation is that of the spec that is edited instead.
// Otherwise it is zero.
func HeldText(id RevisionID, generation int64, why string) string {
	if generation > 0 {
		return fmt.Sprintf("generation %d of the spec, with revision %s of the scripts, is held: %s", generation, id.Short(), why)
	}
	return "revision " + id.Short() + " is held: " + why
}

// PinHeldText returns what is said of a revision that is pinned, and held.
func PinHeldText(id RevisionID, why string) string {
	return "revision " + id.Short() + ", which spec.scriptRollout.revision pins, is held: " + why
}

// PinnedText returns what is said of a revision that is pinned, and serves.
func PinnedText(id RevisionID) string {
	return "revision " + id.Short() + " serves all parents, as spec.scriptRollout.revision pins it"
}

// ServesText returns what is said of a revision that has taken over. Some of the notes may be empty.
func ServesText(id RevisionID, notes ...string) string {
	text := "revision " + id.Short() + " serves"
	for _, note := range notes {
		if note != "" {
			text += ": " + note
		}
	}
	return text
}

// Summaries of edits that are let through without a preview.
const (
	ApprovedSummary = "approved by name"
	NoLimitSummary  = "it was not previewed: spec.scriptRollout.preview has no limit"
)

// PreviewFunc computes what a revision that loads would do, before it takes over from the one that serves. It returns soon after ctx
// ends.
type PreviewFunc func(ctx context.Context, r *Revision) Preview

// pendingPreview is what keeps revisions that load from taking over. Only run uses it.
type pendingPreview struct {
	// candidate is the last revision that was previewed and did not take over, or nil, and last what its preview came to.
	candidate *Revision
	last      Preview
	// dueAt is when it is previewed again, or zero.
	dueAt time.Time
}

// isDue reports whether it is time for another preview.
func (p *pendingPreview) isDue() bool { return !p.dueAt.IsZero() && !time.Now().Before(p.dueAt) }

// previewInputs are what the preview of a tree depends on besides the text.
type previewInputs struct {
	version   string
	approvals Approvals
}

// SetPreviewInputs sets the version of what previews depend on besides the text, and which revisions need none. If a revision is held, it
// is looked at again when these change.
func (t *Tree) SetPreviewInputs(version string, approvals Approvals) {
	t.mu.Lock()
	changed := t.previews.inputs.version != version || !t.previews.inputs.approvals.equal(approvals)
	t.previews.inputs = previewInputs{version, approvals}
	if changed {
		t.previews.again.Store(true)
	}
	waiting := t.state.Held != "" || t.state.Previewing != ""
	t.mu.Unlock()
	if changed && waiting { // Otherwise publishHeld sees it.
		t.trigger()
	}
}

// EditID returns what an approval names that lets a revision take over. It is empty for none.
func (t *Tree) EditID(id RevisionID) RevisionID {
	if t.spec.EditID == nil || id == "" {
		return id
	}
	return t.spec.EditID(id)
}

// isApproved reports whether the definition, its status or a ConfigMap names an edit as approved.
func (t *Tree) isApproved(id RevisionID) bool {
	t.mu.Lock()
	approvals := t.previews.inputs.approvals
	t.mu.Unlock()
	if slices.ContainsFunc(approvals.Named, id.IsApprovedBy) {
		return true
	}
	for _, s := range t.sources {
		if approvals.OfConfigMaps && id.IsApprovedBy(s.object().Approval.Text) {
			return true
		}
	}
	return false
}

// preview tells whether a revision that loads takes over. It returns false if the sources have changed meanwhile.
func (t *Tree) preview(ctx context.Context, r *Revision) (p Preview, finished bool) {
	current := t.Current()
	if t.spec.Preview == nil || current.id() == r.ID || current == nil && r.ID.IsKnownAs(t.spec.Serving) {
		t.previews.pending = pendingPreview{}
		return Preview{}, true
	}
	if id := t.EditID(r.ID); t.isApproved(id) {
		t.previews.pending = pendingPreview{}
		t.library.Metrics.previewed(t.spec.Definition, previewApproved, 0)
		return Preview{Approved: id, Summary: ApprovedSummary}, true
	}
	again := t.previews.again.Swap(false) // Also while the archive is awaited: publishHeld would look again at once, for ever.
	if current == nil {
		if current = t.lastGood(ctx); current != nil {
			t.previews.pending = pendingPreview{} // There is something to compare it with now.
			t.publish(ctx, current, State{Desired: r.ID, Previewing: r.ID})
		} else if t.restored.isAwaited() {
			p = Preview{Later: true}
			t.previews.pending = pendingPreview{candidate: r, last: p}
			return p, true
		}
	}
	if pending := &t.previews.pending; pending.candidate == r && !pending.last.Later && !pending.isDue() && !again {
		return pending.last, true
	}
	began := time.Now()
	previewing, span := tracing.Start(ctx, tracing.Preview, trace.SpanKindInternal)
	p, finished = t.runPreview(previewing, r)
	span.SetAttributes(tracing.Outcome.String(p.result()))
	span.End()
	if finished && p.Held == "" && t.previews.again.Load() { // What it depends on has changed meanwhile.
		t.trigger()
		finished = false
	}
	if !finished {
		t.previews.pending = pendingPreview{candidate: r, last: Preview{Later: true}}
		return p, false
	}
	if current == nil && !p.Later && !p.Compared {
		p = t.withoutBaseline(r, p)
	}
	t.previews.pending = pendingPreview{}
	if p.Later || p.Held != "" {
		t.previews.pending = pendingPreview{candidate: r, last: p}
		if p.RepeatAfter > 0 {
			t.previews.pending.dueAt = time.Now().Add(p.RepeatAfter)
		}
	}
	if !p.Later {
		t.library.Metrics.previewed(t.spec.Definition, p.result(), time.Since(began))
	}
	return p, true
}

// withoutBaseline returns a preview that compared a revision with nothing, with the reason. What was held before goes on to be held.
func (t *Tree) withoutBaseline(r *Revision, p Preview) Preview {
	if p.Held == "" && t.EditID(r.ID) == t.spec.HeldBefore {
		p.Held = "it was held when the host was restarted"
	}
	if t.spec.Serving == "" && !p.NoBaseline && p.Held == "" {
		return p // It is the first one.
	}
	reason := "nothing tells which revision served before"
	if t.spec.Serving != "" {
		reason = fmt.Sprintf("revision %s served before, and can't be restored: %s", t.spec.Serving.Short(), t.restored.reason)
	}
	if p.Held != "" {
		p.Held += "; there was nothing to compare it with: " + reason
		return p
	}
	p.NoBaselineReason = reason
	return p
}

// publishHeld makes the last good revision serve on, or nothing, while another one is held or can't be previewed yet.
func (t *Tree) publishHeld(ctx context.Context, id RevisionID, p Preview) {
	state := State{Desired: id, Held: p.Held, RepeatAfter: p.RepeatAfter}
	if p.Later {
		state.Previewing = id
	}
	t.publish(ctx, t.lastGood(ctx), state)
	if t.previews.again.Load() {
		t.trigger()
	}
}

// previewingAfter is how long a preview runs before it is reported.
const previewingAfter = time.Second

// runPreview previews a revision until that ends, or the sources hold another text.
func (t *Tree) runPreview(ctx context.Context, r *Revision) (Preview, bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan Preview, 1)
	go func() { done <- previewRecovering(ctx, t.spec.Preview, r) }()
	slow := time.After(previewingAfter)
	for {
		select {
		case p := <-done:
			return p, ctx.Err() == nil
		case <-slow:
			state := t.State()
			state.Desired, state.Testing, state.Previewing, state.Held = r.ID, "", r.ID, ""
			t.publish(ctx, t.Current(), state)
		case <-t.wake:
			if t.previews.again.Load() || !t.holds(r.content) || t.isApproved(t.EditID(r.ID)) || t.isSuspended() {
				t.trigger()
				return Preview{}, false
			}
		case <-ctx.Done():
			return Preview{}, false
		}
	}
}

// previewRecovering holds a revision of which the preview panicked: that must not stop the host.
func previewRecovering(ctx context.Context, preview PreviewFunc, r *Revision) (p Preview) {
	defer func() {
		if cause := recover(); cause != nil {
			p = Preview{Held: fmt.Sprintf("its preview panicked: %v", cause)}
		}
	}()
	return preview(ctx, r)
}

// Results of previews, for the metric.
const (
	previewPassed   = "passed"
	previewHeld     = "held"
	previewUnknown  = "unknown"
	previewApproved = "approved"
)

func (p Preview) result() string {
	switch {
	case p.Held != "":
		return previewHeld
	case p.Unknown > 0:
		return previewUnknown
	default:
		return previewPassed
	}
}
