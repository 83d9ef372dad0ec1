// Package composite is what makes a CompositeController: which objects are a
// parent's children, what its sync hook is asked, and what the answer means.
package composite

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
)

// Config is a CompositeController and its resources.
type Config struct {
	// Definition is the object as hooks are shown it.
	Definition map[string]any
	Spec       v1alpha1.CompositeControllerSpec
	// Children are the resolved rules of the spec.
	Children []parent.ChildRule
}

// Variant is the composite's part of a reconcile. It keeps no state.
type Variant struct {
	config   Config
	generate bool
	children *parent.Placement
	response parent.ResponseRules
	relative bool
}

// New makes the variant of one definition.
func New(config Config) *Variant {
	return &Variant{
		config:   config,
		generate: config.Spec.GenerateSelector != nil && *config.Spec.GenerateSelector,
		children: parent.NewPlacement("children", config.Children),
		response: responseRules(config.Spec.Hooks.Sync, len(config.Children) > 0),
		relative: config.Spec.Hooks.Sync.WireVersion() == v1alpha1.HookV1,
	}
}

// SelectorIndex names the way in which parents select children, alike for all
// definitions that select alike.
func (v *Variant) SelectorIndex() string {
	if v.generate {
		return "uid"
	}
	return "spec.selector"
}

// responseRules are those of section 2.5 of the specification, but that the list
// of children must be there unless loose was asked for in so many words, or the
// definition has no children.
func responseRules(hook *v1alpha1.Hook, children bool) parent.ResponseRules {
	return parent.ResponseRules{
		Fields:          []string{"status", "children", "resyncAfterSeconds", "finalized"},
		RefuseUnknown:   hook.ResponseMode() == v1alpha1.ResponseStrict,
		AllowAbsentList: hook.MayOmitList() || !children,
	}
}

// Claim gives the selector of section 3.4 of the specification: the generated
// one, or the parent's spec.selector.
func (v *Variant) Claim(p *unstructured.Unstructured) (parent.Claim, error) {
	if v.generate {
		return parent.Claim{Selector: labels.SelectorFromSet(labels.Set{v1alpha1.ControllerUIDLabel: string(p.GetUID())})}, nil
	}
	selector, err := selectorOf(p)
	return parent.Claim{Selector: selector}, err
}

func selectorOf(p *unstructured.Unstructured) (labels.Selector, error) {
	value, _, _ := unstructured.NestedFieldNoCopy(p.Object, "spec", "selector")
	fields, ok := value.(map[string]any)
	if !ok || len(fields) == 0 {
		return nil, fmt.Errorf("spec.selector: the parent needs matchLabels or matchExpressions that tell its children, or generateSelector: true in the definition")
	}
	parsed := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, parsed); err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(parsed)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	if selector.Empty() {
		return nil, fmt.Errorf("spec.selector: is empty and would take every object for a child: give it matchLabels or matchExpressions")
	}
	return selector, nil
}

// Calls asks the sync hook (section 2.2 of the specification).
func (v *Variant) Calls(observed parent.Observed) ([]parent.Call, error) {
	return []parent.Call{{
		Hook: string(v1alpha1.SyncHook),
		Request: map[string]any{
			"controller": v.config.Definition,
			"parent":     observed.Parent.Object,
			"children":   parent.Grouped(observed.Children, v.children.Kinds(), observed.Parent.GetNamespace(), v.relative),
			"related":    map[string]any{},
			"finalizing": false,
		},
	}}, nil
}

// Desired reads the sync hook's answer.
func (v *Variant) Desired(observed parent.Observed, answers []parent.Answer) (parent.Desired, error) {
	response := parent.ReadResponse(answers[0], v.response)
	desired := parent.Desired{
		Children:           v.children.Objects(response, observed.Parent, v.selected(observed.Parent)),
		Status:             withGeneration(response.Map("status"), observed.Parent),
		ResyncAfterSeconds: response.Seconds("resyncAfterSeconds"),
		Finalized:          response.Bool("finalized"),
	}
	return desired, response.Err()
}

// withGeneration adds the generation that the answer was made for.
func withGeneration(status map[string]any, p *unstructured.Unstructured) map[string]any {
	result := make(map[string]any, len(status)+1)
	maps.Copy(result, status)
	result["observedGeneration"] = p.GetGeneration()
	return result
}

// selected gives the children of p the label of a generated selector, and
// refuses those that p's selector does not match.
func (v *Variant) selected(p *unstructured.Unstructured) parent.Finish {
	claim, err := v.Claim(p)
	return func(child *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		if err != nil {
			return nil, err.Error()
		}
		child = v.labelled(child, p)
		if !claim.Selector.Matches(labels.Set(child.GetLabels())) {
			return nil, fmt.Sprintf("metadata.labels: the labels of %s do not match the parent's selector %q, so that it would never be seen again", apply.KeyOf(child), claim.Selector)
		}
		return child, ""
	}
}

func (v *Variant) labelled(child, p *unstructured.Unstructured) *unstructured.Unstructured {
	set := child.GetLabels()
	if !v.generate || set[v1alpha1.ControllerUIDLabel] != "" {
		return child
	}
	if set == nil {
		set = map[string]string{}
	}
	set[v1alpha1.ControllerUIDLabel] = string(p.GetUID())
	child = parent.WithMetadata(child)
	child.SetLabels(set)
	return child
}
