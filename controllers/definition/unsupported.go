package definition

import (
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// unsupported names what a definition asks for and this version does not do, so
// that nothing is silently left out.
func unsupported(spec *v1alpha1.CompositeControllerSpec) error {
	var errs []error
	for _, hook := range spec.Hooks.Defined() {
		errs = append(errs, unsupportedWebhook(hook, spec.EndpointConfigs))
	}
	for i, rule := range spec.ChildResources {
		if rule.UpdateMethod().Rolling() {
			errs = append(errs, fmt.Errorf("spec.childResources[%d].updateStrategy.method: %s comes with a later version: use %s", i, rule.UpdateMethod(), rule.UpdateMethod().AtOnce()))
		}
		if rule.ApplyStrategy == v1alpha1.ServerSideApply || rule.ApplyStrategy == "" && spec.ApplyStrategy == v1alpha1.ServerSideApply {
			errs = append(errs, fmt.Errorf("spec.childResources[%d]: server-side apply comes with a later version: use DynamicApply", i))
		}
	}
	for i, source := range spec.ScriptSources {
		if source.Directory != nil {
			errs = append(errs, fmt.Errorf("spec.scriptSources[%d].directory: comes with a later version: use configMap", i))
		}
	}
	return errors.Join(errs...)
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
