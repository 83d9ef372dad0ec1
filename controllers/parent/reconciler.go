// Package parent is the one reconcile core, under every kind of definition: it
// observes a parent and its children, asks the hooks for the desired state,
// applies the difference and writes the status. What makes a composite, a
// decorator and a map differ is a Variant, three pure functions.
package parent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Config is one definition, resolved and ready to run.
type Config struct {
	// Definition names it in logs and errors, as "CompositeController catset".
	Definition string
	Variant    Variant
	Parents    []ParentRule
	Children   []ChildRule
	// SelectorIndex names the index of parents by the selector of their claim.
	// Definitions whose variants claim alike share a name.
	SelectorIndex string
	// Programs gives the programs in force, by hook. One pass asks once, so
	// that it never mixes two revisions.
	Programs func() map[string]engines.Program
	// Timeouts bound one call, by hook.
	Timeouts map[string]time.Duration
	// ResyncPeriod is how often every parent is synced though nothing changed;
	// zero means never.
	ResyncPeriod time.Duration
	// ParentsChanged is called when a parent came or went. It must return soon.
	ParentsChanged func()
}

// ParentRule is a resource whose objects are parents.
type ParentRule struct {
	discovery.Resource
	// Selector narrows them down; it is never nil.
	Selector labels.Selector
	// IgnoreStatusChanges drops updates that change neither generation nor
	// labels nor annotations (section 1.1 of the specification).
	IgnoreStatusChanges bool
}

// ChildRule is a resource that children may be of.
type ChildRule struct {
	discovery.Resource
	Method apply.Method
}

// Environment is what all definitions of a process share.
type Environment struct {
	Client dynamic.Interface
	Pool   *informer.Pool
	Events record.EventRecorder
	Clock  clock.WithTicker
	Log    logr.Logger
	// Writes and Calls bound what is under way for one parent at once.
	Writes, Calls int
}

// Reconciler reconciles the parents of one definition.
type Reconciler struct {
	config   Config
	env      Environment
	parents  []parentSource
	children []childSource
	rules    []apply.Rule
	ahead    *ahead
	status   *StatusWriter
}

// New makes the reconciler of a definition and opens the caches that it needs.
// It must be closed.
func New(config Config, env Environment) (*Reconciler, error) {
	r := &Reconciler{config: config, env: env, ahead: newAhead(env.Clock), status: NewStatusWriter(env.Client)}
	for _, rule := range config.Parents {
		r.parents = append(r.parents, parentSource{ParentRule: rule, cache: env.Pool.Open(rule.GroupVersionResource)})
	}
	for _, rule := range config.Children {
		r.children = append(r.children, childSource{ChildRule: rule, cache: env.Pool.Open(rule.GroupVersionResource)})
		r.rules = append(r.rules, apply.Rule{
			Kind: rule.Kind, Resource: rule.GroupVersionResource, Namespaced: rule.Namespaced, Method: rule.Method,
		})
	}
	if err := r.indexParents(); err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", config.Definition, err)
	}
	return r, nil
}

// Close lets go of the caches. No pass may be under way.
func (r *Reconciler) Close() {
	for _, source := range r.parents {
		source.cache.Close()
	}
	for _, source := range r.children {
		source.cache.Close()
	}
}

// Reconcile makes one pass over one parent.
func (r *Reconciler) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	parent, source := r.find(key)
	if parent == nil {
		r.status.Forget(key)
		return controller.Result{}, nil
	}
	result, err := r.pass(ctx, parent, source)
	r.report(parent, err)
	return result, err
}

// pass is the heart of every controller that this program hosts.
func (r *Reconciler) pass(ctx context.Context, parent *unstructured.Unstructured, source *parentSource) (controller.Result, error) {
	// 1. Observe the parent and its children.
	observed, err := r.observe(parent, source)
	if err != nil {
		return controller.Result{}, err
	}
	// 2. Ask the hooks for the desired state.
	desired, err := r.ask(ctx, observed)
	if err != nil {
		return retryOf(err)
	}
	// 3. Apply the difference.
	applied := r.apply(ctx, observed, desired)
	// 4. Write the status, whether or not every child could be applied.
	written := r.writeStatus(ctx, parent, source, desired)
	return controller.Result{RequeueAfter: r.next(parent, desired)}, errors.Join(applied, written)
}

// next is the time until the parent is looked at though nothing happened: what
// the hook asks for, or the definition's period, whichever is sooner. Parents
// that started together drift apart by their UID.
func (r *Reconciler) next(parent *unstructured.Unstructured, desired Desired) time.Duration {
	after := time.Duration(desired.ResyncAfterSeconds * float64(time.Second))
	period := spread(parent.GetUID(), r.config.ResyncPeriod)
	if after <= 0 || period > 0 && period < after {
		return period
	}
	return after
}

// writeStatus replaces the parent's status by the desired one if it differs.
func (r *Reconciler) writeStatus(ctx context.Context, parent *unstructured.Unstructured, source *parentSource, desired Desired) error {
	if desired.Status == nil || !source.HasStatus {
		return nil
	}
	updated, err := r.status.Write(ctx, source.GroupVersionResource, parent, desired.Status)
	if updated != nil {
		r.ahead.wrote(parent.GetUID(), updated, parent.GetResourceVersion())
	}
	return err
}

// ownerReference is the reference that makes parent the controller of a child.
func ownerReference(parent *unstructured.Unstructured) metav1.OwnerReference {
	return *metav1.NewControllerRef(parent, parent.GroupVersionKind())
}
