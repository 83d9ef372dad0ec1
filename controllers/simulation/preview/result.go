package preview

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Result is what the definition would do about one parent.
type Result struct {
	// Parent is the kind, namespace and name.
	Parent apply.Key
	// Changes are what differs in the end, in the order in which it was first written, and then what is left as it is.
	Changes []Change
	// Err is why the parent fails, or nil.
	Err error
	// EndlessStatus is set if the status changes in every pass. The rest is settled.
	EndlessStatus bool
	// AfterFirst is what the first pass has destroyed, and whether it fails, if Input.AfterFirst is set.
	AfterFirst *Result
	// First is the first pass, if Input.Detailed is set.
	First *simulation.Result
	// Waits are what the hooks wait for.
	Waits []variant.Wait
}

// Action is what an edit does to an object.
type Action string

// The actions, in the order in which they are shown.
const (
	Delete          = Action(rollout.Delete)
	Recreate        = Action(rollout.Recreate)
	Release  Action = "release"
	Adopt    Action = "adopt"
	Update   Action = "update"
	Create   Action = "create"
	// Status is an update of the status of the parent.
	Status Action = "update status"
	// Leave is that a child differs from what the hook wants, and is left as it is.
	Leave Action = "leave"
)

// Actions are all actions, in the order in which they are shown.
var Actions = []Action{Delete, Recreate, Release, Adopt, Update, Create, Status, Leave}

// Destroys reports whether the action deletes an object that is there.
func (a Action) Destroys() bool { return a == Delete || a == Recreate }

// Change is what an edit does to one object.
type Change struct {
	Action Action
	Key    apply.Key
	// Fields are the fields that change, unless the object is created or deleted. What is secret is hidden in them.
	Fields []fielddiff.Diff
	// OnDelete is set with Leave if the child's update method is OnDelete. Otherwise it waits for its turn in a rollout.
	OnDelete bool
}

// EffectsOf returns what counts of results when it is decided whether an edit is held.
func EffectsOf(results ...*Result) []rollout.Effect {
	effects := make([]rollout.Effect, 0, len(results))
	for _, o := range results {
		e := rollout.Effect{Parent: o.Parent, Err: o.Err, Destroyed: map[apply.Key]rollout.Action{}}
		for _, change := range o.Changes {
			if change.Action.Destroys() {
				e.Destroyed[change.Key] = rollout.Action(change.Action)
			}
		}
		effects = append(effects, e)
	}
	return effects
}

// isBookkeeping reports whether objects of a kind are Libretto's own records.
func isBookkeeping(kind schema.GroupKind) bool { return kind.Group == v1alpha1.GroupName }

// results returns the result for each parent.
func (r *run) results(ctx context.Context) ([]*Result, error) {
	leaves := !r.OnlyDestroyed && r.leavesChildren()
	all := make([]*Result, len(r.parents))
	for i, p := range r.parents {
		o := &Result{Parent: p.key, Err: p.err(), EndlessStatus: p.unsettled == endlessStatus, First: p.first}
		all[i] = o
		if i < len(r.afterFirst) {
			o.AfterFirst = r.afterFirst[i]
		}
		for _, w := range p.writes {
			o.Changes = append(o.Changes, r.changesOf(ctx, p, w)...)
		}
		o.Changes = append(o.Changes, r.collected(p)...)
		if p.gone {
			continue
		}
		o.Waits = r.session.Waits(p.last.Parent)
		if !leaves {
			continue
		}
		left, err := p.answers.Unapplied(ctx, r.session, p.last.Parent)
		if err != nil {
			return nil, err
		}
		for _, change := range left {
			method := r.methodOf(change.Key.Kind)
			if method == apply.OnDelete || method == "" || r.Plan.Config.Revisions.Resource != nil {
				o.Changes = append(o.Changes, Change{
					Action: Leave, Key: change.Key, Fields: change.Diffs(), OnDelete: method == apply.OnDelete || method == "",
				})
			}
		}
	}
	r.hideCopies(ctx, all)
	return all, nil
}

// hideCopies hides what Secrets hold wherever else a hook has put it.
func (r *run) hideCopies(ctx context.Context, all []*Result) {
	if r.OnlyDestroyed || !slices.ContainsFunc(all, func(o *Result) bool { return len(o.Changes) > 0 }) {
		return // There are no fields to show.
	}
	objects := append(r.session.Cluster().Snapshot(), r.Objects...)
	find := func(kind schema.GroupVersionKind) *openapi.Kind { return r.Schemas.For(ctx, kind) }
	masker := jsonvalue.NewMasker(stage.SecretTexts(objects, find))
	for _, o := range all {
		for _, change := range o.Changes {
			for i, f := range change.Fields {
				change.Fields[i] = fielddiff.Diff{Path: masker.Mask(f.Path), From: masker.Mask(f.From), To: masker.Mask(f.To)}
			}
		}
	}
}

