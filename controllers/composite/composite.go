// Package composite is what makes a CompositeController: which objects are a
// parent's children, what its hooks are asked, what the answers mean, and how a
// change of the parent reaches its children a few at a time.
package composite

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Config is a CompositeController and its resources.
type Config struct {
	// Definition is the object as hooks are shown it.
	Definition map[string]any
	Spec       v1alpha1.CompositeControllerSpec
	// Parent is the resource whose objects are the parents.
	Parent discovery.Resource
	// Children are the resolved rules of the spec.
	Children []variant.ChildRule
	// RevisionNamespace is where the ControllerRevisions of cluster-scoped
	// parents are kept. Those of other parents are kept beside them.
	RevisionNamespace string
}

// Variant is the composite's part of a reconcile. It keeps no state.
type Variant struct {
	config         Config
	generate       bool
	children       *variant.Placement
	sync, finalize hook
	// finalizer is what the finalize hook holds parents back by, or empty.
	finalizer string
	// label is what tells the definition's ControllerRevisions.
	label string
	// rolling are the strategies of the kinds that are updated a few at a time.
	rolling map[schema.GroupKind]*v1alpha1.ChildUpdateStrategy
	paths   [][]string
}

// New makes the variant of one definition.
func New(config Config) *Variant {
	hooks := config.Spec.Hooks
	v := &Variant{
		config:   config,
		generate: config.Spec.GenerateSelector != nil && *config.Spec.GenerateSelector,
		children: variant.NewPlacement("children", config.Children),
		sync:     newHook(v1alpha1.SyncHook, hooks.Sync, len(config.Children) > 0),
		label:    namedDefinition(config.Definition).RevisionLabelValue(),
		rolling:  rollingStrategies(config),
		paths:    splitPaths(config.Spec.RevisionFields()),
	}
	if hooks.Finalize != nil {
		v.finalize = newHook(v1alpha1.FinalizeHook, hooks.Finalize, len(config.Children) > 0)
		v.finalizer = namedDefinition(config.Definition).Finalizer()
	}
	return v
}

// typed returns a CompositeController that has the definition's name and nothing else.
func namedDefinition(definition map[string]any) *v1alpha1.CompositeController {
	return &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: (&unstructured.Unstructured{Object: definition}).GetName()}}
}

// Rolling says that children of some kind are updated a few at a time, so that
// parents have ControllerRevisions.
func (v *Variant) Rolling() bool { return len(v.rolling) > 0 }

// Unchecked returns the rules for children of kinds that have a status and are updated
// a few at a time without a look at it.
func (v *Variant) Unchecked() []variant.ChildRule {
	var unchecked []variant.ChildRule
	for _, rule := range v.config.Children {
		strategy := v.rolling[rule.Kind.GroupKind()]
		if strategy != nil && rule.HasStatus && len(strategy.StatusChecks.Conditions) == 0 {
			unchecked = append(unchecked, rule)
		}
	}
	return unchecked
}

// rolls says whether the observed parent has a rollout: children are not managed
// for one that is being deleted and that no finalizer of ours holds back.
func (v *Variant) hasRollout(observed variant.Observed) bool {
	return v.Rolling() && (!observed.Deleting() || slices.Contains(observed.Parent.GetFinalizers(), v.finalizer))
}

// Calls asks the sync hook, or the finalize hook in its place (section 2.2 of the
// specification): once, or in a rollout once for each revision of the parent
// that has children.
func (v *Variant) Calls(observed variant.Observed) ([]variant.Call, error) {
	if !v.hasRollout(observed) {
		return []variant.Call{v.call(observed, observed.Parent, "")}, nil
	}
	h, err := v.history(observed)
	if err != nil {
		return nil, err
	}
	var calls []variant.Call
	for _, r := range h.live() {
		calls = append(calls, v.call(observed, v.parentAt(h, r, observed), r.name))
	}
	return calls, nil
}

// Desired reads the hook's answers.
func (v *Variant) Desired(observed variant.Observed, answers []variant.Answer) (variant.Desired, error) {
	if v.hasRollout(observed) {
		return v.rollOut(observed, answers)
	}
	return v.readResponse(answers[0], observed, v.finishFor(observed.Parent))
}
