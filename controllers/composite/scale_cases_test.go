package composite

import "github.com/libretto-k8s/libretto/controllers/variant"

// only makes the hook return only the first count children while the template has that image,
// as it would if the number of replicas were part of the revision.
func only(image string, count int) func(e *env) {
	return answering(func(body map[string]any, call variant.Call) {
		if imageOf(call) == image {
			body["children"] = body["children"].([]any)[:count]
		}
	})
}

// scaleCases are about children that are added while a rollout is held.
func scaleCases() map[string]rollingUpdateCase {
	const unwanted = " and the hook wants no such child for an earlier ControllerRevision: " +
		"let the rollout go on, or leave the fields that scale out of revisionHistory.fieldPaths"
	return map[string]rollingUpdateCase{
		"PartitionNew": {
			reason: "A new child in the partition is created from the old revision.", strategy: "partition: 3", revisions: []string{"v1: a b"}, children: "a=v1 b=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: waiting + "a waits: partition 3 holds it back", wantRevisions: []string{"v2:", "v1: a b c"},
		},
		"PartitionNewNext": {
			reason: "It keeps it in the next reconcile.", strategy: "partition: 3", revisions: []string{"v1: a b c", "v2:"}, children: "a=v1 b=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: waiting + "a waits: partition 3 holds it back", wantRevisions: []string{"v2: =", "v1: a b c ="},
		},
		"PartitionNewBefore": {
			reason: "One outside of the partition is created from the update revision.", names: "n a b", strategy: "partition: 2", revisions: []string{"v1: a b"}, children: "a=v1 b=v1",
			wantImages: "n=v2 a=v1 b=v1", wantCondition: waiting + "a waits: partition 2 holds it back", wantRevisions: []string{"v2: n", "v1: a b ="},
		},
		"PartitionRenamed": {
			reason: "The replacement of the last child of the old revision is of the same revision.", names: "a c", strategy: "partition: 1", revisions: []string{"v1: b", "v2: a"}, children: "a=v2 b=v1",
			wantImages: "a=v2 c=v1", wantCondition: waiting + "c waits: partition 1 holds it back", wantRevisions: []string{"v2: a =", "v1: c"},
		},
		"PausedNew": {
			reason: "So is one that is added to a paused rollout, which does not wait for it.", names: "a b c d", strategy: "paused: true", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1 d=v1", wantCondition: waiting + "b waits: the rolling update is paused", wantRevisions: []string{"v2: a =", "v1: b c d"},
		},
		"PausedNewSecond": {
			reason: "Of several old revisions the newest counts.", names: "a b c d", image: "v3", strategy: "paused: true", revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1",
			wantImages: "a=v2 b=v2 c=v1 d=v2", wantCondition: waiting + "a waits: the rolling update is paused", wantRevisions: []string{"v3:", "v1: c =", "v2: a b d"},
		},
		"PausedNewWantedByOlder": {
			reason: "Of those that want the child.", names: "a b c d", image: "v3", strategy: "paused: true", revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1", edit: only("v2", 3),
			wantImages: "a=v2 b=v2 c=v1 d=v1", wantCondition: waiting + "a waits: the rolling update is paused", wantRevisions: []string{"v3:", "v1: c d", "v2: a b ="},
		},
		"PausedNewHistory": {
			reason: "A revision without children is history: the rollout is complete, and new children are of the update revision.", names: "a b c d", strategy: "paused: true", revisions: []string{"v1:", "v2: a b c"}, children: "a=v2 b=v2 c=v2",
			wantImages: "a=v2 b=v2 c=v2 d=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c d", "v1: ="},
		},
		"PausedNewUpToDate": {
			reason: "So it is if the update revision would leave all existing children unchanged.", strategy: "paused: true", revisions: []string{"v1: a b"}, children: "a=v2 b=v2",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c", "v1:"},
		},
		"PausedFirst": {
			reason: "The first children of a parent are created.", strategy: "paused: true",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c"},
		},
		"PausedNewUnwanted": {
			reason: "A child that the old revision does not want is not created, and the others continue.", strategy: "paused: true", revisions: []string{"v1: a b"}, children: "a=v1 b=v1", edit: only("v1", 2),
			wantImages: "a=v1 b=v1 c=v2", wantKeep: "c", wantCondition: waiting + "a waits: the rolling update is paused; not made: c, as the rolling update is paused" + unwanted,
			wantRevisions: []string{"v2:", "v1: a b ="},
		},
		"PartitionNewUnwanted": {
			reason: "No child waits for it.", names: "a b c d", strategy: "partition: 2", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1", edit: only("v1", 3),
			wantImages: "a=v2 b=v1 c=v1 d=v2", wantKeep: "d", wantCondition: updating + "a; not made: d, as partition 2 holds it back" + unwanted,
			wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"PausedLostUnwanted": {
			reason: "A lost child that its own revision does not want is treated like a new one.", strategy: "paused: true", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1", edit: only("v1", 2),
			wantImages: "a=v1 b=v1 c=v2", wantKeep: "c", wantCondition: waiting + "a waits: the rolling update is paused; not made: c, as the rolling update is paused" + unwanted,
			wantRevisions: []string{"v2:", "v1: a b"},
		},
		"PausedLostUnwantedLast": {
			reason: "If it was the last one of an old revision, the rollout is complete.", strategy: "paused: true", revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2", edit: only("v1", 2),
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c", "v1:"},
		},
		"PausedNewUnlisted": {
			reason: "If the revision of the others is unknown, a new child waits too.", strategy: "paused: true", children: "a=v1 b=v1",
			wantImages: "a=v2 b=v2 c=v2", wantKeep: "a b c", wantCondition: waiting + "a waits: the rolling update is paused; not made: c, as the rolling update is paused" + unwanted,
			wantRevisions: []string{"v2:"},
		},
	}
}

