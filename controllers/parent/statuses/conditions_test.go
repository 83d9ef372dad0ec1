package statuses

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestWithSyncConditions checks which conditions a status gets, and which stay.
func TestWithSyncConditions(t *testing.T) {
	now := time.Unix(1000, 0)
	const at, earlier = "1970-01-01T00:16:40Z", "1970-01-01T00:00:01Z"
	of := func(kind, status, reason, message, since string) map[string]any {
		return map[string]any{
			"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": int64(3), "lastTransitionTime": since,
		}
	}
	synced := of("Ready", "True", "ParentSynced", "the children are as the hooks want them, and ready", at)
	failed := errors.New("boom")
	conditions := func(all ...any) map[string]any { return map[string]any{"conditions": all} }
	for name, c := range map[string]struct {
		reason         string
		status, before map[string]any
		sync           health.Sync
		want           map[string]any
	}{
		"synced": {"Only Ready, which is True.", nil, nil, health.Sync{}, conditions(synced)},
		"written": {"Children that were just written may not be ready yet.", nil, nil, health.Sync{WroteChildren: true}, conditions(
			of("Ready", "False", "ChildrenProgressing", "its children have just been written", at),
			of("Reconciling", "True", "ChildrenProgressing", "its children have just been written", at))},
		"waits": {"A hook that waits goes on by itself.", nil, nil, health.Sync{Waits: []variant.Wait{{Reason: "NoImage", Message: "soon"}}}, conditions(
			of("Ready", "False", "ChildrenNotReady", variant.Wait{Reason: "NoImage", Message: "soon"}.String(), at),
			of("Reconciling", "True", "ChildrenNotReady", variant.Wait{Reason: "NoImage", Message: "soon"}.String(), at))},
		"fails again": {"Somebody has to act.", nil, nil, health.Sync{Err: failed, Retry: controller.Deterministic}, conditions(
			of("Ready", "False", "SyncFailed", "boom", at), of("Stalled", "True", "SyncFailed", "boom", at))},
		"may pass": {"A webhook may come back.", nil, nil, health.Sync{Err: failed, Retry: controller.HookFailed}, conditions(
			of("Ready", "False", "SyncFailed", "boom", at), of("Reconciling", "True", "SyncFailed", "boom", at))},
		"since before": {"The transition time stays while the status does.", nil, conditions(of("Ready", "True", "ParentSynced", "", earlier)), health.Sync{},
			conditions(of("Ready", "True", "ParentSynced", "the children are as the hooks want them, and ready", earlier))},
		"changed": {"It is now if the status changes.", nil, conditions(of("Ready", "False", "SyncFailed", "", earlier)), health.Sync{}, conditions(synced)},
		"copied": {"A hook may return the status of the parent: the host's old conditions go.",
			conditions(of("Ready", "False", "SyncFailed", "", earlier), map[string]any{"type": "Other"}, of("Stalled", "True", "SyncFailed", "", earlier)), nil, health.Sync{},
			conditions(map[string]any{"type": "Other"}, synced)},
		"the hook's": {"One of the hook's own means that all three are.", conditions(map[string]any{"type": "Stalled", "reason": "Mine"}), nil, health.Sync{},
			conditions(map[string]any{"type": "Stalled", "reason": "Mine"})},
		"no list": {"Who has other conditions keeps them.", map[string]any{"conditions": "none"}, nil, health.Sync{}, map[string]any{"conditions": "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, WithSyncConditions(c.status, c.before, c.sync, 3, now)); d != "" {
				t.Errorf("%s\n%s", c.reason, d)
			}
		})
	}
}
