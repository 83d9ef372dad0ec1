package definition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/failover"
)

// both are the hooks of one definition that have a webhook and a script.
type failovers struct {
	definition string
	combiner   *failover.Combiner
	hooks      map[string]*v1alpha1.Hook
}

// callTimeout is the time that one call of a hook may take: that of what serves,
// and of what then steps in.
func callTimeout(hook *v1alpha1.Hook) time.Duration {
	switch {
	case hook.Serving() == v1alpha1.WebhookBackend:
		return hook.Webhook.CallTimeout()
	case hook.Fallback != "":
		return hook.Script.CallTimeout() + hook.Webhook.CallTimeout()
	default:
		return hook.Script.CallTimeout()
	}
}

// byHook gives what answers each hook, with scripts that may not have loaded.
func (h *hooks) byHook(scripts map[string]engines.Program) map[string]engines.Program {
	all := maps.Clone(h.webhooks)
	maps.Copy(all, scripts)
	for name, hook := range h.failovers.hooks {
		all[name] = h.failovers.program(name, hook, scripts[name], h.webhooks[name])
	}
	return all
}

// program makes one program of a hook's two, or nil if it is the script that is
// to serve, which has not loaded.
func (b failovers) program(name string, hook *v1alpha1.Hook, ofScript, ofWebhook engines.Program) engines.Program {
	id := failover.Hook{Definition: b.definition, Name: name}
	script := failover.TimedProgram{Program: ofScript, Timeout: hook.Script.CallTimeout()}
	webhook := failover.TimedProgram{Program: ofWebhook, Timeout: hook.Webhook.CallTimeout()}
	if hook.Serving() == v1alpha1.WebhookBackend {
		return b.combiner.WithShadow(id, ofWebhook, script)
	}
	if hook.Shadow != "" && ofScript != nil {
		script.Program = b.combiner.WithShadow(id, ofScript, webhook)
	}
	if hook.Fallback != "" {
		return b.combiner.WithFallback(id, script, webhook)
	}
	return script.Program
}

// held are the credentials of one field of the spec.
type boundCredentials struct {
	*credentials.Bundle
	field string
	// needed says that a webhook which serves is called with them.
	needed bool
}

// compileWebhook makes the program of a hook's webhook, and begins to keep its credentials.
func (r *Reconciler) compileWebhook(h *hooks, p *Plan, named v1alpha1.NamedHook, changed func()) (engines.Program, error) {
	engine, err := r.config.Engines.ByName(webhookEngine)
	if err != nil {
		return nil, err
	}
	webhook := named.Hook.Webhook
	endpoint := &engines.Endpoint{URL: webhook.Address(), RefuseDoubled: rejectsDuplicates(named.Hook), Etag: etagOf(webhook)}
	given, field := credentials.For(webhook, fmt.Sprintf("spec.hooks.%s.webhook", named.Name), p.Settings.EndpointConfigs)
	if given != nil {
		kept, err := r.openCredentials(h, given, field, changed)
		if err != nil {
			return nil, err
		}
		kept.needed = kept.needed || named.Hook.Serving() == v1alpha1.WebhookBackend
		endpoint.Access = kept.Access
	}
	return engine.Compile(context.Background(), engines.Source{Hook: string(named.Name), Endpoint: endpoint})
}

// keep keeps the credentials of a field, once for all webhooks that have them.
func (r *Reconciler) openCredentials(h *hooks, given *v1alpha1.Credentials, field string, changed func()) (*boundCredentials, error) {
	if r.config.Credentials == nil {
		return nil, errors.New("webhook: this host keeps no credentials")
	}
	for _, kept := range h.credentials {
		if kept.field == field {
			return kept, nil
		}
	}
	kept := &boundCredentials{Bundle: r.config.Credentials.Open(given, changed), field: field}
	h.credentials = append(h.credentials, kept)
	return kept, nil
}

// strict says whether a field that an answer has twice is refused: each webhook
// is read as it says itself, whether it serves or not.
func rejectsDuplicates(hook *v1alpha1.Hook) bool {
	alone := v1alpha1.Hook{Version: hook.Version, Webhook: hook.Webhook}
	return alone.ResponseMode() == v1alpha1.ResponseStrict
}

func etagOf(webhook *v1alpha1.Webhook) *engines.Etag {
	if webhook.Etag == nil || webhook.Etag.Enabled == nil || !*webhook.Etag.Enabled {
		return nil
	}
	seconds := func(n *int32) time.Duration {
		if n == nil {
			return 0
		}
		return time.Duration(*n) * time.Second
	}
	return &engines.Etag{Expiry: seconds(webhook.Etag.CacheTimeoutSeconds), Cleanup: seconds(webhook.Etag.CacheCleanupSeconds)}
}

// credentialsReady says whether every webhook that serves can be called.
func (h *hooks) credentialsReady() bool {
	for _, kept := range h.credentials {
		if ready, _ := kept.State(); kept.needed && !ready {
			return false
		}
	}
	return true
}

// credentialProblems says what is wrong with credentials, or nothing.
func (h *hooks) credentialProblems() string {
	var problems []error
	for _, kept := range h.credentials {
		if _, problem := kept.State(); problem != nil {
			problems = append(problems, fmt.Errorf("%s.%w", kept.field, problem))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err.Error()
	}
	return ""
}

// rotation changes whenever credentials do in a way that may help a call which failed.
func (h *hooks) rotation() int {
	sum := 0
	for _, kept := range h.credentials {
		sum += kept.Rotations()
	}
	return sum
}
