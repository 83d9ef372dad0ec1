package composite

import "github.com/libretto-k8s/libretto/controllers/variant"

// only has the hook want just these children of those that spec.names lists while the
// template has that image, as it does where what scales is part of the revision.
func only(image string, count int) func(w *env) {
	return answering(func(body map[string]any, call variant.Call) {
		if imageOf(call) == image {
			body["children"] = body["children"].([]any)[:count]
		}
	})
}

// scaleCases are about children that are added where a rollout is held back.
func scaleCases() map[string]rolloutCase {
	const unwanted = " and the hook wants no such child for an earlier ControllerRevision: " +
		"let the rollout go on, or leave the fields that scale out of revisionHistory.fieldPaths"
	return map[string]rolloutCase{
		"PartitionNew": {
			reason: "A new child behind the partition is made from the old revision.", strategy: "partition: 3", revisions: []string{"v1: a b"}, children: "a=v1 b=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: waiting + "a waits: partition 3 holds it back", wantRevisions: []string{"v2:", "v1: a b c"},
		},
		"PartitionNewNext": {
			reason: "And stays of it in the next pass.", strategy: "partition: 3", revisions: []string{"v1: a b c", "v2:"}, children: "a=v1 b=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: waiting + "a waits: partition 3 holds it back", wantRevisions: []string{"v2: =", "v1: a b c ="},
		},
		"PartitionNewBefore": {
			reason: "One that the partition leaves out is made as the latest.", names: "n a b", strategy: "partition: 2", revisions: []string{"v1: a b"}, children: "a=v1 b=v1",
			wantImages: "n=v2 a=v1 b=v1", wantCondition: waiting + "a waits: partition 2 holds it back", wantRevisions: []string{"v2: n", "v1: a b ="},
		},
		"PartitionRenamed": {
			reason: "What takes the place of the last child of the old revision is of it.", names: "a c", strategy: "partition: 1", revisions: []string{"v1: b", "v2: a"}, children: "a=v2 b=v1",
			wantImages: "a=v2 c=v1", wantCondition: waiting + "c waits: partition 1 holds it back", wantRevisions: []string{"v2: a =", "v1: c"},
		},
		"PausedNew": {
			reason: "So is one that is added to a paused rollout, which waits for nobody.", names: "a b c d", strategy: "paused: true", revisions: []string{"v1: b c", "v2: a"}, children: "a=v2 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1 d=v1", wantCondition: waiting + "b waits: the rolling update is paused", wantRevisions: []string{"v2: a =", "v1: b c d"},
		},
		"PausedNewSecond": {
			reason: "Of several old revisions the newest before the latest.", names: "a b c d", image: "v3", strategy: "paused: true", revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1",
			wantImages: "a=v2 b=v2 c=v1 d=v2", wantCondition: waiting + "a waits: the rolling update is paused", wantRevisions: []string{"v3:", "v1: c =", "v2: a b d"},
		},
		"PausedNewWantedByOlder": {
			reason: "Of those that want it.", names: "a b c d", image: "v3", strategy: "paused: true", revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1", edit: only("v2", 3),
			wantImages: "a=v2 b=v2 c=v1 d=v1", wantCondition: waiting + "a waits: the rolling update is paused", wantRevisions: []string{"v3:", "v1: c d", "v2: a b ="},
		},
		"PausedNewHistory": {
			reason: "A revision without children is history: the rollout is over, and new ones are of the latest.", names: "a b c d", strategy: "paused: true", revisions: []string{"v1:", "v2: a b c"}, children: "a=v2 b=v2 c=v2",
			wantImages: "a=v2 b=v2 c=v2 d=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c d", "v1: ="},
		},
		"PausedNewSettled": {
			reason: "So it is if the latest revision would leave all that there are as they are.", strategy: "paused: true", revisions: []string{"v1: a b"}, children: "a=v2 b=v2",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c", "v1:"},
		},
		"PausedFirst": {
			reason: "A parent that has no children yet gets them.", strategy: "paused: true",
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c"},
		},
		"PausedNewUnwanted": {
			reason: "One that the old revision does not want is not made, and the rest is not held up.", strategy: "paused: true", revisions: []string{"v1: a b"}, children: "a=v1 b=v1", edit: only("v1", 2),
			wantImages: "a=v1 b=v1 c=v2", wantKeep: "c", wantCondition: waiting + "a waits: the rolling update is paused; not made: c, as the rolling update is paused" + unwanted,
			wantRevisions: []string{"v2:", "v1: a b ="},
		},
		"PartitionNewUnwanted": {
			reason: "Nobody waits for it.", names: "a b c d", strategy: "partition: 2", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1", edit: only("v1", 3),
			wantImages: "a=v2 b=v1 c=v1 d=v2", wantKeep: "d", wantCondition: updating + "a; not made: d, as partition 2 holds it back" + unwanted,
			wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"PausedLostUnwanted": {
			reason: "A child that its own revision does not want and that is lost is like a new one.", strategy: "paused: true", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1", edit: only("v1", 2),
			wantImages: "a=v1 b=v1 c=v2", wantKeep: "c", wantCondition: waiting + "a waits: the rolling update is paused; not made: c, as the rolling update is paused" + unwanted,
			wantRevisions: []string{"v2:", "v1: a b"},
		},
		"PausedLostUnwantedLast": {
			reason: "If it was the last of an old revision, the rollout is over.", strategy: "paused: true", revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2", edit: only("v1", 2),
			wantImages: "a=v2 b=v2 c=v2", wantCondition: onLatest, wantRevisions: []string{"v2: a b c", "v1:"},
		},
		"PausedNewUnclaimed": {
			reason: "Where nobody knows of which revision the others are, a new one waits too.", strategy: "paused: true", children: "a=v1 b=v1",
			wantImages: "a=v2 b=v2 c=v2", wantKeep: "a b c", wantCondition: waiting + "a waits: the rolling update is paused; not made: c, as the rolling update is paused" + unwanted,
			wantRevisions: []string{"v2:"},
		},
	}
}

