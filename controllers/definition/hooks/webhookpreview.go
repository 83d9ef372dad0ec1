package hooks

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// WebhookPreview previews the webhooks of a definition without scripts before they take over. What scripts.Tree does for scripts, it does
// for servers: their State has what is held, under an ID that approves it. It may be nil: then the webhooks take over at once.
type WebhookPreview struct {
	// id is that of the edit that the plan is. What the servers do is no part of it.
	id         scripts.RevisionID
	HeldBefore bool
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
func (c Config) newWebhookPreview(p *plan.Plan, before Predecessor, changed func()) (*WebhookPreview, error) {
	if !c.Previews || !p.CallsWebhooks() || before.InSteps {
		return nil, nil
	}
	edit, err := p.Edit("")
	if err != nil {
		return nil, err
	}
	id := scripts.RevisionID(edit.Name())
	return &WebhookPreview{id: id, HeldBefore: id == before.Held, changed: changed, wake: make(chan struct{}, 1), cancel: func() {}}, nil
}

// Start begins to preview once it has inputs, until close.
func (w *WebhookPreview) Start(preview func(context.Context) scripts.Preview) {
	if w == nil {
		return
	}
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	w.preview = preview
	go w.run(ctx)
}

// run previews the webhooks whenever the inputs have changed, until they may take over.
func (w *WebhookPreview) run(ctx context.Context) {
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
func (w *WebhookPreview) attempt(ctx context.Context) bool {
	p := scripts.Preview{Approved: w.id, Summary: scripts.ApprovedSummary}
	if !w.IsApproved() {
		p = w.preview(ctx)
	}
	if ctx.Err() != nil {
		return false
	}
	state := scripts.State{Desired: w.id, Held: p.Held, RepeatAfter: p.RepeatAfter, Previewed: p.Summary, Approved: p.Approved}
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

// IsApproved reports whether the definition or its status names the webhooks.
func (w *WebhookPreview) IsApproved() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.approvals, w.id.IsApprovedBy)
}

// SetInputs is scripts.Tree.SetPreviewInputs.
func (w *WebhookPreview) SetInputs(version string, approvals ...string) {
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
func (w *WebhookPreview) State() scripts.State {
	if w == nil {
		return scripts.State{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// isPassed reports whether the webhooks may take over.
func (w *WebhookPreview) isPassed() bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passed
}

func (w *WebhookPreview) close() {
	if w != nil {
		w.cancel()
	}
}

// Previewable returns the programs that a preview may call: scripts that serve, and webhooks that have no side effects.
func (h *Hooks) Previewable(plan *plan.Plan, revision *scripts.Revision) map[string]engines.Program {
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
