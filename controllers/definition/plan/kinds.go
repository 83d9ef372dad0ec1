package plan

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// KeyOf returns the key of a definition.
func KeyOf(object *unstructured.Unstructured) controller.Key {
	return controller.Key{Kind: object.GroupVersionKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// checkNamespace returns an error if a plan of a definition with a namespace uses what is outside of it, which the CustomResourceDefinitions
// can't see.
func (p *Plan) checkNamespace() error {
	isNamespaced := p.Key().Kind.Group == v1alpha1.NamespacedGroupVersion.Group
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
	rules := map[string]bool{}
	for _, rule := range p.Config.Parents {
		rules[rule.GroupResource().String()] = rule.Namespaced
	}
	for _, rule := range p.Config.Children {
		rules[rule.GroupResource().String()] = rule.Namespaced
	}
	for _, rule := range p.Config.Inputs {
		rules[rule.GroupResource().String()] = rule.Namespaced
	}
	for _, name := range variant.SortedKeys(rules) {
		if !rules[name] {
			return fmt.Errorf("%s are in no namespace, and a definition with a namespace has only what is in its own: "+
				"let an administrator write a definition of the group %s", name, v1alpha1.GroupName)
		}
	}
	return nil
}
