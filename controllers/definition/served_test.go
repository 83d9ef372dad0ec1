package definition

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestStatusHasBothRevisions checks that the status has the digits for people and the whole hash, which is read back.
func TestStatusHasBothRevisions(t *testing.T) {
	s := &runtimeState{}
	id := scripts.RevisionID("0123456789abcdef" + strings.Repeat("7", 48))
	status := s.statusOf(definitionWith(t, "a", 1, nil), statusView{running: runningView{revision: id}})
	if diff := cmp.Diff([]string{"0123456789abcdef", string(id)}, []string{status.ScriptRevision, status.ScriptRevisionHash}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := rollout.ServedRevision(status); got != id {
		t.Errorf("read back as %q", got)
	}
	none := s.statusOf(definitionWith(t, "a", 1, &status), statusView{})
	if none.ScriptRevision != "" || none.ScriptRevisionHash != "" {
		t.Errorf("without scripts the status has %q and %q", none.ScriptRevision, none.ScriptRevisionHash)
	}
}

// TestThousandFailingParents has parents that begin to fail, fail in other ways and recover all the time for a minute, as their controller
// would tell it.
func TestThousandFailingParents(t *testing.T) {
	s := &runtimeState{}
	view := ready(metav1.ConditionTrue, "Running")
	begin, writes := time.Unix(100, 0), 0
	for tick := range 600 {
		failures := []parent.Health{failing("a", "HookFailed", string(rune('a'+tick%26)))}
		view.running.parents = status.Parents{Summary: &parent.Summary{Parents: 1000, Failing: int32(1 + tick%1000), Failures: failures}}
		next := s.statusOf(definitionWith(t, "1", 1, s.status), view)
		if s.parentsDelay(next, begin.Add(time.Duration(tick)*100*time.Millisecond)) == 0 {
			s.status = &next
			writes++
		}
	}
	if writes > 14 || writes < 10 {
		t.Errorf("the status was written %d times in a minute, want one in five seconds besides the first", writes)
	}
}
