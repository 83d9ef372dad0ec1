package definition

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts"
)

// Previewer computes what a revision that loads would do, before it takes over, and writes nothing. It may be called for several
// definitions at once.
type Previewer interface {
	// Preview returns soon after ctx ends.
	Preview(ctx context.Context, subject PreviewSubject) scripts.Preview
	// HasFailingParent reports whether a parent of the sample fails with the scripts. It returns false if that is unknown.
	HasFailingParent(ctx context.Context, subject PreviewSubject) bool
}

// PreviewSubject is what a preview is about.
type PreviewSubject struct {
	// Plan is to take over, with Scripts, and Serving and ServingScripts are what goes on if it doesn't. Webhooks that have no side effects
	// are among the scripts.
	Plan, Serving           *plan.Plan
	Scripts, ServingScripts map[string]engines.Program
	// Parents returns the parents of Plan as they are.
	Parents func() *samples.Sampler
	// NoBaseline is set if Serving is nil because what served before can't be had: nobody can say whether parents that fail did so before, so
	// that these are reported and hold nothing.
	NoBaseline bool
	// Resources are those of objects that the hooks of Serving ask for, if it is not Plan.
	Resources []discovery.Resource
	// Limits are those of the definition for all parents. Nil means the rule for a sample.
	Limits *v1alpha1.ScriptPreview
	// Gone are children that count with what Scripts delete.
	Gone rollout.Gone
	// TrustDomain names who wrote the scripts, or the definition if its hooks are webhooks: those of one domain take turns.
	TrustDomain string
	// Revision and ServingRevision are the IDs of these, and ProgramsOf returns others, by which children were made.
	Revision, ServingRevision scripts.RevisionID
	ProgramsOf                hooks.ProgramsFunc
}

// previewSync is how long a preview waits for the caches of resources that the earlier spec does not have.
const previewSync = 5 * time.Second

// previewFor returns the preview of the scripts of an instance that does not exist yet: self is set to it. It is nil if this host previews
// nothing. before is what a previous process has left.
func (r *Reconciler) previewFor(s *runtimeState, self *atomic.Pointer[instance], before hooks.Predecessor) scripts.PreviewFunc {
	if r.config.Previewer == nil {
		return nil
	}
	return func(ctx context.Context, revision *scripts.Revision) scripts.Preview {
		own, serving := self.Load(), s.serving.Load()
		if own == nil || serving == nil && own.hooks.Tree.Current() != nil {
			return scripts.Preview{Later: true} // What served last is about to run.
		}
		if serving == nil {
			return r.previewAlone(ctx, own, before, revision, s.limits.edits.Load())
		}
		return r.previewOf(ctx, own, serving, revision, s.limits.edits.Load(), revision.TrustDomain())
	}
}

// previewOf previews what is to take over with a revision of the scripts of own, from serving. Both revision and serving may be nil.
func (r *Reconciler) previewOf(
	ctx context.Context, own, serving *instance, revision *scripts.Revision, limits *v1alpha1.ScriptPreview, trustDomain string,
) scripts.Preview {
	switch {
	case serving == nil:
		return scripts.Preview{} // Nothing has served.
	case serving.readError() != nil && !serving.synced.Load():
		return scripts.Preview{Summary: "it was not previewed: " + serving.readError().Error()}
	case !serving.synced.Load():
		return scripts.Preview{Later: true}
	}
	if own != serving && !own.waitForSync(ctx) {
		return scripts.Preview{Summary: "it was not previewed: not all of its resources can be read"}
	}
	subject := PreviewSubject{
		Plan: own.plan, Scripts: own.hooks.Previewable(own.plan, revision), Serving: serving.plan,
		Limits: limits, TrustDomain: trustDomain,
	}
	var serves *scripts.Revision
	if tree := serving.hooks.Tree; tree != nil && tree.Current() != nil {
		serves = serving.hooks.ServingRevision()
		subject.ServingRevision = serves.ID
	}
	subject.ServingScripts = serving.hooks.Previewable(serving.plan, serves)
	if revision != nil {
		subject.Revision, subject.ProgramsOf = revision.ID, own.hooks.ScriptsBeside(revision, serves)
	}
	subject.Gone = own.guard.Gone(own.guard.edit(string(subject.Revision)))
	if own != serving {
		subject.Resources = serving.reconciler.RelatedResources()
	}
	p, read := r.preview(ctx, own, subject)
	p.Compared = read
	return p
}

