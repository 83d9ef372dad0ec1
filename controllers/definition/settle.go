package definition

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
)

// awaitsEdit reports whether the scripts of a new spec may be about to be edited as well: they come from the sources that serve, and have
// not been edited just before. An edit from before the start of the spec that serves belongs to that one.
func awaitsEdit(serving *instance, next *plan.Plan) bool {
	if serving == nil || serving.hooks.Tree == nil {
		return false
	}
	since := time.Now().Add(-hooks.SettleTime)
	if serving.startedAt.After(since) {
		since = serving.startedAt
	}
	same := equality.Semantic.DeepEqual(serving.plan.Settings.ScriptSources, next.Settings.ScriptSources)
	return same && !serving.hooks.Tree.EditedSince(since)
}

// unsettledFor returns how long no edit of the scripts begins to be rolled out because spec.scriptRollout has just changed, and the scripts
// may be about to: whoever takes a pin away may apply the corrected text after it.
func (s *runtimeState) unsettledFor(i *instance, now time.Time) time.Duration {
	if len(i.plan.Settings.ScriptSources) == 0 || s.rolloutEditedAt.IsZero() {
		return 0
	}
	if i.hooks.Tree.EditedSince(s.rolloutEditedAt.Add(-hooks.SettleTime)) {
		return 0
	}
	return max(0, s.rolloutEditedAt.Add(hooks.SettleTime).Sub(now))
}

// suspendScripts keeps the scripts of the instances that sync parents as they are while a newer spec waits to take over, or is refused:
// what the sources hold now is meant for that one.
func (s *runtimeState) suspendScripts(refusal *plan.Refusal) {
	for _, i := range []*instance{s.running, s.updated} {
		if i != nil && i.hooks.Tree != nil {
			i.hooks.Tree.Suspend(i != s.newest || refusal != nil)
		}
	}
}
