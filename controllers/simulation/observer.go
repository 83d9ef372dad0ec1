package simulation

import (
	"context"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// Observer is told what definitions do on clusters in memory. It may be called by several goroutines at once.
type Observer interface {
	// Wrote is called with each write of a pass.
	Wrote(plan *plan.Plan, write memcluster.Write)
	// Selected is called with what a customize hook selects for a parent in a namespace, which is empty for one without.
	Selected(plan *plan.Plan, namespace string, selection parent.Selection)
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