// previewAlone previews a revision of the scripts of own while nothing serves: what has served before can't be had, or there was nothing.
func (r *Reconciler) previewAlone(
	ctx context.Context, own *instance, before hooks.Predecessor, revision *scripts.Revision, limits *v1alpha1.ScriptPreview,
) scripts.Preview {
	for !own.waitForSync(ctx) {
		err := own.readError()
		passes := err == nil || before.Served != "" && !apierrors.IsForbidden(err)
		if ctx.Err() != nil || !passes { // No parent is synced before, anyhow.
			return scripts.Preview{Summary: fmt.Sprintf("it was not previewed: %v", err)}
		}
	}
	p, _ := r.preview(ctx, own, PreviewSubject{
		Plan: own.plan, Scripts: own.hooks.Previewable(own.plan, revision), NoBaseline: true, Limits: limits,
		TrustDomain: revision.TrustDomain(), Revision: revision.ID, ProgramsOf: own.hooks.ScriptsBeside(revision),
	})
	return p
}

// preview previews what has the parents of an instance, in all shards: their objects are in memory meanwhile. It reports whether they
// could be read; if not, the edit is held for that.
func (r *Reconciler) preview(ctx context.Context, i *instance, subject PreviewSubject) (p scripts.Preview, read bool) {
	subject.Parents = i.reconciler.Sampler
	if r.isShared(i.plan.Key()) {
		all, err := i.reconciler.OfAllShards()
		if err == nil {
			defer all.Close()
			err = waitForShards(ctx, all)
		}
		if err != nil {
			return scripts.Preview{Held: "it is not known what it would do: " + err.Error(), RepeatAfter: scripts.PreviewInterval}, false
		}
		subject.Parents = func() *samples.Sampler { return all.SamplerWith(i.reconciler) }
	}
	return r.config.Previewer.Preview(ctx, subject), true
}

// waitForSync waits for a moment until all caches are synced.
func (i *instance) waitForSync(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, previewSync)
	defer cancel()
	return i.reconciler.WaitForSync(ctx)
}

// updatePreviewInputs tells the scripts of the instances what previews depend on besides the text, and which revisions are approved.
func (r *Reconciler) updatePreviewInputs(object *unstructured.Unstructured, s *runtimeState) {
	if r.config.Previewer == nil {
		return
	}
	approvals := scripts.Approvals{
		Named: []string{object.GetAnnotations()[v1alpha1.ApprovedRevisionAnnotation]}, OfConfigMaps: s.rollout.CountsConfigMaps(),
	}
	for _, status := range []*v1alpha1.DefinitionStatus{s.status, new(v1alpha1.StoredStatus(object))} {
		if status != nil && status.ScriptRollout != nil && status.ScriptRollout.ApprovedRevision != "" {
			approvals.Named = append(approvals.Named, status.ScriptRollout.ApprovedRevision)
		}
	}
	version := "nothing serves"
	if s.running != nil {
		version = fmt.Sprintf("generation %d, synced %t, unreadable %t",
			s.running.plan.Generation, s.running.synced.Load(), s.running.readError() != nil)
	}
	version += ", limits " + limitsText(s.limits.edits.Load())
	for _, i := range s.all() {
		switch {
		case i.hooks.Tree != nil:
			i.hooks.Tree.SetPreviewInputs(r.previewVersion(i, version), approvals)
		case i.hooks.WebhookPreview != nil:
			i.hooks.WebhookPreview.SetInputs(r.previewVersion(i, version), approvals.Named...)
		}
	}
}

// limitsText returns a text that is another one for other limits.
func limitsText(limits *v1alpha1.ScriptPreview) string {
	if limits == nil {
		return "none"
	}
	return fmt.Sprint(limits.MaxDeletedChildren, limits.MaxRecreatedChildren, limits.MaxFailingParents)
}

// heldMessage returns why the newest edit does not take over although its scripts load, with what serves and the way out, or "". id is what
// approves it.
func heldMessage(s *runtimeState, state scripts.State, id, serving scripts.RevisionID) string {
	if state.Held == "" {
		return ""
	}
	serves := rollout.StillServingText(serving)
	if serving == "" && s.running != nil { // Its hooks are webhooks.
		serves = fmt.Sprintf("generation %d of the spec goes on serving", s.running.plan.Generation)
	}
	generation := int64(0)
	if id != state.Desired && s.running != nil { // The spec is edited.
		generation = s.latest().plan.Generation
		serves = fmt.Sprintf("generation %d goes on serving", s.running.plan.Generation)
	}
	return fmt.Sprintf("%s\n%s; %s", scripts.HeldText(state.Desired, generation, state.Held), serves, remedyOf(s, state, id.Short()))
}

