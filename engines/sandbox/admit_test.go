package sandbox

import (
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// TestBackgroundCalls checks that what calls in the background cost holds back no other calls about objects of those names.
func TestBackgroundCalls(t *testing.T) {
	now := func() time.Time { return time.Unix(0, 0) }
	p := &Pool{loads: newBreaker(now, loadsFormat), calls: newBreaker(now, callsFormat), probation: newProbation(now)}
	about := func(background bool) task {
		call := engines.Call{Origin: engines.Origin{ID: "x", Namespace: "a"}, Background: background}
		return task{owner: "CompositeController c", kind: protocol.KindCall, call: call}
	}
	prog := &program{name: "p"}
	for range failureThreshold {
		f, finish, refused := p.admit(t.Context(), prog, about(true))
		if refused != nil || !f.background || f.probation {
			t.Fatalf("a call in the background: flow %+v, refused: %v", f, refused)
		}
		finish(effect{load: answered, call: fatal, err: &engines.Error{Kind: engines.Timeout, Message: "late"}})
	}
	if _, _, refused := p.admit(t.Context(), prog, about(true)); refused == nil {
		t.Error("calls in the background that cost three workers are not held back")
	}
	f, finish, refused := p.admit(t.Context(), prog, about(false))
	if refused != nil || f.background || f.probation {
		t.Fatalf("another call: flow %+v, refused: %v, want one that is not on probation", f, refused)
	}
	finish(effect{load: answered, call: answered})
}
