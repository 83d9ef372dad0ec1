package simulation

import (
	"context"
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// State is what is left of a session when its host ends: the cluster. It never changes. It is small: sessions and states share objects.
type State struct{ session Session }

// State returns the present state.
func (s *Session) State() *State {
	st := &State{session: *s}
	st.session.running, st.session.processed = nil, progress{}
	st.session.cluster, st.session.known = s.cluster.Copy(s.clock), maps.Clone(s.known)
	return st
}

// Objects returns copies of all objects, by kind, namespace and name.
func (st *State) Objects() []*unstructured.Unstructured { return st.session.cluster.Objects() }

// Versions returns the resourceVersion of each object.
func (st *State) Versions() map[objectkey.Key]string { return st.session.cluster.Versions() }

// Run returns a session that goes on from the state with a clock and programs of its own. It must be closed.
func (st *State) Run(ctx context.Context, clock clock.WithTicker, programs map[string]engines.Program) (*Session, error) {
	s := st.session
	s.clock, s.cluster, s.known = clock, st.session.cluster.Copy(clock), maps.Clone(st.session.known)
	s.programs = programs
	return &s, s.Restart(ctx)
}

// Restart replaces the process of the host: only the state of the cluster is kept.
func (s *Session) Restart(ctx context.Context) error {
	if s.plan == nil {
		return errors.New("the session has no definition")
	}
	s.cluster.Resume()
	return s.Start(ctx, s.plan, s.programs)
}

// Interrupt ends the process of the host after a number of writes: those after it are refused until Restart.
func (s *Session) Interrupt(after int) { s.cluster.Interrupt(after) }

// Interrupted reports whether a write was refused because of Interrupt.
func (s *Session) Interrupted() bool { return s.cluster.Interrupted() }

// PauseWatch keeps changes of a resource from the host until ResumeWatches, as a watch does that lags behind.
func (s *Session) PauseWatch(resource schema.GroupVersionResource) { s.cluster.PauseWatch(resource) }

// ResumeWatches shows the host the changes that PauseWatch kept back, and returns when it has processed them.
func (s *Session) ResumeWatches(ctx context.Context) error {
	s.cluster.ResumeWatches()
	if s.running == nil {
		return nil
	}
	s.processed = progress{}
	return s.barrier(ctx, s.running.pool)
}

// Resource returns the plural name of a kind, or empty if the cluster does not have it.
func (st *State) Resource(kind schema.GroupVersionKind) string {
	resource, err := st.session.cluster.ResourceOf(kind)
	if err != nil {
		return ""
	}
	return resource.GroupVersionResource.Resource
}
