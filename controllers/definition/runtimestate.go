package definition

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// hosted is what runs for one definition. It belongs to the one pass over the
// definition that can be under way.
type runtimeState struct {
	running *instance // syncs parents
	next    *instance // is of a newer spec, and waits for its scripts
	// former have been replaced and still hold parents that are to be let go.
	retiring []retiring
	// removed warns of resources that the spec before the running one had.
	removedWarnings []warning
	// told is what the last events said, so that each thing is said once.
	lastEvents lastEvents
	// seen is the spec that was seen last, and since when it was first seen.
	specVersion specVersion
	specSeenAt  time.Time
	// status is what this host last had to tell, or nil. It is on the object, unless the
	// schema has no room for it.
	status *v1alpha1.DefinitionStatus
	// object is the definition as it was last seen, for events about its end.
	object *unstructured.Unstructured
}

func (r *Reconciler) stateFor(key controller.Key) *runtimeState {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states[key]
	if s == nil {
		s = &runtimeState{}
		r.states[key] = s
	}
	return s
}

// refused drops what was being prepared for a spec that is now refused, and
// stops what runs if its own resources are no longer there.
func (r *Reconciler) onRefused(key controller.Key, s *runtimeState) {
	s.next.close()
	s.next = nil
	if s.running == nil {
		return
	}
	for _, resource := range s.running.plan.resources() {
		if _, err := r.planner.Find(resource.GroupVersion().String(), resource.GroupVersionResource.Resource); err != nil {
			r.stop(key, s)
			return
		}
	}
}

// prepare builds the plan unless it is built already.
func (r *Reconciler) prepare(s *runtimeState, p *Plan) *Refusal {
	switch {
	case s.next != nil && s.next.plan.equal(p):
		return nil
	case s.next == nil && s.running != nil && s.running.plan.equal(p):
		return nil
	}
	s.next.close()
	s.next = nil
	served := ""
	if s.running == nil {
		served = storedStatus(s.object).ScriptRevision // Else the earlier spec goes on.
	}
	next, err := r.build(p, served)
	if err != nil {
		return &Refusal{reasonInvalid, err}
	}
	s.next = next
	return nil
}

// advance lets the next instance take over once its scripts have loaded and its
// credentials are there, and syncs all parents again when those of the one that
// runs, or its schemas, have changed.
func (r *Reconciler) advance(key controller.Key, object *unstructured.Unstructured, s *runtimeState) {
	if s.next.ready() {
		s.setRemovedWarnings()
		s.retiring = append(s.retiring, newRetiring(s.running, s.next)...)
		s.running, s.next = s.next, nil
		r.event(object, corev1.EventTypeNormal, "Starting", "Starting controller: "+key.Name)
		s.running.lastInputs = s.running.inputs()
		r.config.ScriptMetrics.Serves(key.String(), s.running.lastInputs.revision)
		r.config.Host.Start(key.String(), s.running.run)
		r.event(object, corev1.EventTypeNormal, "Started", "Started controller: "+key.Name)
		r.config.Environment.Log.Info("controller started", "definition", key.String(), "generation", s.running.plan.generation)
	}
	if s.running == nil {
		return
	}
	now := s.running.inputs()
	if now == s.running.lastInputs {
		return
	}
	s.running.lastInputs = now
	r.config.ScriptMetrics.Serves(key.String(), now.revision)
	s.running.reconciler.Resync(s.running.queue, r.config.ReloadSpread)
}

// remove stops what runs for a definition that is gone, if object is nil, or is no
// longer this host's, which it tells. With a definition that is gone its finalizers go too,
// as nobody else would take them off.
func (r *Reconciler) remove(ctx context.Context, key controller.Key, object *unstructured.Unstructured) error {
	r.mu.Lock()
	s := r.states[key]
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	s.next.close()
	s.next = nil
	r.config.Host.Stop(key.String())
	if object == nil {
		if err := errors.Join(r.closeRetiring(ctx, s), r.release(ctx, s)); err != nil {
			return fmt.Errorf("%s: taking its finalizers off: %w", key, err)
		}
	}
	s.abandonRetiring()
	r.stop(key, s)
	if object != nil {
		if err := r.writeNotHosted(ctx, object, s); err != nil {
			return err
		}
	}
	r.mu.Lock()
	delete(r.states, key)
	r.mu.Unlock()
	r.status.Forget(key)
	r.config.Metrics.Forget(loopName(key))
	r.config.Environment.Metrics.Forget(key.String())
	r.config.Failover.Forget(key.String())
	r.config.ScriptMetrics.Forget(key.String())
	return nil
}

// stop ends the instance that runs.
func (r *Reconciler) stop(key controller.Key, s *runtimeState) {
	if s.running == nil {
		return
	}
	r.event(s.object, corev1.EventTypeNormal, "Stopping", "Stopping controller: "+key.Name)
	r.config.Host.Stop(key.String())
	s.running.close()
	s.running = nil
	r.config.ScriptMetrics.Serves(key.String(), "")
	r.event(s.object, corev1.EventTypeNormal, "Stopped", "Stopped controller: "+key.Name)
	r.config.Environment.Log.Info("controller stopped", "definition", key.String())
}
