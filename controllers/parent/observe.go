package parent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// find returns the newest known state of a parent and its source, or nil if there is no such
// parent.
func (r *Reconciler) find(key controller.Key) (*unstructured.Unstructured, *sources.Parent) {
	source := r.sources.ParentsOf(key.Kind.GroupKind())
	if source == nil {
		return nil, nil
	}
	cached := source.Cache.Get(key.Namespace, key.Name)
	if cached == nil {
		return nil, nil
	}
	newest := r.pendingWrites.Newest(cached)
	if !source.Manages(newest) {
		return nil, nil
	}
	return newest, source
}

// Cached returns an object of a parent resource, also if the definition does not manage it, or nil if there is none.
func (r *Reconciler) Cached(key controller.Key) *unstructured.Unstructured {
	if source := r.sources.ParentsOf(key.Kind.GroupKind()); source != nil {
		return source.Cache.Get(key.Namespace, key.Name)
	}
	return nil
}

// Manages reports whether an object is a parent of the definition.
func (r *Reconciler) Manages(object *unstructured.Unstructured) bool {
	source := r.sources.ParentsOf(object.GroupVersionKind().GroupKind())
	return source != nil && source.Manages(object)
}

// observe collects the input of the pass. It is the only reader of the caches.
func (p *pass) observe(ctx context.Context) error {
	if err := p.checkReads(ctx, p.source.GroupVersionResource, p.parent); err != nil {
		return err
	}
	claim, err := p.config.Variant.Claim(p.parent)
	if err != nil {
		return variant.Lasting(err)
	}
	if claim.Marked != nil {
		claim.Marked = claims.Traces{Manager: p.config.Managers.Own, AppliedFields: p.appliedFields}.MarkedOrLost(claim)
	}
	p.claim = claim
	p.observed = variant.Observed{
		Parent: p.parent, Finalizing: p.shouldFinalize(p.parent, p.source), BuiltIn: !p.source.Custom,
		ScriptRevision: p.programs.Revision, Now: p.env.Clock.Now(), UpToDate: p.isUpToDate,
	}
	created := p.pendingWrites.CreatedBy(p.parent.GetUID())
	for i := range p.sources.Children {
		ofKind := p.claimKind(&p.sources.Children[i], claim, created)
		if err := p.checkReads(ctx, p.sources.Children[i].GroupVersionResource, ofKind...); err != nil {
			return err
		}
		p.observed.Children = append(p.observed.Children, ofKind...)
	}
	if p.sources.Revisions != nil {
		p.observeRevisions(created)
	}
	if p.observed.Inputs, err = p.inputs(ctx); err != nil {
		return err
	}
	if err := p.observeRelated(ctx); err != nil {
		return err
	}
	p.fingerprint = p.passCache.Fingerprint(p.observed, p.programs.Revision, p.SchemaChanges())
	return nil
}

// observeRelated collects the objects that the customize hook selects and the parent names.
func (p *pass) observeRelated(ctx context.Context) error {
	if p.config.Customize == nil {
		return nil
	}
	asked, known := p.related.Lookup(p.key, p.parent, p.programs.Revision, p.observed.Now)
	if !known {
		var err error
		if asked, err = p.selectRelated(ctx); err != nil {
			return err
		}
		if err := p.related.Set(p.key, p.parent, asked); err != nil {
			return err
		}
	}
	p.due.related = asked.Expires
	var err error
	p.observed.Related, p.observed.RelatedKinds, err = p.related.Collect(p.key, asked.Rules)
	if err != nil {
		return err
	}
	for _, kind := range asked.Kinds {
		if !slices.Contains(p.observed.RelatedKinds, kind) {
			p.observed.RelatedKinds = append(p.observed.RelatedKinds, kind)
		}
	}
	sortByKey(p.observed.Related)
	return p.checkRelated(ctx, asked.Rules, p.observed.Related)
}

// claimKind returns the parent's children of one resource, sorted, and records those to adopt
// and to release.
func (p *pass) claimKind(child *sources.Child, claim variant.Claim, created []*unstructured.Unstructured) []*unstructured.Unstructured {
	candidates := p.candidates(child, claim, created)
	sortByName(candidates)
	c := claims.Children(p.parent, claim, candidates)
	p.unownedOutputs = append(p.unownedOutputs, claims.OutputsWithoutMap(p.parent, claim, candidates)...)
	p.observed.Adopt = append(p.observed.Adopt, c.Adopt...)
	p.observed.Release = append(p.observed.Release, c.Release...)
	if len(c.Adopt) == 0 {
		return c.Owned
	}
	children := append(c.Owned, c.Adopt...)
	sortByName(children)
	return children
}

// candidates returns the objects of one resource that the parent owns or might adopt, in their
// newest state.
func (p *pass) candidates(child *sources.Child, claim variant.Claim, created []*unstructured.Unstructured) []*unstructured.Unstructured {
	found := child.Cache.OwnedBy(p.parent.GetUID())
	if claim.Selector != nil {
		found = append(found, child.Cache.Orphans(p.parent.GetNamespace(), claim.Selector)...)
	}
	p.pendingWrites.SetNewest(found)
	found = append(found, unknown(created, found, child.Kind)...)
	if p.source.Namespaced {
		// The garbage collector does not find an owner in another namespace.
		namespace := p.parent.GetNamespace()
		found = slices.DeleteFunc(found, func(o *unstructured.Unstructured) bool { return o.GetNamespace() != namespace })
	}
	return found
}

