package composite

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// orderCases are about the order of updates when all children are available.
func orderCases() map[string]rollingUpdateCase {
	return map[string]rollingUpdateCase{
		"FirstPass": {
			reason:     "New children are created at once.",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c"},
		},
		"Steady": {
			reason: "Nothing is written if nothing differs.", revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c ="},
		},
		"First": {
			reason: "A change starts with the first child of the hook.", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"HookOrder": {
			reason: "The order is the hook's, not that of names.", names: "c a b", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "c=v2 a=v1 b=v1", wantCondition: updating + "c", wantRevisions: []string{"v2: c", "v1: a b"},
		},
		"Second": {
			reason: "The next child follows when the first is available.", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: a b", "v1: c"},
		},
		"Last": {
			reason: "The last child completes the rollout, and its old revision is history.", revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: a b c", "v1:"},
		},
		"Done": {
			reason: "Then all children are of the update revision.", revisions: []string{"v1:", "v2: a b c"}, children: "a=v2 b=v2 c=v2",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c =", "v1: ="},
		},
		"Third": {
			reason: "A new change in the middle starts with the first child again; the others keep their revision.", image: "v3",
			revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1",
			wantImages: "a=v3 b=v2 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v3: a", "v1: c =", "v2: b"},
		},
		"Rollback": {
			reason: "The old template is the present one again, and its children need no update.", image: "v1",
			revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v1: a b c", "v2:"},
		},
		"RollbackBroken": {
			reason: "A child that the new template broke does not block a rollback.", image: "v1", strategy: ready,
			revisions: []string{"v1: b c", "v2: a"}, children: "a=v2! b=v1 c=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v1: a b c", "v2:"},
		},
		"RollbackMissing": {
			reason: "A child that was deleted for the new template is created from the old one.", image: "v1",
			revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: onLatest, wantRevisions: []string{"v1: a b c", "v2:"},
			edit: answering(func(body map[string]any, call variant.Call) {
				if imageOf(call) == "v2" {
					body["children"] = []any{}
				}
			}),
		},
		"RollbackToHistory": {
			reason: "A revision of the history can be the update revision again.", image: "v1",
			revisions: []string{"v1:", "v2: a b c"}, children: "a=v2 b=v2 c=v2",
			wantImages: "a=v1 b=v2 c=v2", wantCondition: updating + "a", wantRevisions: []string{"v1: a", "v2: b c"},
		},
		"UnchangedUpdatedAtOnce": {
			reason:    "Children that the update revision would leave unchanged are assigned to it, in any number.",
			revisions: []string{"v1: a b c"}, children: "a=v2 b=v2 c=v1",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: a b c", "v1:"},
		},
	}
}

