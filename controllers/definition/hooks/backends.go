package hooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/failover"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// failovers are the hooks of one definition that have a webhook and a script.
type failovers struct {
	definition string
	combiner   *failover.Combiner
	hooks      map[string]*v1alpha1.Hook
}

// CallTimeout returns the timeout of one call of a hook, including that of its fallback.
func CallTimeout(hook *v1alpha1.Hook) time.Duration {
	switch {
	case hook.Serving() == v1alpha1.WebhookBackend:
		return hook.Webhook.CallTimeout()
	case hook.Fallback != "":
		return hook.Script.CallTimeout() + hook.Webhook.CallTimeout()
	default:
		return hook.Script.CallTimeout()
	}
}

// Combine returns the program of each hook, as a host makes it of a script and a webhook. Scripts may be missing. Shadows are not called.
func Combine(p *plan.Plan, scripts, webhooks map[string]engines.Program) map[string]engines.Program {
	h := &Hooks{webhooks: webhooks, failovers: failovers{definition: p.Config.Definition, hooks: map[string]*v1alpha1.Hook{}}}
	for _, named := range p.Hooks {
		if named.Hook.Webhook != nil && named.Hook.Script != nil {
			h.failovers.hooks[string(named.Name)] = named.Hook
		}
	}
	return h.byHook(scripts)
}

// byHook returns the program of each hook. Scripts may be missing.
func (h *Hooks) byHook(scripts map[string]engines.Program) map[string]engines.Program {
	all := maps.Clone(h.webhooks)
	maps.Copy(all, scripts)
	for name, hook := range h.failovers.hooks {
		all[name] = h.failovers.program(name, hook, scripts[name], h.webhooks[name])
	}
	return all
}

// program combines the two programs of a hook. It returns nil if the script must serve and has
// not loaded.
func (f failovers) program(name string, hook *v1alpha1.Hook, ofScript, ofWebhook engines.Program) engines.Program {
	id := failover.Hook{Definition: f.definition, Name: name}
	script := failover.TimedProgram{Program: ofScript, Timeout: hook.Script.CallTimeout()}
	webhook := failover.TimedProgram{Program: ofWebhook, Timeout: hook.Webhook.CallTimeout()}
	if hook.Serving() == v1alpha1.WebhookBackend {
		return f.combiner.WithShadow(id, ofWebhook, script)
	}
	if hook.Shadow != "" && ofScript != nil {
		script.Program = f.combiner.WithShadow(id, ofScript, webhook)
	}
	if hook.Fallback != "" {
		return f.combiner.WithFallback(id, script, webhook)
	}
	return script.Program
}

// boundCredentials are the credentials of one field of the spec.
type boundCredentials struct {
	*credentials.Bundle
	field string
	// needed is true if a webhook that serves uses them.
	needed bool
}

// compileWebhook compiles a hook's webhook and opens its credentials.
func (c Config) compileWebhook(h *Hooks, p *plan.Plan, named v1alpha1.NamedHook, changed func()) (engines.Program, error) {
	engine, err := c.Engines.ByName(webhookEngine)
	if err != nil {
		return nil, err
	}
	webhook := named.Hook.Webhook
	endpoint := EndpointOf(named.Hook)
	given, field := credentials.For(webhook, fmt.Sprintf("spec.hooks.%s.webhook", named.Name), p.Settings.EndpointConfigs)
	if given != nil {
		bound, err := c.openCredentials(h, p.Config.Account, given, field, changed)
		if err != nil {
			return nil, err
		}
		bound.needed = bound.needed || named.Hook.Serving() == v1alpha1.WebhookBackend
		endpoint.Access = bound.Access
	}
	return engine.Compile(context.Background(), engines.Source{Hook: string(named.Name), Endpoint: endpoint})
}

// EndpointOf returns the endpoint of a hook's webhook, without credentials.
func EndpointOf(hook *v1alpha1.Hook) *engines.Endpoint {
	return &engines.Endpoint{URL: hook.Webhook.Address(), RefuseDoubled: rejectsDuplicates(hook), Etag: etagOf(hook.Webhook)}
}

// openCredentials opens the credentials of a field as account, once for all webhooks that use them.
func (c Config) openCredentials(
	h *Hooks, account identity.Account, given *v1alpha1.Credentials, field string, changed func(),
) (*boundCredentials, error) {
	if c.Credentials == nil {
		return nil, errors.New("webhook: this host keeps no credentials")
	}
	for _, bound := range h.credentials {
		if bound.field == field {
			return bound, nil
		}
	}
	bound := &boundCredentials{Bundle: c.Credentials.Open(given, account, changed), field: field}
	h.credentials = append(h.credentials, bound)
	return bound, nil
}

// rejectsDuplicates reports whether a response with a duplicate field is an error. This
// depends only on the webhook, even if it does not serve.
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

// CredentialsReady reports whether every webhook that serves has its credentials.
func (h *Hooks) CredentialsReady() bool {
	for _, bound := range h.credentials {
		if ready, _ := bound.State(); bound.needed && !ready {
			return false
		}
	}
	return true
}

// CredentialProblems describes the problems with credentials, or returns "".
func (h *Hooks) CredentialProblems() string {
	var problems []error
	for _, bound := range h.credentials {
		if _, problem := bound.State(); problem != nil {
			problems = append(problems, fmt.Errorf("%s.%w", bound.field, problem))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err.Error()
	}
	return ""
}

// Rotation returns a number that changes with the credentials, so that failed calls are retried.
func (h *Hooks) Rotation() int {
	sum := 0
	for _, bound := range h.credentials {
		sum += bound.Rotations()
	}
	return sum
}
