package parent

import (
	"context"
	"fmt"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// filterByNamespace drops creations in namespaces that are known to be unusable. It returns an
// error for each.
func (p *pass) filterByNamespace(changes []apply.Change) (kept []apply.Change, errs []error) {
	for _, change := range changes {
		if change.Action == apply.ActionCreate && change.Key.Namespace != "" && p.namespaceWaiters.IsUnusable(p.key, change.Key.Namespace) {
			err := fmt.Errorf("%s: namespace %q is not there, or is being deleted", change.Key, change.Key.Namespace)
			errs = append(errs, p.namespaceMissing(change.Key, err))
			continue
		}
		kept = append(kept, change)
	}
	return kept, errs
}

// namespaceMissing records that the parent waits for the namespace of a child, and returns the
// error. It returns nil for a parent that is deleted with its own namespace: a failure would
// keep its finalizer, and so the namespace.
func (p *pass) namespaceMissing(child apply.Key, err error) error {
	if p.missingNamespaces == nil {
		p.missingNamespaces = map[string]bool{}
	}
	p.missingNamespaces[child.Namespace] = true
	if child.Namespace == p.parent.GetNamespace() {
		p.env.Log.V(1).Info("child not created in a namespace that goes",
			"definition", p.config.Definition, "parent", p.key.String(), "child", child.String())
		return nil
	}
	err = fmt.Errorf("%w: it is made when there is a namespace %s that is not being deleted: create it, or let the hook choose another",
		err, child.Namespace)
	return &failure.Error{Reason: variant.ReasonApplyFailed, Retry: controller.NamespaceMissing, Err: err}
}

// awaitNamespaces has the parent synced when a namespace comes that it waits for.
func (p *pass) awaitNamespaces(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if err := p.namespaceWaiters.Set(p.key, p.missingNamespaces); err != nil {
		p.env.Log.Error(err, "namespaces can't be watched", "definition", p.config.Definition)
	}
}
