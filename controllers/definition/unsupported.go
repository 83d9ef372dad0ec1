package definition

import (
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// unsupportedError is for what is valid and not done by this version.
type unsupportedError struct{ error }

// unsupported names what a definition asks for and this version does not do, so
// that nothing is silently left out.
func unsupported(settings v1alpha1.DefinitionSettings, hooks []v1alpha1.NamedHook) error {
	var errs []error
	for _, hook := range hooks {
		errs = append(errs, unsupportedWebhook(hook, settings.EndpointConfigs))
	}
	for i, source := range settings.ScriptSources {
		if source.Directory != nil {
			errs = append(errs, fmt.Errorf("spec.scriptSources[%d].directory: comes with a later version: use configMap", i))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return unsupportedError{err}
	}
	return nil
}

func unsupportedWebhook(hook v1alpha1.NamedHook, endpoints []v1alpha1.EndpointConfig) error {
	w := hook.Hook.Webhook
	if w == nil {
		return nil
	}
	if w.Etag != nil && w.Etag.Enabled != nil && *w.Etag.Enabled {
		return fmt.Errorf("spec.hooks.%s.webhook.etag: comes with a later version: leave it out", hook.Name)
	}
	if !w.Credentials.Empty() || len(endpoints) > 0 {
		return fmt.Errorf("spec.hooks.%s.webhook: caBundle, clientTLS, authorization, basicAuth and endpointConfigs come with a later version", hook.Name)
	}
	return nil
}
