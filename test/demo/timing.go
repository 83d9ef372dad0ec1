package main

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// timing is something that was seen, and how long after its cause.
type timing struct {
	what string
	took time.Duration
}

// between is never negative: two watches may tell in another order than things happened.
func between(from, to time.Time) time.Duration { return max(0, to.Sub(from)) }

// settlingTime is how long it took from a CatSet with n replicas to n Ready Pods. It is not counted from the request: an
// API server keeps the first object of a new CRD waiting for two seconds.
func settlingTime(log sightings, n int64) time.Duration {
	wanted, _ := log.first(func(s sighting) bool {
		replicas, _, _ := unstructured.NestedInt64(s.object.Object, "spec", "replicas")
		return s.resource == catsets && replicas == n
	})
	told, _ := log.first(func(s sighting) bool { return s.resource == catsets && readyReplicas(s.object) == n })
	return between(wanted.at, told.at)
}

// inOrder holds if every one of the Pods was first seen after the one before it was Ready.
func inOrder(log sightings, names []string) bool {
	for i := 1; i < len(names); i++ {
		ready := slices.IndexFunc(log, func(s sighting) bool { return s.is(pods, names[i-1]) && isReady(s.object) })
		created := slices.IndexFunc(log, func(s sighting) bool { return s.is(pods, names[i]) })
		if ready < 0 || created < ready {
			return false
		}
	}
	return true
}

// awayTime is how long there was no Ready Pod of a name, from when the old one was gone.
func awayTime(log sightings, name, old string) time.Duration {
	gone, _ := log.first(func(s sighting) bool { return s.is(pods, name) && s.gone })
	back, _ := log.first(func(s sighting) bool { return isNew(s, name, old) && isReady(s.object) })
	return between(gone.at, back.at)
}

func isNew(s sighting, name, old string) bool {
	return s.is(pods, name) && !s.gone && string(s.object.GetUID()) != old
}

// editTimes tells how fast an edit of the script took effect on the first Pod.
func editTimes(log sightings, start time.Time, oldRevision, oldPod string) []timing {
	acted, _ := log.first(func(s sighting) bool {
		return s.is(pods, "nginx-0") && (s.gone || s.object.GetDeletionTimestamp() != nil)
	})
	told, _ := log.first(func(s sighting) bool {
		return s.is(composites, controllerName) && scriptRevision(s.object) != oldRevision
	})
	live, _ := log.first(func(s sighting) bool { return isNew(s, "nginx-0", oldPod) && isReady(s.object) })
	return []timing{
		{"the new script acts, and the old nginx-0 is deleted", between(start, acted.at)},
		{fmt.Sprintf("the definition's status.scriptRevision is no longer %s but %s", oldRevision, scriptRevision(told.object)), between(start, told.at)},
		{"the new nginx-0 is Ready, with the label role=leader", between(start, live.at)},
	}
}

// breakTimes tells how fast a broken script was complained of.
func breakTimes(log sightings, start time.Time, position *regexp.Regexp) []timing {
	told, _ := log.first(func(s sighting) bool {
		return s.is(composites, controllerName) && isBroken(s.object, position)
	})
	return []timing{{"condition ScriptsReady is False and names the line", between(start, told.at)}}
}

// mendTimes tells how fast the complaint was taken back.
func mendTimes(log sightings, start time.Time) []timing {
	told, _ := log.first(func(s sighting) bool {
		status := ""
		if s.is(composites, controllerName) {
			status, _ = scripts(s.object)
		}
		return status == "True"
	})
	return []timing{{"condition ScriptsReady is True again", between(start, told.at)}}
}