// reverseCases are about the order of a StatefulSet.
func reverseCases() map[string]rollingUpdateCase {
	return map[string]rollingUpdateCase{
		"ReverseFirst": {
			reason: "In reverse the last child is updated first.", strategy: "order: Reverse", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v1 b=v1 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: c", "v1: a b"},
		},
		"AsListed": {
			reason: "The hook's order may be written out.", strategy: "order: AsListed", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"ReverseSecond": {
			reason: "The one before it waits for it.", strategy: "order: Reverse", revisions: []string{"v1: a b", "v2: c"}, children: "a=v1 b=v1",
			wantImages: "a=v1 b=v1 c=v2", wantCondition: waiting + "b waits for c, which is missing", wantRevisions: []string{"v2: c =", "v1: a b ="},
		},
		"ReverseTwo": {
			reason: "Two at once are the last two.", strategy: "order: Reverse, maxUnavailable: 2", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v1 b=v2 c=v2", wantCondition: updating + "c, b", wantRevisions: []string{"v2: b c", "v1: a"},
		},
		"ReversePartition": {
			reason: "A partition holds the first ones, like ordinals below it.", strategy: "order: Reverse, partition: 2", revisions: []string{"v1: a b", "v2: c"}, children: "a=v1 b=v1 c=v2",
			wantImages: "a=v1 b=v1 c=v2", wantCondition: waiting + "b waits: partition 2 holds it back", wantRevisions: []string{"v2: c =", "v1: a b ="},
		},
		"ReversePartitionNew": {
			reason: "A child that is added at the end is outside of it.", names: "a b c d", strategy: "order: Reverse, partition: 2", revisions: []string{"v1: a b", "v2: c"}, children: "a=v1 b=v1 c=v2",
			wantImages: "a=v1 b=v1 c=v2 d=v2", wantCondition: waiting + "b waits: partition 2 holds it back", wantRevisions: []string{"v2: c d", "v1: a b ="},
		},
		"ReversePartitionLost": {
			reason: "A lost one below it is created from its old revision.", strategy: "order: Reverse, partition: 2", revisions: []string{"v1: a b", "v2: c"}, children: "b=v1 c=v2",
			wantImages: "a=v1 b=v1 c=v2", wantCondition: waiting + "b waits: partition 2 holds it back", wantRevisions: []string{"v2: c =", "v1: a b ="},
		},
		"ReversePartitionScaled": {
			reason: "One that is added below it is of the old revision.", names: "a b c", strategy: "order: Reverse, partition: 3", revisions: []string{"v1: a"}, children: "a=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: waiting + "c waits: partition 3 holds it back", wantRevisions: []string{"v2:", "v1: a b c"},
		},
		"ReverseOthers": {
			reason: "Kinds that are not rolled out keep their places.", strategy: "order: Reverse", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit: answering(func(body map[string]any, call variant.Call) {
				note := map[string]any{"apiVersion": "test.example/v1", "kind": "Note", "metadata": map[string]any{"name": "n", "namespace": "prod"}, "spec": map[string]any{"image": imageOf(call)}}
				children := body["children"].([]any)
				body["children"] = append([]any{children[0], note}, children[1:]...)
			}),
			wantImages: "a=v1 n=v2 b=v1 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: c", "v1: a b"},
		},
	}
}
