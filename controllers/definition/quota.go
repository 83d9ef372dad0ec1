package definition

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// reasonQuotaExceeded is the reason of the condition Accepted of a definition that is one too many in its namespace.
const reasonQuotaExceeded = "QuotaExceeded"

// checkQuota refuses a definition if its namespace has as many older ones as it may have. So a new definition stops no other.
func (r *Reconciler) checkQuota(object *unstructured.Unstructured) *plan.Refusal {
	most, namespace := r.config.Admission.DefinitionsPerNamespace, object.GetNamespace()
	if namespace == "" || most <= 0 {
		return nil
	}
	older := 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cache := range r.kinds {
		others, err := cache.Select(namespace, labels.Everything())
		if err != nil {
			continue // The selector selects everything.
		}
		for _, other := range others {
			if r.config.Admission.Target.Matches(labels.Set(other.GetLabels())) && isOlder(other, object) {
				older++
			}
		}
	}
	if older < most {
		return nil
	}
	return &plan.Refusal{Reason: reasonQuotaExceeded, Err: fmt.Errorf(
		"namespace %s has %d older definitions, and may have %d in all on this host (--definitions-per-namespace): "+
			"delete one, or ask who runs the host for more", namespace, older, most)}
}

// isOlder reports whether a definition was created before another one of its namespace. Of those of one second the accepted ones come
// first.
func isOlder(a, b *unstructured.Unstructured) bool {
	made, other := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !made.Equal(&other) {
		return made.Before(&other)
	}
	return cmp.Or(isAccepted(b)-isAccepted(a), strings.Compare(apply.KeyOf(a).String(), apply.KeyOf(b).String())) < 0
}

// isAccepted returns 1 if a status says that its definition is accepted, and otherwise 0.
func isAccepted(definition *unstructured.Unstructured) int {
	if meta.IsStatusConditionTrue(v1alpha1.StoredStatus(definition).Conditions, v1alpha1.ConditionAccepted) {
		return 1
	}
	return 0
}

// sharedWorkers lets so many parents of all definitions of a namespace be reconciled at once as there are workers of one definition.
type sharedWorkers struct {
	controller.Reconciler
	slots chan struct{}
}

// Reconcile waits for a slot.
func (s sharedWorkers) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return controller.Result{}, ctx.Err()
	}
	defer func() { <-s.slots }()
	return s.Reconciler.Reconcile(ctx, key)
}

// withWorkersOf returns a reconciler of parents of a definition in a namespace, which may be empty.
func (r *Reconciler) withWorkersOf(namespace string, reconciler controller.Reconciler) controller.Reconciler {
	if namespace == "" {
		return reconciler
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	slots := r.workers[namespace]
	if slots == nil {
		slots = make(chan struct{}, max(r.config.Workers, 1))
		r.workers[namespace] = slots
	}
	return sharedWorkers{reconciler, slots}
}