// progressingCondition reports whether an edit is held. There is no such condition before the first one was, unless there are limits.
func progressingCondition(s *runtimeState, v statusView) (c metav1.Condition, known bool) {
	c = metav1.Condition{Type: v1alpha1.ConditionProgressing}
	stored := meta.FindStatusCondition(v1alpha1.StoredStatus(s.object).Conditions, c.Type)
	switch {
	case v.hold.why != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, rollout.ReasonHeld, v.hold.why
		return c, true
	case stored == nil && s.limits.edits.Load() == nil && (s.status == nil || meta.FindStatusCondition(s.status.Conditions, c.Type) == nil):
		return c, false
	case v.newest.noScripts:
		c.Message = "no hook is a script"
	case v.newest.state.Previewing != "" && v.newest.id != rollout.HeldRevision(v1alpha1.StoredStatus(s.object)):
		c.Status, c.Reason = metav1.ConditionTrue, "Previewing"
		c.Message = "revision " + v.newest.state.Previewing.Short() + " is previewed before it takes over"
		return c, true
	case v.newest.state.Previewing != "" || v.newest.state.Undecided() || v.newest.state.Loaded == "" || len(v.newest.state.Problems) > 0:
		return c, false // It stays as it is.
	default:
		c.Message = "no edit of the scripts is held: revision " + v.newest.state.Loaded.Short() + " serves"
	}
	c.Status, c.Reason = metav1.ConditionTrue, rollout.ReasonServing
	return c, true
}

// scriptRolloutStatus returns which edit is held, which was let through by name, and which spec serves if that is not the newest one.
func scriptRolloutStatus(before *v1alpha1.ScriptRolloutStatus, v statusView) *v1alpha1.ScriptRolloutStatus {
	state := v.newest.state
	next := v1alpha1.ScriptRolloutStatus{}
	if before != nil {
		next = *before
	}
	if !v.running.idle { // Otherwise the spec that is stored is about to run.
		next.StableSpec = v.stableSpec
	}
	if state.Approved != "" {
		next.ApprovedRevision = string(state.Approved)
	}
	switch {
	case v.hold.guard != "":
		next.HeldRevision = v.hold.guard
	case state.Held != "":
		next.HeldRevision = string(v.newest.id)
	case v.newest.noScripts, state.Previewing == "" && !state.Undecided() && state.Loaded != "" && len(state.Problems) == 0:
		next.HeldRevision = ""
	case !state.Undecided() && len(state.Problems) > 0 && v.newest.id != "" && string(v.newest.id) != next.HeldRevision:
		next.HeldRevision = "" // The sources hold another text by now.
	}
	if equality.Semantic.DeepEqual(next, v1alpha1.ScriptRolloutStatus{}) {
		return nil
	}
	return &next
}

// previewVersion returns the version of what previews of an instance depend on. What a server answers may change at any time.
func (r *Reconciler) previewVersion(i *instance, serving string) string {
	if !i.plan.Config.Account.IsHost() {
		serving = fmt.Sprintf("%s, rights %d", serving, r.rightsChanges.Load())
	}
	if !i.plan.CallsWebhooks() {
		return serving
	}
	now := r.config.Environment.Clock.Now().Truncate(scripts.PreviewInterval)
	return fmt.Sprintf("%s, credentials %t, at %s", serving, i.hooks.CredentialsReady(), now)
}

// previewWebhooks is what the preview of an instance's webhooks comes to.
func (r *Reconciler) previewWebhooks(ctx context.Context, s *runtimeState, own *instance) scripts.Preview {
	switch serving := s.serving.Load(); {
	case !own.hooks.CredentialsReady():
		return scripts.Preview{Later: true}
	case serving == nil && own.hooks.WebhookPreview.HeldBefore && !own.waitForSync(ctx):
		return scripts.Preview{Held: "it was held when the host was restarted, and not all of its resources can be read"}
	case serving == nil && own.hooks.WebhookPreview.HeldBefore: // The host keeps no earlier spec to compare it with.
		p, _ := r.preview(ctx, own, PreviewSubject{
			Plan: own.plan, Scripts: own.hooks.Previewable(own.plan, nil), Limits: s.limits.edits.Load(), TrustDomain: own.plan.Config.Definition,
		})
		return p
	default:
		return r.previewOf(ctx, own, serving, nil, s.limits.edits.Load(), own.plan.Config.Definition)
	}
}

// remedyOf returns what to do about hooks that are held.
func remedyOf(s *runtimeState, state scripts.State, id string) string {
	newest, again, others := s.latest(), "", ""
	if state.RepeatAfter > 0 || newest != nil && newest.plan.CallsWebhooks() { // The time itself would make each preview another message.
		again = fmt.Sprintf("it is previewed again, at most every %s; ", scripts.PreviewInterval)
	}
	if newest != nil && newest.hooks.Tree == nil {
		return again + "correct the server or the definition, or let it through: " + rollout.ApproveCommands(s.object, id, "")
	}
	if s.rollout.CountsConfigMaps() {
		others = " or a ConfigMap of its scripts"
	}
	return again + "correct the scripts, or let it through: " + rollout.ApproveCommands(s.object, id, others)
}
