package definition

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/composite"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// plan is what a definition asks for, with its resources found.
type plan struct {
	generation int64
	// object is the definition as hooks are shown it.
	object   map[string]any
	hooks    []v1alpha1.NamedHook
	settings v1alpha1.DefinitionSettings
	config   parent.Config
}

// equal says whether both would run the same. The spec is the same for one
// generation, so that only the resources are left to compare.
func (p *plan) equal(other *plan) bool {
	return p.generation == other.generation && slices.Equal(p.resources(), other.resources())
}

func (p *plan) resources() []discovery.Resource {
	var all []discovery.Resource
	for _, rule := range p.config.Parents {
		all = append(all, rule.Resource)
	}
	for _, rule := range p.config.Children {
		all = append(all, rule.Resource)
	}
	return all
}

// needs says whether a resource that the API server no longer has is one of the plan's.
func (p *plan) needs(missing *discovery.NotFoundError) bool {
	return slices.ContainsFunc(p.resources(), func(r discovery.Resource) bool {
		return r.GroupVersion().String() == missing.APIVersion && r.GroupVersionResource.Resource == missing.Resource
	})
}

// refusal is why a definition is not accepted.
type refusal struct {
	reason string
	err    error
}

// Reasons of the condition Accepted.
const (
	reasonAccepted    = "Accepted"
	reasonInvalid     = "Invalid"
	reasonUnsupported = "Unsupported"
	reasonNotFound    = "ResourceNotFound"
)

// plan resolves a definition.
func (r *Reconciler) plan(key controller.Key, object *unstructured.Unstructured) (*plan, *refusal) {
	if key.Kind.Kind != v1alpha1.CompositeControllerKind {
		return nil, &refusal{reasonUnsupported, fmt.Errorf("this version hosts CompositeControllers, and no %s yet", key.Kind.Kind)}
	}
	definition := &v1alpha1.CompositeController{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return nil, &refusal{reasonInvalid, err}
	}
	if definition.Spec.Hooks == nil || definition.Spec.Hooks.Sync == nil {
		return nil, &refusal{reasonInvalid, errors.New("spec.hooks.sync: is required")}
	}
	if err := unsupported(&definition.Spec); err != nil {
		return nil, &refusal{reasonUnsupported, err}
	}
	return r.compositePlan(key, object, &definition.Spec)
}

// compositePlan resolves a CompositeController.
func (r *Reconciler) compositePlan(key controller.Key, object *unstructured.Unstructured, spec *v1alpha1.CompositeControllerSpec) (*plan, *refusal) {
	parents, err := r.parentRule(spec.ParentResource.ParentRule)
	if err != nil {
		return nil, refusalOf("spec.parentResource", err)
	}
	var children []parent.ChildRule
	for i, rule := range spec.ChildResources {
		resource, err := r.config.Discovery.Find(rule.APIVersion, rule.Resource)
		if err != nil {
			return nil, refusalOf(fmt.Sprintf("spec.childResources[%d]", i), err)
		}
		children = append(children, parent.ChildRule{Resource: resource, Method: apply.Method(rule.UpdateMethod())})
	}
	children = lastOfEach(children)
	shown := shownToHooks(object)
	variant := composite.New(composite.Config{Definition: shown, Spec: *spec, Children: children})
	return &plan{
		generation: object.GetGeneration(),
		object:     shown,
		hooks:      spec.Hooks.Defined(),
		settings:   spec.DefinitionSettings,
		config: parent.Config{
			Definition:    key.String(),
			Variant:       variant,
			Parents:       []parent.ParentRule{parents},
			Children:      children,
			SelectorIndex: variant.SelectorIndex(),
			ResyncPeriod:  spec.ResyncPeriod(),
		},
	}, nil
}

func (r *Reconciler) parentRule(rule v1alpha1.ParentRule) (parent.ParentRule, error) {
	resource, err := r.config.Discovery.Find(rule.APIVersion, rule.Resource)
	if err != nil {
		return parent.ParentRule{}, err
	}
	selector := labels.Everything()
	if rule.LabelSelector != nil {
		if selector, err = metav1.LabelSelectorAsSelector(rule.LabelSelector); err != nil {
			return parent.ParentRule{}, fmt.Errorf("labelSelector: %w", err)
		}
	}
	return parent.ParentRule{
		Resource: resource, Selector: selector,
		IgnoreStatusChanges: rule.IgnoreStatusChanges != nil && *rule.IgnoreStatusChanges,
	}, nil
}

// lastOfEach keeps, of several rules for one kind, the last, where the first stood.
func lastOfEach(rules []parent.ChildRule) []parent.ChildRule {
	var kept []parent.ChildRule
	for _, rule := range rules {
		at := slices.IndexFunc(kept, func(k parent.ChildRule) bool { return k.Kind == rule.Kind })
		if at < 0 {
			kept = append(kept, rule)
		} else {
			kept[at] = rule
		}
	}
	return kept
}

func refusalOf(field string, err error) *refusal {
	reason := reasonInvalid
	var missing *discovery.NotFoundError
	if errors.As(err, &missing) {
		reason = reasonNotFound
	}
	return &refusal{reason, fmt.Errorf("%s: %w", field, err)}
}

// shownToHooks is the definition as requests carry it: with an empty status, so
// that what the host tells about a definition is not an input of its hooks.
func shownToHooks(object *unstructured.Unstructured) map[string]any {
	shown := maps.Clone(object.Object)
	shown["status"] = map[string]any{}
	return shown
}
