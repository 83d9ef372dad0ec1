package simulation

import (
	"context"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/access"
)

// Observer is called with what definitions do on clusters in memory. It may be called by several goroutines at once.
type Observer interface {
	// Wrote is called with each write of a pass.
	Wrote(plan *plan.Plan, write memcluster.Write)
	// Selected is called with what a customize hook selects for a parent in a namespace, which is empty for one without.
	Selected(plan *plan.Plan, namespace string, selection parent.Selection)
}

// verbs are those of requests, with the subresource.
var verbs = map[memcluster.Verb][2]string{
	memcluster.Create: {"create"}, memcluster.Update: {"update"}, memcluster.Patch: {"patch"}, memcluster.Delete: {"delete"},
	memcluster.UpdateStatus: {"update", "status"}, memcluster.PatchStatus: {"patch", "status"},
}

// RightsOf returns the rights that a write of an object of a definition takes. To apply an object that is not there takes the right to
// create it, too.
func RightsOf(plan *plan.Plan, write memcluster.Write) []access.Right {
	for _, resource := range plan.Resources() {
		if resource.Kind != write.Kind {
			continue
		}
		verb := verbs[write.Verb]
		right := access.Right{Verb: verb[0], GroupResource: resource.GroupResource(), Subresource: verb[1], Namespace: write.Namespace}
		rights := []access.Right{right}
		if write.Verb == memcluster.Patch && write.Before == nil {
			right.Verb = "create"
			rights = append(rights, right)
		}
		return rights
	}
	return nil
}

type observerKey struct{}

// WithObserver returns a context whose sessions are observed.
func WithObserver(ctx context.Context, observer Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, observer)
}

// observerOf returns the observer of a context, or nil.
func observerOf(ctx context.Context) Observer {
	observer, _ := ctx.Value(observerKey{}).(Observer)
	return observer
}
