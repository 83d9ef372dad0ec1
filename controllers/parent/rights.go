package parent

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// rightsInterval is when a parent that waits for rights is synced at the latest. The definition has it synced once they are granted.
const rightsInterval = 30 * time.Second

// Require makes parents wait until the account of the definition has some rights: those that required returns for any sync of a parent in
// a namespace, which is empty for one without. It is called before Watch.
func (r *Reconciler) Require(required func(namespace string) []access.Right) { r.required = required }

// awaitRights reports whether a parent waits because the definition's account lacks rights that any sync may need: then nothing is begun.
// What is unknown is left to the API server.
func (r *Reconciler) awaitRights(ctx context.Context, key controller.Key, parent *unstructured.Unstructured) bool {
	if r.required == nil || !r.checksRights() {
		return false
	}
	missing, _ := r.env.Access.Missing(ctx, r.required(parent.GetNamespace()))
	if len(missing) == 0 {
		return false
	}
	wait := variant.Wait{Reason: variant.ReasonForbidden, Message: r.config.Account.String() + " may not " + access.Describe(missing)}
	r.waits.Set(key, []variant.Wait{wait})
	r.noteState(key, parent, health.End{}, nil)
	r.warn(key, parent, notices.Problem{
		Reason: wait.Reason, Message: "the sync waits: " + wait.Message, Identity: wait.Message,
	})
	return true
}

// ResyncForbidden has the parents synced that wait for rights.
func (r *Reconciler) ResyncForbidden(queue Queue) {
	r.sources.EachParent(func(source *sources.Parent, parent *unstructured.Unstructured) {
		key := keyOf(source.Kind, parent)
		if waits := r.waits.Of(key); len(waits) == 1 && waits[0].Reason == variant.ReasonForbidden {
			queue.EnqueueAfter(key, 0)
		}
	})
}

// Namespaces returns the namespaces of the parents, sorted, with an empty one for parents without one.
func (r *Reconciler) Namespaces() []string {
	known := map[string]bool{}
	var all []string
	r.sources.EachParent(func(_ *sources.Parent, parent *unstructured.Unstructured) {
		if namespace := parent.GetNamespace(); !known[namespace] {
			known[namespace] = true
			all = append(all, namespace)
		}
	})
	slices.Sort(all)
	return all
}

// checkWrites returns an error if the account of the definition may not make all of some changes outside of the parent's namespace, where
// what it may is not known before. None is made then, so that nothing is half written.
func (p *pass) checkWrites(ctx context.Context, changes []apply.Change) error {
	if !p.checksRights() {
		return nil
	}
	var rights []access.Right
	for _, change := range changes {
		if change.Key.Namespace == p.parent.GetNamespace() {
			continue
		}
		for _, right := range RightsFor(change) {
			if !slices.Contains(rights, right) {
				rights = append(rights, right)
			}
		}
	}
	missing, _ := p.env.Access.Missing(ctx, rights)
	if len(missing) == 0 {
		return nil
	}
	err := errors.New(p.config.Account.String() + " may not " + access.Describe(missing) + ", and nothing is written before it may")
	return &failure.Error{Reason: variant.ReasonForbidden, Retry: controller.Waiting, Err: err}
}

// RightsFor returns the rights that a change of a child takes.
func RightsFor(change apply.Change) []access.Right {
	var verbs []string
	switch change.Action {
	case apply.ActionCreate:
		verbs = []string{"create"}
		if change.ServerSide != nil {
			verbs = append(verbs, "patch")
		}
	case apply.ActionUpdate:
		verbs = []string{"update"}
		if change.ServerSide != nil {
			verbs = []string{"patch"}
		}
	case apply.ActionAdopt, apply.ActionRelease, apply.ActionOrphan:
		verbs = []string{"patch"}
	case apply.ActionRecreate:
		verbs = []string{"delete", "create"}
	case apply.ActionDelete:
		verbs = []string{"delete"}
	}
	var rights []access.Right
	for _, verb := range verbs {
		rights = append(rights, access.Right{Verb: verb, GroupResource: change.Resource.GroupResource(), Namespace: change.Key.Namespace})
	}
	return rights
}

// checksRights reports whether the API server is asked what the account of the definition may do.
func (r *shared) checksRights() bool { return !r.config.Account.IsHost() && r.env.Access != nil }

// checksReads reports whether the API server is asked what hooks may be shown.
func (r *shared) checksReads() bool { return !r.config.Account.IsHost() && r.env.Reads != nil }

// mayRead returns an error unless the account of the definition may list and watch a resource in a namespace, or the objects of some names.
// It is called if checksReads.
func (r *shared) mayRead(ctx context.Context, resource schema.GroupVersionResource, namespace string, names ...string) error {
	return r.env.Reads.MayRead(identity.WithAccount(ctx, r.config.Account), resource, namespace, names...)
}

// checkReads returns an error unless the account of the definition may list and watch objects of a resource where they are. The caches are
// filled by the host's account, so that it is called before hooks are shown an object.
func (p *pass) checkReads(ctx context.Context, resource schema.GroupVersionResource, objects ...*unstructured.Unstructured) error {
	if !p.checksReads() {
		return nil
	}
	for i, object := range objects {
		namespace := object.GetNamespace()
		if i > 0 && objects[i-1].GetNamespace() == namespace {
			continue
		}
		if err := p.mayRead(ctx, resource, namespace); err != nil {
			return err
		}
	}
	return nil
}

// checkRelated is checkReads for the related objects of rules. A rule needs the right to read where it looks, as that there is nothing is
// an answer too.
func (p *pass) checkRelated(ctx context.Context, rules []*related.Rule, found []*unstructured.Unstructured) error {
	if !p.checksReads() {
		return nil
	}
	for _, rule := range rules {
		namespace, is := rule.Namespace()
		if is {
			if err := p.mayRead(ctx, rule.Resource().GroupVersionResource, namespace, rule.Names()...); err != nil {
				return err
			}
			continue
		}
		ofKind := slices.DeleteFunc(slices.Clone(found), func(o *unstructured.Unstructured) bool {
			return o.GroupVersionKind() != rule.Resource().Kind
		})
		if err := p.checkReads(ctx, rule.Resource().GroupVersionResource, ofKind...); err != nil {
			return err
		}
	}
	return nil
}