// unknown returns the objects of a kind that are not among others.
func unknown(objects, others []*unstructured.Unstructured, kind schema.GroupVersionKind) []*unstructured.Unstructured {
	if len(objects) == 0 {
		return nil
	}
	known := make(map[types.UID]bool, len(others))
	for _, o := range others {
		known[o.GetUID()] = true
	}
	var all []*unstructured.Unstructured
	for _, o := range objects {
		if !known[o.GetUID()] && o.GroupVersionKind() == kind {
			all = append(all, o)
		}
	}
	return all
}

func sortByName(objects []*unstructured.Unstructured) {
	type name struct{ namespace, name string }
	nameOf := func(o *unstructured.Unstructured) name { return name{o.GetNamespace(), o.GetName()} }
	sortBy(objects, nameOf, func(a, b name) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// sortByKey sorts objects by kind, namespace and name.
func sortByKey(objects []*unstructured.Unstructured) {
	sortBy(objects, apply.KeyOf, func(a, b apply.Key) int {
		return cmp.Or(
			cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Version, b.Kind.Version), cmp.Compare(a.Kind.Kind, b.Kind.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
}

// sortBy computes the key of each object once, as that takes longer than a comparison.
func sortBy[K any](objects []*unstructured.Unstructured, key func(*unstructured.Unstructured) K, compare func(a, b K) int) {
	type keyed struct {
		key    K
		object *unstructured.Unstructured
	}
	all := make([]keyed, len(objects))
	for i, object := range objects {
		all[i] = keyed{key(object), object}
	}
	slices.SortFunc(all, func(a, b keyed) int { return compare(a.key, b.key) })
	for i := range all {
		objects[i] = all[i].object
	}
}

// selectRelated returns the rules for the related objects of a parent.
func (p *pass) selectRelated(ctx context.Context) (asked related.Request, err error) {
	c := p.config.Customize
	named, kinds, err := c.NamedRules(p.parent, p.findRelated)
	if err == nil && !c.Absent {
		asked, err = p.customize(ctx)
	}
	asked.Revision, asked.Kinds = p.programs.Revision, kinds
	asked.Rules, asked.Read = append(asked.Rules, named...), asked.Read|c.NamedInputs()
	return asked, err
}

// customize calls the hook for the related objects of a parent.
func (p *pass) customize(ctx context.Context) (asked related.Request, err error) {
	c := p.config.Customize
	call := variant.Call{Hook: related.Hook, Request: map[string]any{"controller": c.Definition, "parent": p.parent.Object}}
	now := p.env.Clock.Now()
	answered, err := p.call(ctx, call, now)
	asked.Read = answers.InputsIn(answered.Read) & answers.CustomizeInputs
	if lifetime := p.lifetime(answered); lifetime > 0 {
		asked.Expires = now.Add(lifetime)
	}
	answer := variant.Answer{Call: call, Body: answered.Body, Err: variant.HookError(call.Hook, err)}
	asked.Rules, err = c.Rules(answer, p.parent, p.findRelated)
	return asked, err
}

// findRelated returns the resource that a rule names. If it is not served, the parent is
// enqueued as soon as it is.
func (p *pass) findRelated(apiVersion, resource string) (discovery.Resource, error) {
	found, err := p.config.Customize.Find(apiVersion, resource)
	var missing *discovery.NotFoundError
	if !errors.As(err, &missing) {
		return found, err
	}
	p.related.AwaitResource(p.key, apiVersion, resource)
	return p.config.Customize.Find(apiVersion, resource) // It may have become known just before AwaitResource.
}

// isUpToDate reports whether applying desired leaves observed unchanged.
func (p *pass) isUpToDate(observed, desired *unstructured.Unstructured) (bool, error) {
	at := slices.IndexFunc(p.rules, func(rule apply.Rule) bool { return rule.Kind == desired.GroupVersionKind() })
	if at < 0 {
		return false, nil // Can not happen: all children are of declared kinds.
	}
	return p.rules[at].UpToDate(observed, desired, p.owner(), p.appliedFields(observed))
}

// inputs returns the parent's inputs, by rule, namespace and name, without objects that the
// parent owns.
func (p *pass) inputs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if len(p.sources.Inputs) == 0 || p.observed.Finalizing || p.observed.Deleting() {
		return nil, nil
	}
	selector, err := p.config.Selector(p.parent)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for i := range p.sources.Inputs {
		source := &p.sources.Inputs[i]
		candidates, err := source.Cache.Select(p.parent.GetNamespace(), selector)
		if err != nil {
			return nil, err
		}
		var inputs []*unstructured.Unstructured
		for _, candidate := range candidates {
			owner := informer.ControllerOf(candidate)
			if (owner == nil || owner.UID != p.parent.GetUID()) && source.Selects(p.parent, candidate, p.sources.NamespaceLabels) {
				inputs = append(inputs, candidate)
			}
		}
		sortByName(inputs)
		if err := p.checkReads(ctx, source.GroupVersionResource, inputs...); err != nil {
			return nil, err
		}
		all = append(all, inputs...)
	}
	return all, nil
}
