package definition

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// webhookEngine is the name of the engine in the registry.
const webhookEngine = "webhook"

// hooks are the programs of one definition: webhooks, which never change, and scripts, which
// change together.
type hooks struct {
	webhooks map[string]engines.Program
	tree     *scripts.Tree // nil without scripts
	timeouts map[string]time.Duration
	// needsScripts is true if some hook has no webhook that could answer.
	needsScripts   bool
	failovers      failovers
	credentials    []*boundCredentials
	webhookPreview *webhookPreview // nil unless servers are previewed
	cachedPrograms atomic.Pointer[revisionPrograms]
	// scripts are the names of the hooks that scripts answer.
	scripts []string
	// assigned is what a rollout decides, or nil if the newest revision serves all parents. unassigned is set while it is not known.
	assigned   atomic.Pointer[assignment]
	unassigned bool
}

// revisionPrograms are the programs for one revision of the scripts.
type revisionPrograms struct {
	revision *scripts.Revision
	programs parent.Programs
}

// openHooks compiles the webhooks and starts loading the scripts. It calls changed whenever
// their state changes. before is how the previous process left them.
func (r *Reconciler) openHooks(
	p *plan.Plan, before former, preview scripts.PreviewFunc, inUse revisionsInUse, changed func(),
) (*hooks, error) {
	h := &hooks{
		scripts:  plan.ScriptNames(p.Hooks),
		webhooks: map[string]engines.Program{}, timeouts: map[string]time.Duration{},
		failovers: failovers{definition: p.Config.Definition, combiner: r.config.Failover, hooks: map[string]*v1alpha1.Hook{}},
	}
	spec, err := p.Scripts()
	if err != nil {
		return nil, err
	}
	spec.Serving, spec.Stable, spec.HeldBefore = before.served, before.stable, before.held
	spec.Preview, spec.EditID = preview, before.editID
	spec.Archive, spec.Retained, spec.RetainedKnown = p.Archive(r.config.Namespace), inUse.ids, inUse.known
	if len(spec.Sources) > 0 {
		spec.SettleTime, spec.AwaitEdit = settleTime, before.awaitEdit
	}
	for _, named := range p.Hooks {
		name := string(named.Name)
		var err error
		h.timeouts[name] = CallTimeout(named.Hook)
		if named.Hook.Script != nil {
			h.needsScripts = h.needsScripts || named.Hook.Serving() == v1alpha1.ScriptBackend && named.Hook.Fallback == ""
		}
		if named.Hook.Webhook != nil && err == nil {
			h.webhooks[name], err = r.compileWebhook(h, p, named, changed)
		}
		if named.Hook.Webhook != nil && named.Hook.Script != nil {
			h.failovers.hooks[name] = named.Hook
		}
		if err != nil {
			h.close()
			return nil, fmt.Errorf("spec.hooks.%s: %w", name, err)
		}
	}
	if len(spec.Hooks) == 0 {
		h.webhookPreview, err = r.newWebhookPreview(p, before, changed)
		return h, err
	}
	tree, err := r.config.Library.Open(spec, changed)
	h.tree = tree
	return h, err
}

// programs returns the present programs, all of one revision.
func (h *hooks) programs() parent.Programs {
	if h.tree == nil {
		return parent.Programs{ByHook: h.webhooks}
	}
	revision := h.tree.Current()
	if m := h.cachedPrograms.Load(); m != nil && m.revision == revision {
		return m.programs
	}
	var all parent.Programs
	if revision == nil {
		all.ByHook = h.byHook(nil)
	} else {
		all.Revision, all.ByHook = string(revision.ID), h.byHook(revision.Programs)
	}
	h.cachedPrograms.Store(&revisionPrograms{revision: revision, programs: all})
	return all
}

// resting returns why scripts are not called for a while, without those with a webhook that
// answers in their place.
func (h *hooks) resting() string {
	if h.tree == nil || h.tree.Current() == nil {
		return ""
	}
	return restingOf(h.tree.Current().Programs, h.failovers.hooks)
}

// restingOf is resting for the scripts of a revision and the hooks that also have a webhook.
func restingOf(scripts map[string]engines.Program, withWebhook map[string]*v1alpha1.Hook) string {
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

// revision returns the ID of the scripts that serve, or "" if there are none.
func (h *hooks) revision() scripts.RevisionID {
	if h.tree == nil {
		return ""
	}
	if a := h.assigned.Load(); a != nil {
		return scripts.RevisionID(a.Stable)
	}
	return h.tree.State().Loaded
}

// loaded reports whether every hook can be called. It also waits for scripts that need not
// serve, until they load or fail to.
func (h *hooks) loaded() bool {
	scripts := h.tree == nil || h.tree.Current() != nil || !h.needsScripts && len(h.tree.State().Problems) > 0
	a := h.assigned.Load()
	assigned := !h.unassigned && (a == nil || !a.loading)
	return scripts && assigned && h.credentialsReady() && h.webhookPreview.isPassed()
}

func (h *hooks) close() {
	h.webhookPreview.close()
	for _, bound := range h.credentials {
		bound.Close()
	}
	if h.tree != nil {
		h.tree.Close()
	}
}

// updateTestInputs tells the scripts of instances what their tests depend on besides the text: the CustomResourceDefinitions.
func (r *Reconciler) updateTestInputs(instances ...*instance) {
	for _, i := range instances {
		if i == nil || i.hooks.tree == nil {
			continue
		}
		versions := []string{"CustomResourceDefinitions"}
		for _, resource := range i.plan.Resources() {
			versions = append(versions, r.config.Discovery.DefinitionVersion(resource.GroupResource()))
		}
		i.hooks.tree.SetTestInputs(strings.Join(versions, " "))
	}
}
