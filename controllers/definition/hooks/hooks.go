// Package hooks has the programs of a definition's hooks: webhooks with their credentials, scripts with the revisions that a rollout
// assigns to parents, and what stands in for either when it fails.
package hooks

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/failover"
	"github.com/libretto-k8s/libretto/scripts"
)

// webhookEngine is the name of the engine in the registry.
const webhookEngine = "webhook"

// Hooks are the programs of one definition: webhooks, which never change, and scripts, which
// change together.
type Hooks struct {
	// Tree is nil without scripts.
	Tree *scripts.Tree
	// Timeouts are those of calls, by hook.
	Timeouts map[string]time.Duration
	// WebhookPreview is nil unless servers are previewed.
	WebhookPreview *WebhookPreview
	// Unassigned is set while it is not known which revision a rollout assigns. Only the reconcile of the definition uses it.
	Unassigned bool
	// follows is set if another process decides what is assigned.
	follows bool

	webhooks map[string]engines.Program
	// needsScripts is true if some hook has no webhook that could answer.
	needsScripts   bool
	failovers      failovers
	credentials    []*boundCredentials
	cachedPrograms atomic.Pointer[revisionPrograms]
	// scripts are the names of the hooks that scripts answer.
	scripts []string
	// assigned is what a rollout decides, or nil if the newest revision serves all parents.
	assigned atomic.Pointer[assignment]
}

// revisionPrograms are the programs for one revision of the scripts.
type revisionPrograms struct {
	revision *scripts.Revision
	programs parent.Programs
}

// Config is what a host has for the hooks of all definitions.
type Config struct {
	Library *scripts.Library
	Engines *engines.Registry
	// Credentials may be nil: then webhooks with credentials are refused.
	Credentials *credentials.Store
	// Failover may be nil: then shadows are not called.
	Failover *failover.Combiner
	// Namespace is the host's own.
	Namespace string
	// Previews is set if this host previews edits.
	Previews bool
}

// Options are what the hooks of one plan are opened with.
type Options struct {
	Predecessor Predecessor
	// Follows is set if another process decides what serves: nothing is tested, previewed or archived.
	Follows bool
	// Preview may be nil: then each revision that loads takes over.
	Preview scripts.PreviewFunc
	// EditID returns what an approval names that lets a revision of the plan's scripts take over.
	EditID func(scripts.RevisionID) scripts.RevisionID
	// Retained returns the revisions that are in use besides the one that serves, and RetainedKnown reports whether these are all.
	Retained      func() []scripts.RevisionID
	RetainedKnown func() bool
	// Changed is called whenever the state of the hooks changes.
	Changed func()
}

// Open compiles the webhooks and starts loading the scripts.
func (c Config) Open(p *plan.Plan, o Options) (*Hooks, error) {
	h := &Hooks{
		scripts: plan.ScriptNames(p.Hooks), follows: o.Follows,
		webhooks: map[string]engines.Program{}, Timeouts: map[string]time.Duration{},
		failovers: failovers{definition: p.Config.Definition, combiner: c.Failover, hooks: map[string]*v1alpha1.Hook{}},
	}
	spec, err := p.Scripts()
	if err != nil {
		return nil, err
	}
	before := o.Predecessor
	spec.Account = p.Config.Account
	spec.Serving, spec.Stable, spec.HeldBefore = before.Served, before.Stable, before.Held
	spec.Preview, spec.EditID, spec.Follows = o.Preview, o.EditID, o.Follows
	spec.Archive, spec.Retained, spec.RetainedKnown = p.Archive(c.Namespace), o.Retained, o.RetainedKnown
	if len(spec.Sources) > 0 {
		spec.SettleTime, spec.AwaitEdit = SettleTime, before.AwaitEdit
	}
	for _, named := range p.Hooks {
		name := string(named.Name)
		var err error
		h.Timeouts[name] = CallTimeout(named.Hook)
		if named.Hook.Script != nil {
			h.needsScripts = h.needsScripts || named.Hook.Serving() == v1alpha1.ScriptBackend && named.Hook.Fallback == ""
		}
		if named.Hook.Webhook != nil && err == nil {
			h.webhooks[name], err = c.compileWebhook(h, p, named, o.Changed)
		}
		if named.Hook.Webhook != nil && named.Hook.Script != nil {
			h.failovers.hooks[name] = named.Hook
		}
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("spec.hooks.%s: %w", name, err)
		}
	}
	if len(spec.Hooks) == 0 && o.Follows {
		return h, nil
	}
	if len(spec.Hooks) == 0 {
		h.WebhookPreview, err = c.newWebhookPreview(p, before, o.Changed)
		return h, err
	}
	tree, err := c.Library.Open(spec, o.Changed)
	h.Tree = tree
	return h, err
}

