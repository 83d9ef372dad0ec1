package definition

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// webhookEngine is the engine's name in the registry.
const webhookEngine = "webhook"

// hooks are the programs of one definition: webhooks, which stay, and scripts,
// which are swapped together.
type hooks struct {
	webhooks map[string]engines.Program
	tree     *scripts.Tree // nil without scripts
	timeouts map[string]time.Duration
	merged   atomic.Pointer[merged]
}

// merged is both for one revision of the scripts.
type merged struct {
	revision *scripts.Revision
	programs parent.Programs
}

// openHooks compiles the webhooks and begins to load the scripts; changed is
// called whenever there is something new to say of them.
func (r *Reconciler) openHooks(p *Plan, changed func()) (*hooks, error) {
	h := &hooks{webhooks: map[string]engines.Program{}, timeouts: map[string]time.Duration{}}
	spec := scripts.Spec{Sources: sourcesOf(p.Settings.ScriptSources), Hooks: map[string]scripts.Hook{}}
	for _, named := range p.Hooks {
		name := string(named.Name)
		var err error
		if named.Hook.Script != nil {
			h.timeouts[name] = named.Hook.Script.CallTimeout()
			spec.Hooks[name], err = scriptOf(named.Hook.Script)
		} else {
			h.timeouts[name] = named.Hook.Webhook.CallTimeout()
			h.webhooks[name], err = r.compileWebhook(name, named.Hook.Webhook)
		}
		if err != nil {
			return nil, fmt.Errorf("spec.hooks.%s: %w", name, err)
		}
	}
	if len(spec.Hooks) == 0 {
		return h, nil
	}
	tree, err := r.config.Library.Open(spec, changed)
	h.tree = tree
	return h, err
}

func (r *Reconciler) compileWebhook(name string, webhook *v1alpha1.Webhook) (engines.Program, error) {
	engine, err := r.config.Engines.ByName(webhookEngine)
	if err != nil {
		return nil, err
	}
	return engine.Compile(context.Background(), engines.Source{Hook: name, Endpoint: &engines.Endpoint{URL: webhook.Address()}})
}

// programs gives the programs in force, all of one revision.
func (h *hooks) programs() parent.Programs {
	if h.tree == nil {
		return parent.Programs{ByHook: h.webhooks}
	}
	revision := h.tree.Current()
	if m := h.merged.Load(); m != nil && m.revision == revision {
		return m.programs
	}
	all := parent.Programs{ByHook: maps.Clone(h.webhooks)}
	if revision != nil {
		all.Revision = revision.ID
		maps.Copy(all.ByHook, revision.Programs)
	}
	h.merged.Store(&merged{revision: revision, programs: all})
	return all
}

// revision is the ID of the scripts that serve, or "" if there are none.
func (h *hooks) revision() string {
	if h.tree == nil {
		return ""
	}
	return h.tree.State().Loaded
}

// loaded says whether every hook can be called.
func (h *hooks) loaded() bool { return h.tree == nil || h.tree.Current() != nil }

func (h *hooks) close() {
	if h.tree != nil {
		h.tree.Close()
	}
}

func sourcesOf(sources []v1alpha1.ScriptSource) []scripts.Source {
	result := make([]scripts.Source, 0, len(sources))
	for _, source := range sources {
		if source.ConfigMap == nil {
			continue
		}
		c := &scripts.ConfigMap{Namespace: source.ConfigMap.Namespace, Name: source.ConfigMap.Name, Prefix: string(source.ConfigMap.Prefix)}
		for _, item := range source.ConfigMap.Items {
			c.Items = append(c.Items, scripts.Item{Key: item.Key, Path: string(item.Path)})
		}
		result = append(result, scripts.Source{ConfigMap: c})
	}
	return result
}

func scriptOf(script *v1alpha1.Script) (scripts.Hook, error) {
	hook := scripts.Hook{
		Path: string(script.Path), Inline: script.Inline, Engine: string(script.Engine),
		Function: script.Function, Signature: engines.Signature(script.CallSignature()),
	}
	if script.Parameters == nil {
		return hook, nil
	}
	if err := json.Unmarshal(script.Parameters.Raw, &hook.Parameters); err != nil {
		return hook, fmt.Errorf("script.parameters: %w", err)
	}
	return hook, nil
}