// healthCases are about what a rollout waits for.
func healthCases() map[string]rollingUpdateCase {
	return map[string]rollingUpdateCase{
		"Missing": {
			reason: "An updated child must exist before the next update.", revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is missing", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"Deleting": {
			reason: "A child that is being deleted is unavailable.", revisions: []string{"v1: b c", "v2: a"}, children: "a=v1- b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is being deleted", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"NotUpdated": {
			reason: "A host that was killed between the writes of revision and child continues there.", revisions: []string{"v1: b c", "v2: a"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is not updated yet", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"CheckFails": {
			reason: "A status check that fails stops the rollout.", strategy: ready, revisions: []string{"v1: b c", "v2: a"}, children: "a=v2! b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which has condition Ready with status False in place of True", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"CheckRecovers": {
			reason: "When it passes again the rollout continues.", strategy: ready, revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: a b", "v1: c"},
		},
		"CheckAbsent": {
			reason: "A missing condition does not pass.", strategy: `statusChecks: {conditions: [{type: Live}]}`, revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v2 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: waiting + "c waits for a, which has no condition Live yet, and for 1 more", wantRevisions: []string{"v2: a b", "v1: c"},
		},
		"CheckReason": {
			reason: "A reason is checked if one is given.", strategy: `statusChecks: {conditions: [{type: Ready, reason: Other}]}`, revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which has condition Ready with reason Because in place of Other", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"CheckAnyStatus": {
			reason: "Without status and reason the condition only has to exist.", strategy: `statusChecks: {conditions: [{type: Ready}]}`, revisions: []string{"v1: b c", "v2: a"}, children: "a=v2! b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: a b", "v1: c"},
		},
		"ObservedGeneration": {
			reason: "observedGeneration of a child updated in place must be current.", method: "RollingInPlace", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2~ b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which has status.observedGeneration 1 of 2", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"ObservedGenerationRecreated": {
			reason: "That of a recreated child need not be.", method: "RollingRecreate", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2~ b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: a b", "v1: c"},
		},
		"OldMissing": {
			reason: "A child that is lost while others wait is created from its old revision.", strategy: ready, revisions: []string{"v1: b c", "v2: a"}, children: "a=v2! b=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which has condition Ready with status False in place of True, and for 1 more", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"OldMissingAvailable": {
			reason: "If all others are available, it is created from the update revision, before its turn.", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1",
			wantImages: "a=v2 b=v1 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: a c", "v1: b"},
		},
		"OldDeleting": {
			reason: "An old child that is being deleted is unavailable too.", strategy: "paused: false", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2- b=v1- c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is being deleted", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"OldUnhealthy": {
			reason: "An unhealthy child of an old revision is updated first.", strategy: ready, revisions: []string{"v1: a b c"}, children: "a=v1 b=v1! c=v1",
			wantImages: "a=v1 b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: b", "v1: a c"},
		},
		"AllOldUnhealthy": {
			reason: "If all are unhealthy, they are updated one at a time.", strategy: ready, revisions: []string{"v1: a b c"}, children: "a=v1! b=v1! c=v1!",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"OldUnhealthyHeld": {
			reason: "No child waits for an unhealthy one that is held.", strategy: ready + ", partition: 1", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1!",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"AllUpdatedUnhealthy": {
			reason: "The condition is about revisions: a child that becomes unhealthy later does not change it.", strategy: ready, revisions: []string{"v2: a b c"}, children: "a=v2! b=v2",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c ="},
		},
	}
}

// changeCases are about children that are added and removed during a rollout.
func changeCases() map[string]rollingUpdateCase {
	return map[string]rollingUpdateCase{
		"Removed": {
			reason: "A child that is no longer desired is forgotten.", names: "a c", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: a c", "v1:"},
		},
		"RemovedWaiting": {
			reason: "The rollout does not wait for a child that is no longer desired.", names: "b c", revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			wantImages: "b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: b", "v1: c"},
		},
		"Added": {
			reason: "A new child is created from the update revision, and the rollout waits for it.", names: "a b c d", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1 d=v2", wantCondition: waiting + "b waits for d, which is missing", wantRevisions: []string{"v2: a d", "v1: b c ="},
		},
		"AddedThere": {
			reason: "The rollout continues when it exists.", names: "a b c d", revisions: []string{"v1: b c", "v2: a d"}, children: "a=v2 b=v1 c=v1 d=v2",
			wantImages: "a=v2 b=v2 c=v1 d=v2", wantCondition: updating + "b", wantRevisions: []string{"v2: a b d", "v1: c"},
		},
		"AllRemoved": {
			reason: "A parent without children is up to date.", names: "a", revisions: []string{"v1: b c"}, children: "b=v1 c=v1",
			wantImages: "a=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a", "v1:"},
		},
		"StaleChildren": {
			reason: "Names of children that no revision wants are pruned.", revisions: []string{"v1: x y", "v2: a b c z"}, children: "a=v2 b=v2 c=v2",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c", "v1:"},
		},
		"ListedTwice": {
			reason: "The update revision takes precedence.", revisions: []string{"v1: a b c", "v2: a b"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: waiting + "c waits for b, which is not updated yet", wantRevisions: []string{"v2: a b =", "v1: c"},
		},
		"ListedTwiceByOld": {
			reason: "Of old revisions the newer one counts.", image: "v3", strategy: "paused: true", revisions: []string{"v1: a b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "a waits: the rolling update is paused", wantRevisions: []string{"v3:", "v1: b c", "v2: a ="},
		},
		"Unlisted": {
			reason: "Children that no revision lists stay unchanged until their turn.", children: "a=v1 b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v2", wantKeep: "b c", wantCondition: updating + "a", wantRevisions: []string{"v2: a"},
		},
		"UnlistedUpToDate": {
			reason: "Those that are up to date are of the update revision.", children: "a=v2 b=v2 c=v2",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c"},
		},
		"OldDoesNotWant": {
			reason:    "A child that its revision no longer wants stays unchanged until its turn.",
			revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit: answering(func(body map[string]any, call variant.Call) {
				if imageOf(call) == "v1" {
					body["children"] = body["children"].([]any)[:2]
				}
			}),
			wantImages: "a=v2 b=v1 c=v2", wantKeep: "c", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"ElsewhereChanged": {
			reason:    "A change outside of fieldPaths reaches all children at once, each in its revision.",
			revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			edit: answering(func(body map[string]any, call variant.Call) {
				for _, child := range body["children"].([]any) {
					child.(map[string]any)["spec"].(map[string]any)["size"] = int64(2)
				}
			}),
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is not updated yet, and for 1 more", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
	}
}

// limitCases are about maxUnavailable, partition, paused and the deadline.
func limitCases() map[string]rollingUpdateCase {
	four := "a b c d"
	return map[string]rollingUpdateCase{
		"Two": {
			reason: "Two may be unavailable at once.", strategy: "maxUnavailable: 2", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: updating + "a, b", wantRevisions: []string{"v2: a b", "v1: c"},
		},
		"TwoOneDown": {
			reason: "One that is already unavailable counts.", strategy: "maxUnavailable: 2", revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: a b", "v1: c"},
		},
		"TwoBothDown": {
			reason: "With two unavailable the third waits.", strategy: "maxUnavailable: 2", revisions: []string{"v1: c", "v2: a b"}, children: "c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: waiting + "c waits for a, which is missing, and for 1 more", wantRevisions: []string{"v2: a b =", "v1: c ="},
		},
		"Many": {
			reason: "The message names at most three updated children.", names: four, strategy: "maxUnavailable: 100%", revisions: []string{"v1: a b c d"}, children: "a=v1 b=v1 c=v1 d=v1",
			wantImages: "a=v2 b=v2 c=v2 d=v2", wantCondition: updating + "a, b, c and 1 more", wantRevisions: []string{"v2: a b c d", "v1:"},
		},
		"Half": {
			reason: "A percentage is of the desired children.", names: four, strategy: "maxUnavailable: 50%", revisions: []string{"v1: a b c d"}, children: "a=v1 b=v1 c=v1 d=v1",
			wantImages: "a=v2 b=v2 c=v1 d=v1", wantCondition: updating + "a, b", wantRevisions: []string{"v2: a b", "v1: c d"},
		},
		"QuarterOfThree": {
			reason: "It is rounded down, but not below one.", strategy: "maxUnavailable: 25%", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"Partition": {
			reason: "The last ones keep their revision.", strategy: "partition: 2", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits: partition 2 holds it back", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"PartitionBefore": {
			reason: "Those before them do not.", strategy: "partition: 2", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"PartitionMissing": {
			reason: "A lost one is created from its old revision.", strategy: "partition: 3", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: waiting + "a waits: partition 3 holds it back", wantRevisions: []string{"v2:", "v1: a b c ="},
		},
		"PartitionLarger": {
			reason: "It may be larger than the number of children.", strategy: "partition: 9", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: waiting + "a waits: partition 9 holds it back", wantRevisions: []string{"v2:", "v1: a b c ="},
		},
		"Paused": {
			reason: "A paused rollout updates no child.", strategy: "paused: true", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits: the rolling update is paused", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"PausedDone": {
			reason: "Without an update to start it makes no difference.", strategy: "paused: true", revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c ="},
		},
		"DeadlineAhead": {
			reason: "Until the deadline the rollout waits, and requests a resync then.", strategy: "progressDeadlineSeconds: 100", revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is missing", wantResync: 40, wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"DeadlineExceeded": {
			reason: "After it the reason is ProgressDeadlineExceeded.", strategy: "progressDeadlineSeconds: 60", revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: deadlineExceeded + "b waits for a, which is missing: nothing has moved for 60 seconds or more", wantRevisions: []string{"v2: a =", "v1: b c ="},
			wantWarnings: []string{"nothing has moved for 60 seconds or more"},
		},
		"DeadlineFromLastStart": {
			reason: "It counts from the last start of an update.", strategy: "progressDeadlineSeconds: 60", revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			edit: func(e *env) {
				e.revisions[1].SetAnnotations(map[string]string{updateStartedAt: formatTime(start.Add(-20 * time.Second))})
			},
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is missing", wantResync: 40, wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"DeadlinePaused": {
			reason: "A rollout that is held on purpose has no deadline.", strategy: "progressDeadlineSeconds: 1, paused: true", revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits: the rolling update is paused", wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"DeadlineContinues": {
			reason: "A stuck rollout continues when it can.", strategy: "progressDeadlineSeconds: 1", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: a b", "v1: c"},
		},
	}
}

// answerCases are about the answers of the hook.
func answerCases() map[string]rollingUpdateCase {
	half := func(body map[string]any, call variant.Call) {
		body["resyncAfterSeconds"] = 9.0
		if imageOf(call) == "v1" {
			body["resyncAfterSeconds"] = 2.5
		}
	}
	return map[string]rollingUpdateCase{
		"NoStatus": {
			reason: "A hook need not return a status.", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit:       answering(func(body map[string]any, _ variant.Call) { delete(body, "status") }),
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"OwnUpdated": {
			reason: "A condition Updated of the hook's own stays, and the rollout continues.", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit: answering(func(body map[string]any, _ variant.Call) {
				body["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Updated", "status": "Unknown", "reason": "Mine", "message": "so"}}}
			}),
			wantImages: "a=v2 b=v1 c=v1", wantCondition: "Unknown Mine: so", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"EchoedUpdated": {
			reason: "One that the hook copies from the parent is the host's, and follows the rollout.", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit: answering(func(body map[string]any, _ variant.Call) {
				body["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Updated", "status": "True", "reason": "OnLatestRevision"}}}
			}),
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"StrangeConditions": {
			reason: "Conditions that are no list stay unchanged.", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit: answering(func(body map[string]any, _ variant.Call) {
				body["status"] = map[string]any{"conditions": map[string]any{"good": true}}
			}),
			wantImages: "a=v2 b=v1 c=v1", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"LatestFails": {
			reason: "Without the answer for the update revision nothing is decided.", revisions: []string{"v1: b c", "v2: a"}, edit: failing("v2"), wantErr: "boom",
		},
		"OldFails": {
			reason: "Nor without that for an old one, which the error names.", revisions: []string{"v1: b c", "v2: a"}, edit: failing("v1"), wantErr: "ControllerRevision sets.test.example-",
		},
		"HistoryNotCalled": {
			reason: "The hook is not called for a revision without children.", revisions: []string{"v1:", "v2: a b c"}, children: "a=v2 b=v2 c=v2", edit: failing("v1"),
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c =", "v1: ="},
		},
		"SmallestResync": {
			reason: "The earliest resync counts.", revisions: []string{"v1: b c", "v2: a"}, children: "b=v1 c=v1", edit: answering(half),
			wantImages: "a=v2 b=v1 c=v1", wantCondition: waiting + "b waits for a, which is missing", wantResync: 2.5, wantRevisions: []string{"v2: a =", "v1: b c ="},
		},
		"OtherKinds": {
			reason: "Kinds that are not rolled out follow the latest answer at once, in their places.", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit: answering(func(body map[string]any, call variant.Call) {
				note := map[string]any{"apiVersion": "test.example/v1", "kind": "Note", "metadata": map[string]any{"name": "n", "namespace": "prod"}, "spec": map[string]any{"image": imageOf(call)}}
				children := body["children"].([]any)
				body["children"] = append([]any{children[0], note}, children[1:]...)
			}),
			wantImages: "a=v2 n=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
	}
}

// recordCases are about the ControllerRevisions.
func recordCases() map[string]rollingUpdateCase {
	steady := "a=v9 b=v9 c=v9"
	history := []string{"v1:", "v2:", "v3:", "v9: a b c"}
	return map[string]rollingUpdateCase{
		"HistoryKept": {
			reason: "Old revisions are history.", image: "v9", revisions: history, children: steady,
			wantImages: steady, wantCondition: onLatest, wantRevisions: []string{"v9: a b c =", "v1: =", "v2: =", "v3: ="},
		},
		"HistoryLimited": {
			reason: "The newest ones are kept up to the limit.", image: "v9", revisions: history, children: steady, edit: limitHistory(2),
			wantImages: steady, wantCondition: onLatest, wantRevisions: []string{"v9: a b c =", "v2: =", "v3: ="},
		},
		"HistoryNone": {
			reason: "A limit of 0 keeps none.", image: "v9", revisions: history, children: steady, edit: limitHistory(0),
			wantImages: steady, wantCondition: onLatest, wantRevisions: []string{"v9: a b c ="},
		},
		"HistoryHasChildren": {
			reason: "Revisions that have children do not count.", image: "v9", strategy: "paused: true", revisions: []string{"v1: c", "v2:", "v9: a b"}, children: "a=v9 b=v9 c=v1", edit: limitHistory(0),
			wantImages: "a=v9 b=v9 c=v1", wantCondition: waiting + "c waits: the rolling update is paused", wantRevisions: []string{"v9: a b =", "v1: c ="},
		},
		"OrderOfNames": {
			reason: "Names in another order, or with the parent's namespace, are the same.", revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2",
			edit: func(e *env) {
				names := e.revisions[0].Object["children"].([]any)[0].(map[string]any)["names"].([]any)
				names[0], names[2] = names[2], names[0]
				if namespace := e.parent.GetNamespace(); namespace != "" {
					names[1] = namespace + "/" + names[1].(string)
				}
			},
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: c b a ="},
		},
		"OtherNumbers": {
			reason: "A patch that differs only in its form is the same.", revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2",
			edit: func(e *env) {
				e.revisions[0].Object["parentPatch"] = map[string]any{"spec": map[string]any{"template": map[string]any{"image": "v2", "none": nil}}}
			},
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c ="},
		},
		"KindNoLongerRolling": {
			reason: "Children of kinds that are not rolled out are removed.", revisions: []string{"v1: a b c", "v2:"}, children: "a=v1 b=v1 c=v1",
			edit: func(e *env) {
				rolled := e.config.Spec.ChildResources
				rolled[0].UpdateStrategy, rolled[1].UpdateStrategy = rolled[1].UpdateStrategy, rolled[0].UpdateStrategy
			},
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: =", "v1:"},
		},
		"OtherVersions": {
			reason: "Revisions without our label, such as metacontroller's, get it with the next write.", revisions: []string{"v1: b c", "v2: a", "v0:"}, children: "a=v2 b=v1 c=v1",
			edit: func(e *env) {
				for _, r := range e.revisions {
					unlabel(r)
				}
			},
			wantImages: "a=v2 b=v2 c=v1", wantCondition: updating + "b", wantRevisions: []string{"v2: a b", "v1: c", "v0: ="},
		},
		"ServerSideApply": {
			reason: "The apply strategy does the comparison.", revisions: []string{"v1: b c", "v2: a"}, children: "a=v1 b=v1 c=v1",
			edit: func(e *env) {
				e.upToDate = func(observed, desired *unstructured.Unstructured) (bool, error) { return true, nil }
			},
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c", "v1:"},
		},
	}
}

func imageOf(call variant.Call) any {
	return valueAt(call.Request["parent"].(map[string]any), []string{"spec", "template", "image"})
}
