package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// changedAt is when the ConfigMap got the text, which is what the times of an edit are counted from. The audit log of the
// own control plane knows when the request came in. A borrowed cluster keeps such things to itself: there it is when the
// watch told of it, which may be a little late.
func (d *demo) changedAt(ctx context.Context, text string) (time.Time, error) {
	if d.borrowed() {
		return edited(d.watch.all(), text), nil
	}
	requests, err := d.cluster.Requests(ctx, 0, "kubectl")
	if err != nil {
		return time.Time{}, err
	}
	writes := requests.Of("", configMaps.Resource).In(scriptNamespace).Writes()
	if len(writes) == 0 {
		return time.Time{}, fmt.Errorf("audit log: no write of ConfigMap %s", configMapName)
	}
	return writes[len(writes)-1].Time, nil
}

// edited is when the ConfigMap was first seen with the text since it last had another.
func edited(log sightings, text string) time.Time {
	var since time.Time
	held := ""
	for _, s := range log {
		if !s.is(configMaps, configMapName) {
			continue
		}
		before := held
		held, _, _ = unstructured.NestedString(s.object.Object, "data", scriptName)
		if held == text && before != text {
			since = s.at
		}
	}
	return since
}