// destroyed returns what each parent has lost so far, and whether it fails.
func (r *run) destroyed(ctx context.Context) []*Result {
	now := *r
	now.OnlyDestroyed = true
	all := make([]*Result, len(r.parents))
	for i, p := range r.parents {
		all[i] = &Result{Parent: p.key, Err: p.err()}
		for _, w := range p.writes {
			all[i].Changes = append(all[i].Changes, now.changesOf(ctx, p, w)...)
		}
		all[i].Changes = append(all[i].Changes, now.collected(p)...)
	}
	return all
}

// collected returns the children that the garbage collector takes because a pass has let go of their parent, which is being deleted.
func (r *run) collected(p *progress) []Change {
	if !p.gone || p.object.GetDeletionTimestamp() == nil || slices.Contains(p.object.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		return nil
	}
	var all []Change
	for _, object := range r.Objects {
		key := apply.KeyOf(object)
		isChild := slices.ContainsFunc(r.Plan.Config.Children, func(rule variant.ChildRule) bool { return rule.Kind == key.Kind })
		w := p.byObject[key]
		if isChild && metav1.IsControlledBy(object, p.object) && len(object.GetOwnerReferences()) == 1 && object.GetDeletionTimestamp() == nil &&
			(w == nil || !w.deleted) {
			all = append(all, Change{Action: Delete, Key: key})
		}
	}
	return all
}

// leavesChildren reports whether the definition may leave children that differ as they are.
func (r *run) leavesChildren() bool {
	for _, rule := range r.Plan.Config.Children {
		if rule.Method == apply.OnDelete || rule.Method == "" {
			return true
		}
	}
	return r.Plan.Config.Revisions.Resource != nil
}

func (r *run) methodOf(kind schema.GroupVersionKind) apply.Method {
	for _, rule := range r.Plan.Config.Children {
		if rule.Kind == kind {
			return rule.Method
		}
	}
	return ""
}

// changesOf returns the changes of an object: at most one change, or two of a parent.
func (r *run) changesOf(ctx context.Context, p *progress, w *written) []Change {
	change := Change{Key: w.key}
	gone := w.after == nil || w.deleted && w.after.GetDeletionTimestamp() != nil
	switch {
	case w.before == nil && gone:
		return nil
	case w.before == nil && r.OnlyDestroyed:
		return nil
	case w.before == nil:
		change.Action = Create
	case gone && w.key == p.key:
		change.Action = Delete
	case gone:
		change.Action = Delete
		if w.desired != nil { // It stays until somebody else removes a finalizer.
			change.Action, change.Fields = Recreate, r.fieldsOfRecreated(ctx, p, w)
		}
	case w.before.GetUID() != w.after.GetUID():
		change.Action, change.Fields = Recreate, r.fieldsOfRecreated(ctx, p, w)
	case r.OnlyDestroyed:
		return nil
	default:
		return r.updatesOf(ctx, p, w)
	}
	return []Change{change}
}

// updatesOf returns the changes of an object that was updated.
func (r *run) updatesOf(ctx context.Context, p *progress, w *written) []Change {
	var changes []Change
	kind := r.Schemas.For(ctx, w.key.Kind)
	change := Change{Action: Update, Key: w.key}
	if w.passes > 0 {
		was, is := metav1.GetControllerOf(w.before), metav1.GetControllerOf(w.after)
		switch {
		case was == nil && is != nil:
			change.Action = Adopt
		case was != nil && is == nil:
			change.Action = Release
		}
		change.Fields = append(outlivingDiff(w.before, w.after), fielddiff.Describe(kind, w.before, w.after)...)
		// The first pass over a parent may do nothing but add the finalizer.
		if w.key != p.key || len(change.Fields) > 0 {
			changes = append(changes, change)
		}
	}
	if w.statusPasses > 0 {
		if fields := stage.StatusDiffs(kind, w.before, w.after); len(fields) > 0 {
			changes = append(changes, Change{Action: Status, Key: w.key, Fields: fields})
		}
	}
	return changes
}

// outlivingDiff returns the difference, or none, of what becomes of an object that is deleted with its parent or outlives that.
func outlivingDiff(before, after *unstructured.Unstructured) []fielddiff.Diff {
	const deleted, kept = "deleted with the parent", "kept by the namespace"
	was, is := apply.NamespaceOwnerOf(before) != nil, apply.NamespaceOwnerOf(after) != nil
	switch {
	case was && !is:
		return []fielddiff.Diff{{Path: "metadata.ownerReferences", From: kept, To: deleted}}
	case !was && is:
		return []fielddiff.Diff{{Path: "metadata.ownerReferences", From: deleted, To: kept}}
	default:
		return nil
	}
}

// fieldsOfRecreated returns in what an object that was recreated differed from what was wanted. What the API server and others added to
// it is no difference.
func (r *run) fieldsOfRecreated(ctx context.Context, p *progress, w *written) []fielddiff.Diff {
	if w.desired == nil || r.OnlyDestroyed {
		return nil
	}
	owner := p.last.Parent
	if owner == nil {
		owner = p.object
	}
	changes, err := r.session.Differences(ctx, owner, []*unstructured.Unstructured{w.before}, []*unstructured.Unstructured{w.desired})
	if err != nil || len(changes) != 1 {
		return nil // The pass has failed with it, or nothing differs that can be named.
	}
	return changes[0].Diffs()
}