// reverseCases are about the order of a StatefulSet.
func reverseCases() map[string]rolloutCase {
	return map[string]rolloutCase{
		"ReverseFirst": {
			reason: "In reverse the last child goes first.", strategy: "order: Reverse", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v1 b=v1 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: c", "v1: a b"},
		},
		"AsListed": {
			reason: "The hook's order may be written out.", strategy: "order: AsListed", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v2 b=v1 c=v1", wantCondition: updating + "a", wantRevisions: []string{"v2: a", "v1: b c"},
		},
		"ReverseSecond": {
			reason: "Then the one before it, which waits for it.", strategy: "order: Reverse", revisions: []string{"v1: a b", "v2: c"}, children: "a=v1 b=v1",
			wantImages: "a=v1 b=v1 c=v2", wantCondition: waiting + "b waits for c, which is missing", wantRevisions: []string{"v2: c =", "v1: a b ="},
		},
		"ReverseTwo": {
			reason: "Two at once are the last two.", strategy: "order: Reverse, maxUnavailable: 2", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			wantImages: "a=v1 b=v2 c=v2", wantCondition: updating + "c, b", wantRevisions: []string{"v2: b c", "v1: a"},
		},
		"ReversePartition": {
			reason: "A partition holds back the first ones, as ordinals below it.", strategy: "order: Reverse, partition: 2", revisions: []string{"v1: a b", "v2: c"}, children: "a=v1 b=v1 c=v2",
			wantImages: "a=v1 b=v1 c=v2", wantCondition: waiting + "b waits: partition 2 holds it back", wantRevisions: []string{"v2: c =", "v1: a b ="},
		},
		"ReversePartitionNew": {
			reason: "What is added at the end is beyond it.", names: "a b c d", strategy: "order: Reverse, partition: 2", revisions: []string{"v1: a b", "v2: c"}, children: "a=v1 b=v1 c=v2",
			wantImages: "a=v1 b=v1 c=v2 d=v2", wantCondition: waiting + "b waits: partition 2 holds it back", wantRevisions: []string{"v2: c d", "v1: a b ="},
		},
		"ReversePartitionLost": {
			reason: "One below it comes back as it was.", strategy: "order: Reverse, partition: 2", revisions: []string{"v1: a b", "v2: c"}, children: "b=v1 c=v2",
			wantImages: "a=v1 b=v1 c=v2", wantCondition: waiting + "b waits: partition 2 holds it back", wantRevisions: []string{"v2: c =", "v1: a b ="},
		},
		"ReversePartitionScaled": {
			reason: "One that is scaled in below it is of the old revision.", names: "a b c", strategy: "order: Reverse, partition: 3", revisions: []string{"v1: a"}, children: "a=v1",
			wantImages: "a=v1 b=v1 c=v1", wantCondition: waiting + "c waits: partition 3 holds it back", wantRevisions: []string{"v2:", "v1: a b c"},
		},
		"ReverseOthers": {
			reason: "Kinds that are not rolled out stand where they did.", strategy: "order: Reverse", revisions: []string{"v1: a b c"}, children: "a=v1 b=v1 c=v1",
			edit: answering(func(body map[string]any, call variant.Call) {
				note := map[string]any{"apiVersion": "test.example/v1", "kind": "Note", "metadata": map[string]any{"name": "n", "namespace": "prod"}, "spec": map[string]any{"image": imageOf(call)}}
				children := body["children"].([]any)
				body["children"] = append([]any{children[0], note}, children[1:]...)
			}),
			wantImages: "a=v1 n=v2 b=v1 c=v2", wantCondition: updating + "c", wantRevisions: []string{"v2: c", "v1: a b"},
		},
	}
}
