package simulation

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
)

// started returns a session before its first pass.
func started(tb testing.TB) *Session {
	tb.Helper()
	s, err := run(tb, composite)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func forkOf(tb testing.TB, state *State) *Session {
	tb.Helper()
	fork, err := state.Run(tb.Context(), testclock.NewFakeClock(time.Unix(0, 0)), map[string]engines.Program{"sync": program{}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(fork.Close)
	return fork
}

// TestFork goes on twice from one state: neither sees what the other does.
func TestFork(t *testing.T) {
	s := started(t)
	state := s.State()
	expectPass(t, s, "create ConfigMap a", "update status Box a")
	s.Close()
	for range 2 {
		fork := forkOf(t, state)
		expectPass(t, fork, "create ConfigMap a", "update status Box a")
		expectPass(t, fork)
	}
	if objects := state.Objects(); len(objects) != 1 {
		t.Errorf("the state has changed: %d objects", len(objects))
	}
}

// TestInterrupt ends the host's process after one write.
func TestInterrupt(t *testing.T) {
	s := started(t)
	s.Interrupt(1)
	result, err := s.Reconcile(t.Context(), object(t, parentBox))
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range result.Writes {
		if (w.Err != nil) != (i > 0) {
			t.Errorf("write %d, %s %s: %v", i, w.Verb, w.Name, w.Err)
		}
	}
	if !s.Interrupted() {
		t.Error("no write was refused")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectPass(t, s, "update status Box a")
}

// TestLostResponse does a write and answers with a timeout.
func TestLostResponse(t *testing.T) {
	s := started(t)
	s.Refuse(memcluster.Refusal{Verb: memcluster.Create, Resource: "configmaps", Reason: metav1.StatusReasonTimeout, Times: 1, Stored: true})
	result, err := s.Reconcile(t.Context(), object(t, parentBox))
	if err != nil {
		t.Fatal(err)
	}
	if first := result.Writes[0]; !apierrors.IsTimeout(first.Err) || first.After == nil || result.Err == nil {
		t.Errorf("the first write: error %v, stored %v; the pass: %v", first.Err, first.After != nil, result.Err)
	}
	expectPass(t, s)
}

// TestHold shows the host its own write and another client's edit late.
func TestHold(t *testing.T) {
	s := started(t)
	expectPass(t, s, "create ConfigMap a", "update status Box a")
	s.PauseWatch(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "boxes"})
	err := s.Edit(t.Context(), func(client dynamic.Interface) error {
		at, err := s.Cluster().Endpoint(client, object(t, parentBox))
		if err != nil {
			return err
		}
		_, err = at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"mode":"fast"}}`), metav1.PatchOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	expectPass(t, s)
	if err := s.ResumeWatches(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectPass(t, s, "update ConfigMap a", "update status Box a")
}

// TestRefusalsAreTheHosts checks that other clients can still write.
func TestRefusalsAreTheHosts(t *testing.T) {
	s := started(t)
	s.Interrupt(0)
	err := s.Edit(t.Context(), func(client dynamic.Interface) error {
		at, err := s.Cluster().Endpoint(client, object(t, parentBox))
		if err != nil {
			return err
		}
		return at.Delete(t.Context(), "a", metav1.DeleteOptions{})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRestartNeedsADefinition checks that a session whose definition was refused says so.
func TestRestartNeedsADefinition(t *testing.T) {
	if err := (&Session{}).Restart(t.Context()); err == nil || errors.Is(err, t.Context().Err()) {
		t.Errorf("restarted without a definition: %v", err)
	}
}

func BenchmarkFork(b *testing.B) {
	state := started(b).State()
	for b.Loop() {
		fork, err := state.Run(b.Context(), testclock.NewFakeClock(time.Unix(0, 0)), map[string]engines.Program{"sync": program{}})
		if err != nil {
			b.Fatal(err)
		}
		fork.Close()
	}
}
