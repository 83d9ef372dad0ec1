package rollout_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/test/env"
)

func hashOf(uid string) uint32 { return rollout.HashOf(types.UID(uid)) }

// TestKill kills the host at each state of rollouts of 40 parents over four steps: the end is the same, and no child is ever made by a third text.
// LIBRETTO_HOSTILE=long does so ten times each.
func TestKill(t *testing.T) {
	t.Parallel()
	times := 1
	if os.Getenv("LIBRETTO_HOSTILE") == "long" {
		times = 10
	}
	const parents = 40
	s := newScene(t, parents, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 1}, {parents: 10%, pauseSeconds: 1}, {parents: 50%}]}")
	before := "one"
	for round := range times {
		for n, state := range []string{
			"Progressing 1", "Progressing 1 pause", "Progressing 2", "Progressing 2 pause", "Progressing 3", "Progressing 4", "Complete",
		} {
			value := fmt.Sprintf("v%d-%d", round, n)
			s.killAt(state, before, value, parents)
			if before = value; t.Failed() {
				return
			}
		}
	}
}

// killAt edits the script, kills the host when a state is stored, and waits for the end.
func (s *scene) killAt(at, before, value string, parents int) {
	s.T.Helper()
	r := s.record()
	s.edit(value, "")
	for timeout := time.After(env.Timeout); ; {
		select {
		case seen := <-r.seen:
			if seen != at || at == "Complete" && len(r.all()) < 2 { // What is watched begins with the state before.
				continue
			}
		case <-timeout:
			s.T.Fatalf("it has not come to %q: %v\n%s", at, r.all(), s.describe())
		}
		break
	}
	s.Kill()
	state := s.rollout()
	for _, id := range []string{state.StableRevision, state.UpdatedRevision} {
		if id != "" && s.Get(env.ScriptRevisions, s.archived(id)) == nil {
			s.T.Errorf("killed at %s: revision %s is not archived", at, id)
		}
	}
	s.start()
	s.waitForValues(map[string]int{value: parents})
	s.Eventually(func() error {
		if state := s.rollout(); state.Phase != v1alpha1.ScriptsComplete || state.UpdatedRevision != "" {
			return fmt.Errorf("%s", s.describe())
		}
		return nil
	})
	if status := s.status(); status.ScriptRevisionHash != status.ScriptRollout.StableRevision {
		s.T.Errorf("killed at %s: revision %s serves, and %s is stable", at, status.ScriptRevisionHash, status.ScriptRollout.StableRevision)
	}
	r.check(s.T, before, value)
	for name, values := range r.once() {
		if len(values) > 2 {
			s.T.Errorf("killed at %s: %s went %v", at, name, values)
		}
	}
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.states)
}

// once returns the values that each child had, one after another.
func (r *recorder) once() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string][]string{}
	for name, values := range r.values {
		all[name] = slices.Clone(values)
	}
	return all
}
