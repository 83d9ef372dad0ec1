package plan

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// checkNamespace returns an error if a plan of a definition with a namespace uses what is outside of it, which its
// CustomResourceDefinition can't see.
func (p *Plan) checkNamespace() error {
	isNamespaced := v1alpha1.IsNamespaced(p.Key().Kind.Group)
	if !isNamespaced && p.Namespace == "" {
		return nil
	}
	if !isNamespaced || p.Namespace == "" {
		return fmt.Errorf("metadata.namespace: definitions of %s have one, and those of %s have none", v1alpha1.NamespacedGroupVersion.Group,
			v1alpha1.GroupName)
	}
	if p.Config.Account.Namespace != p.Namespace || p.Config.Account.Name == "" {
		return errors.New("spec.serviceAccountRef: a definition with a namespace works as a ServiceAccount of that")
	}
	for _, named := range p.Hooks {
		if err := checkService(named.Hook.Webhook); err != nil {
			return fmt.Errorf("spec.hooks.%s.webhook: %w", named.Name, err)
		}
	}
	for i, source := range p.Settings.ScriptSources {
		if source.Directory != nil {
			return fmt.Errorf("spec.scriptSources[%d].directory: is not for a definition with a namespace: use configMap", i)
		}
	}
	for i, related := range p.Settings.RelatedResources {
		if related.Namespace != "" || related.NamespaceSelector != nil {
			return fmt.Errorf("spec.relatedResources[%d]: what a definition with a namespace reads is in its own: leave namespace and "+
				"namespaceSelector out", i)
		}
	}
	for _, resource := range p.Resources() {
		if !resource.Namespaced {
			return fmt.Errorf("%s are cluster-scoped, and a definition with a namespace uses only what is in its own: "+
				"let an administrator write a definition of the group %s", resource.GroupResource(), v1alpha1.GroupName)
		}
	}
	return nil
}

// checkService returns an error unless a webhook is called by the name of a Service. Other text would be part of another address.
func checkService(webhook *v1alpha1.Webhook) error {
	switch {
	case webhook == nil:
		return nil
	case webhook.URL != nil || webhook.Service == nil || webhook.Path == nil:
		return errors.New("a definition with a namespace calls a Service in its own: give service and path, and no url")
	case len(validation.IsDNS1123Label(webhook.Service.Name)) > 0:
		return fmt.Errorf("service.name: %q is no name of a Service", webhook.Service.Name)
	case webhook.Service.Scheme() != "http" && webhook.Service.Scheme() != "https":
		return fmt.Errorf("service.protocol: %q must be http or https", *webhook.Service.Protocol)
	case *webhook.Path != "" && !strings.HasPrefix(*webhook.Path, "/"):
		return fmt.Errorf("path: %q must start with /", *webhook.Path)
	}
	return nil
}
