// Package composite implements the variant for CompositeControllers: which objects are the
// children of a parent, what its hooks are sent, how their responses are read, and how a
// change of the parent is rolled out to its children a few at a time.
package composite

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Config is a CompositeController and its resources.
type Config struct {
	// Definition is the object as requests carry it.
	Definition map[string]any
	Spec       v1alpha1.CompositeControllerSpec
	// Parent is the resource whose objects are the parents.
	Parent discovery.Resource
	// Children are the resolved rules of the spec.
	Children []variant.ChildRule
	// RevisionNamespace is the namespace of the ControllerRevisions of cluster-scoped parents.
	// Those of other parents are in the parent's namespace.
	RevisionNamespace string
}

// Variant is the composite's part of a reconcile. It is stateless.
type Variant struct {
	config         Config
	generate       bool
	children       *variant.Placement
	sync, finalize *variant.Hook
	// finalizer is empty if there is no finalize hook.
	finalizer string
	// label is the value of CompositeLabel on the definition's ControllerRevisions.
	label string
	// rolling are the strategies of the kinds that have a rolling update.
	rolling map[schema.GroupKind]*v1alpha1.ChildUpdateStrategy
	paths   [][]string
	// rollsScripts is true if an edit of the scripts is rolled out like a change of the parent.
	rollsScripts bool
	// pathReads are the paths at which the history reads the parent.
	pathReads []string
}

// New returns the variant of one definition.
func New(config Config) *Variant {
	hooks := config.Spec.Hooks
	newHook := func(name v1alpha1.HookName, given *v1alpha1.Hook) *variant.Hook {
		return variant.NewHook(name, given, len(config.Children) > 0,
			"status", "children", variant.WaitingField, variant.EventsField, "resyncAfterSeconds", "finalized")
	}
	v := &Variant{
		config:   config,
		generate: config.Spec.GenerateSelector != nil && *config.Spec.GenerateSelector,
		children: variant.NewPlacement("children", "childResources", config.Children),
		sync:     newHook(v1alpha1.SyncHook, hooks.Sync),
		label:    namedDefinition(config.Definition).RevisionLabelValue(),
		rolling:  rollingStrategies(config),
		paths:    jsonvalue.SplitPaths(config.Spec.RevisionFields()),

		rollsScripts: config.Spec.RollsScripts(),
	}
	for _, path := range v.paths {
		v.pathReads = append(v.pathReads, "parent."+strings.Join(path, "."))
	}
	if v.finalize = newHook(v1alpha1.FinalizeHook, hooks.Finalize); v.finalize != nil {
		v.finalizer = namedDefinition(config.Definition).Finalizer()
	}
	return v
}

// namedDefinition returns a CompositeController with the definition's name and namespace, and nothing else.
func namedDefinition(definition map[string]any) *v1alpha1.CompositeController {
	object := unstructured.Unstructured{Object: definition}
	return &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
}

// Rolling reports whether some kind has a rolling update, so that parents have
// ControllerRevisions.
func (v *Variant) Rolling() bool { return len(v.rolling) > 0 }

// RollsScripts reports whether edits of the scripts reach the children of a kind one after another.
func (v *Variant) RollsScripts(kind schema.GroupVersionKind) bool {
	return v.rollsScripts && v.rolling[kind.GroupKind()] != nil
}

// Unchecked returns the rules for kinds that have a status and a rolling update without
// status checks.
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

// hasRollingUpdate reports whether rolling updates apply to the observed parent. They don't if it is being
// deleted and does not have the definition's finalizer.
func (v *Variant) hasRollingUpdate(observed variant.Observed) bool {
	return v.Rolling() && (!observed.Deleting() || slices.Contains(observed.Parent.GetFinalizers(), v.finalizer))
}

// Calls returns one call of the sync hook or the finalize hook (section 2.2 of the
// specification), or in a rollout one for each revision of the parent that has children.
func (v *Variant) Calls(observed variant.Observed) ([]variant.Call, error) {
	if !v.hasRollingUpdate(observed) {
		return []variant.Call{v.call(observed, observed.Parent, nil)}, nil
	}
	h, err := v.history(observed)
	if err != nil {
		return nil, err
	}
	var calls []variant.Call
	for _, r := range h.live() {
		calls = append(calls, v.call(observed, v.parentAt(h, r, observed), r))
	}
	return calls, nil
}

// Desired makes one desired state of the answers.
func (v *Variant) Desired(observed variant.Observed, answers []variant.Answer) (variant.Desired, error) {
	if v.hasRollingUpdate(observed) {
		return v.rollOut(observed, answers)
	}
	return v.readResponse(answers[0], observed, v.finishFor(observed.Parent))
}
