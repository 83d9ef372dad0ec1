package definition

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// previewAgain is the time between two previews of webhooks that are held: a server may come up, or be mended, without an edit.
const previewAgain = 30 * time.Second

// webhookPreview previews the webhooks of a definition without scripts before they take over. What scripts.Tree does for scripts, it does
// for servers: their State has what is held, under an ID that approves it. It may be nil: then the webhooks take over at once.
type webhookPreview struct {
	// id is that of the edit that the plan is. What the servers do is no part of it.
	id         scripts.RevisionID
	heldBefore bool
	preview    func(context.Context) scripts.Preview
	changed    func()
	wake       chan struct{}
	cancel     context.CancelFunc

	mu        sync.Mutex
	version   string
	approvals []string
	state     scripts.State
	passed    bool
}

// newWebhookPreview returns the preview of a plan without scripts, or nil if it has no server that may be called.
func (r *Reconciler) newWebhookPreview(p *plan.Plan, before former, changed func()) (*webhookPreview, error) {
	if r.config.Previewer == nil || !p.CallsWebhooks() || before.inSteps {
		return nil, nil
	}
	edit, err := p.Edit("")
	if err != nil {
		return nil, err
	}
	id := scripts.RevisionID(edit.Name())
	return &webhookPreview{id: id, heldBefore: id == before.held, changed: changed, wake: make(chan struct{}, 1), cancel: func() {}}, nil
}

// previewVersion returns the version of what previews of an instance depend on. What a server answers may change at any time, and what could
// not be told may be known then.
func (r *Reconciler) previewVersion(i *instance, serving string) string {
	if !i.plan.CallsWebhooks() && (i.hooks.tree == nil || !i.hooks.tree.State().Untold) {
		return serving
	}
	now := r.config.Environment.Clock.Now().Truncate(previewAgain)
	return fmt.Sprintf("%s, credentials %t, at %s", serving, i.hooks.credentialsReady(), now)
}

// start begins to preview once it has inputs, until close.
func (w *webhookPreview) start(preview func(context.Context) scripts.Preview) {
	if w == nil {
		return
	}
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	w.preview = preview
	go w.run(ctx)
}

// run previews the webhooks whenever the inputs have changed, until they may take over.
func (w *webhookPreview) run(ctx context.Context) {
	for {
		select {
		case <-w.wake:
			if w.attempt(ctx) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// attempt makes one preview, unless the webhooks are approved, and reports whether the webhooks may take over.
func (w *webhookPreview) attempt(ctx context.Context) bool {
	p := scripts.Preview{Approved: w.id, Summary: scripts.ApprovedSummary}
	if !w.isApproved() {
		p = w.preview(ctx)
	}
	if ctx.Err() != nil {
		return false
	}
	state := scripts.State{Desired: w.id, Held: p.Held, Untold: p.Untold, Previewed: p.Summary, Approved: p.Approved}
	if p.Later {
		state.Previewing = w.id
	}
	passed := !p.Later && p.Held == ""
	w.mu.Lock()
	same := w.state.Equal(state) && w.passed == passed
	w.state, w.passed = state, passed
	w.mu.Unlock()
	if !same {
		w.changed()
	}
	return passed
}

// isApproved reports whether the definition or its status names the webhooks.
func (w *webhookPreview) isApproved() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.approvals, w.id.IsApprovedBy)
}

// SetInputs is scripts.Tree.SetPreviewInputs.
func (w *webhookPreview) SetInputs(version string, approvals ...string) {
	w.mu.Lock()
	changed := w.version != version || !slices.Equal(w.approvals, approvals)
	w.version, w.approvals = version, approvals
	w.mu.Unlock()
	if !changed {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// State returns how far the preview has come.
func (w *webhookPreview) State() scripts.State {
	if w == nil {
		return scripts.State{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// isPassed reports whether the webhooks may take over.
func (w *webhookPreview) isPassed() bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passed
}

func (w *webhookPreview) close() {
	if w != nil {
		w.cancel()
	}
}

// previewWebhooks is what the preview of an instance's webhooks comes to.
func (r *Reconciler) previewWebhooks(ctx context.Context, s *runtimeState, own *instance) scripts.Preview {
	switch serving := s.serving.Load(); {
	case !own.hooks.credentialsReady():
		return scripts.Preview{Later: true}
	case serving == nil && own.hooks.webhookPreview.heldBefore && !own.waitForSync(ctx):
		return scripts.Preview{Held: "it was held when the host was restarted, and not all of its resources can be read"}
	case serving == nil && own.hooks.webhookPreview.heldBefore: // The host keeps no earlier spec to compare it with.
		return r.config.Previewer.Preview(ctx, PreviewSubject{
			Plan: own.plan, Scripts: own.hooks.previewable(own.plan, nil), Parents: own.reconciler.Sampler,
			Limits: s.limits.Load(), TrustDomain: own.plan.Config.Definition,
		})
	default:
		return r.previewOf(ctx, own, serving, nil, s.limits.Load(), own.plan.Config.Definition)
	}
}

// previewable returns the programs that a preview may call: scripts that serve, and webhooks that have no side effects.
func (h *hooks) previewable(plan *plan.Plan, revision *scripts.Revision) map[string]engines.Program {
	all := map[string]engines.Program{}
	if revision != nil {
		maps.Copy(all, revision.Programs)
	}
	for _, named := range plan.Hooks {
		name := string(named.Name)
		if named.Hook.Serving() == v1alpha1.WebhookBackend {
			delete(all, name)
		}
		if named.Hook.IsPreviewable() {
			all[name] = h.webhooks[name]
		}
	}
	return all
}

// remedyOf returns what to do about hooks that are held.
func remedyOf(s *runtimeState, id string) string {
	newest := s.latest()
	if newest != nil && newest.hooks.tree == nil {
		return fmt.Sprintf("it is previewed again every %s; correct the server or the definition, or let it through: %s",
			previewAgain, rollout.ApproveCommands(s.object, id, ""))
	}
	others := ""
	if s.rollout.CountsConfigMaps() {
		others = " or a ConfigMap of its scripts"
	}
	return "correct the scripts, or let it through: " + rollout.ApproveCommands(s.object, id, others)
}