// programs returns the present programs, all of one revision.
func (h *Hooks) programs() parent.Programs {
	if h.Tree == nil {
		return parent.Programs{ByHook: h.webhooks}
	}
	revision := h.Tree.Current()
	if m := h.cachedPrograms.Load(); m != nil && m.revision == revision {
		return m.programs
	}
	var all parent.Programs
	if revision == nil {
		all.ByHook = h.byHook(nil)
	} else {
		all.Revision, all.ByHook, all.Edit = string(revision.ID), h.byHook(revision.Programs), revision.Edit
	}
	h.cachedPrograms.Store(&revisionPrograms{revision: revision, programs: all})
	return all
}

// OpenCircuits returns why scripts are not called for a while, without those with a webhook that
// answers in their place.
func (h *Hooks) OpenCircuits() string {
	if h.Tree == nil || h.Tree.Current() == nil {
		return ""
	}
	return describeOpenCircuits(h.Tree.Current().Programs, h.failovers.hooks)
}

// describeOpenCircuits is OpenCircuits for the scripts of a revision and the hooks that also have a webhook.
func describeOpenCircuits(scripts map[string]engines.Program, withWebhook map[string]*v1alpha1.Hook) string {
	var problems []string
	for name, program := range scripts {
		if hook := withWebhook[name]; hook != nil && (hook.Fallback != "" || hook.Serving() != v1alpha1.ScriptBackend) {
			continue
		}
		if why := program.CircuitOpen(); why != nil {
			problems = append(problems, name+" hook: "+why.Error())
		}
	}
	slices.Sort(problems)
	return strings.Join(problems, "\n")
}

// Revision returns the ID of the scripts that serve, or "" if there are none.
func (h *Hooks) Revision() scripts.RevisionID {
	if h.Tree == nil {
		return ""
	}
	if a := h.assigned.Load(); a != nil {
		return scripts.RevisionID(a.Stable)
	}
	return h.Tree.State().Loaded
}

// Loaded reports whether every hook can be called. It also waits for scripts that need not
// serve, until they load or fail to.
func (h *Hooks) Loaded() bool {
	scripts := h.Tree == nil || h.Tree.Current() != nil || !h.needsScripts && len(h.Tree.State().Problems) > 0
	a := h.assigned.Load()
	assigned := !h.Unassigned && (a == nil || !a.loading)
	return scripts && assigned && h.CredentialsReady() && h.WebhookPreview.isPassed()
}

// IsUndecided reports whether what the sources hold may take over from what serves, and this process is still to find out.
func (h *Hooks) IsUndecided() bool {
	if h.Tree == nil || h.follows || h.IsAssigned() {
		return false
	}
	state := h.Tree.State()
	return state.Desired != state.Loaded && state.Held == "" && len(state.Problems) == 0
}

// Close stops loading the scripts, and previewing the webhooks.
func (h *Hooks) Close() {
	h.WebhookPreview.close()
	for _, bound := range h.credentials {
		bound.Close()
	}
	if h.Tree != nil {
		h.Tree.Close()
	}
}

// Predecessor is what a previous process has left, if this one runs nothing yet.
type Predecessor struct {
	// Served is the revision to restore if the scripts don't load or are held, and Held the one that was held, or empty.
	Served, Held scripts.RevisionID
	// Stable is the revision to restore if Served is in the archive no more, or empty.
	Stable scripts.RevisionID
	// Resumed is set if it has run the same spec.
	Resumed bool
	// InSteps is set if the plan is an edit that has been previewed and is being rolled out.
	InSteps bool
	// AwaitEdit is set if an earlier spec runs, and the scripts may be about to be edited as well.
	AwaitEdit bool
}

// SettleTime is the time within which a definition and its scripts settle that are applied one after another, in either order: kubectl
// takes some 200 ms from one object to the next. It delays edits of a definition, and news of scripts that do harm or don't load.
const SettleTime = time.Second
