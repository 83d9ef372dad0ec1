package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/steps"
)

type (
	check        = steps.Check
	observation  = steps.Observation
	observations = steps.Observations
)

// startWatch watches the demo's objects.
func (d *demo) startWatch(ctx context.Context) (*steps.Watch, error) {
	return steps.StartWatch(ctx, d.Cluster.Dynamic(), map[schema.GroupVersionResource]string{
		pods: demoNamespace, claims: demoNamespace, catsets: demoNamespace, configMaps: scriptNamespace, composites: "",
	}, d.Limit)
}

// uid returns the UID of an object, or "".
func uid(log observations, resource schema.GroupVersionResource, name string) string {
	if object := log.Get(resource, name); object != nil {
		return string(object.GetUID())
	}
	return ""
}

// podVersions returns the UID and resourceVersion of Pods by name.
func podVersions(log observations, names ...string) map[string]string {
	prints := map[string]string{}
	for _, name := range names {
		prints[name] = "not there"
		if pod := log.Get(pods, name); pod != nil {
			prints[name] = fmt.Sprintf("uid %s, resourceVersion %s", pod.GetUID(), pod.GetResourceVersion())
		}
	}
	return prints
}

// timing is an observation and the time since its cause.
type timing struct {
	what string
	took time.Duration
}

// between is never negative: two watches may report changes in another order.
func between(from, to time.Time) time.Duration { return max(0, to.Sub(from)) }

// settlingTime returns the time from a CatSet with n replicas to n Ready Pods. It does not begin with the request, as an API
// server delays the first object of a new CRD by two seconds.
func settlingTime(log observations, n int64) time.Duration {
	wanted, _ := log.First(func(s observation) bool {
		replicas, _, _ := unstructured.NestedInt64(s.Object.Object, "spec", "replicas")
		return s.Resource == catsets && replicas == n
	})
	reported, _ := log.First(func(s observation) bool { return s.Resource == catsets && readyReplicas(s.Object) == n })
	return between(wanted.At, reported.At)
}

// inOrder reports whether each Pod was created after the one before was Ready.
func inOrder(log observations, names []string) bool {
	for i := 1; i < len(names); i++ {
		ready := slices.IndexFunc(log, func(s observation) bool { return s.Is(pods, names[i-1]) && steps.IsReady(s.Object) })
		created := slices.IndexFunc(log, func(s observation) bool { return s.Is(pods, names[i]) })
		if ready < 0 || created < ready {
			return false
		}
	}
	return true
}

// downtime returns how long there was no Ready Pod of that name after the old one was deleted.
func downtime(log observations, name, old string) time.Duration {
	gone, _ := log.First(func(s observation) bool { return s.Is(pods, name) && s.Deleted })
	back, _ := log.First(func(s observation) bool { return isNew(s, name, old) && steps.IsReady(s.Object) })
	return between(gone.At, back.At)
}

func isNew(s observation, name, old string) bool {
	return s.Is(pods, name) && !s.Deleted && string(s.Object.GetUID()) != old
}

// editTimes returns how soon an edit of the script took effect on the first Pod.
func editTimes(log observations, start time.Time, oldRevision, oldPod string) []timing {
	deleted, _ := log.First(func(s observation) bool {
		return s.Is(pods, "nginx-0") && (s.Deleted || s.Object.GetDeletionTimestamp() != nil)
	})
	reported, _ := log.First(func(s observation) bool {
		return s.Is(composites, controllerName) && scriptRevision(s.Object) != oldRevision
	})
	ready, _ := log.First(func(s observation) bool { return isNew(s, "nginx-0", oldPod) && steps.IsReady(s.Object) })
	revision := fmt.Sprintf("the definition's status.scriptRevision is no longer %s but %s", oldRevision, scriptRevision(reported.Object))
	return []timing{
		{"the new script acts, and the old nginx-0 is deleted", between(start, deleted.At)},
		{revision, between(start, reported.At)},
		{"the new nginx-0 is Ready, with the label role=leader", between(start, ready.At)},
	}
}

// breakTimes returns how soon the condition named the error in a broken script.
func breakTimes(log observations, start time.Time, position *regexp.Regexp) []timing {
	at := definitionAt(log, func(definition *unstructured.Unstructured) bool { return isBroken(definition, position) })
	return []timing{{"condition ScriptsReady is False and names the line", between(start, at)}}
}

// holdTimes returns how soon the condition named what an edit would do.
func holdTimes(log observations, start time.Time) []timing {
	return []timing{{"the edit is held, and condition Progressing says why", between(start, definitionAt(log, isHeld))}}
}

// repairTimes returns how soon the condition was True again.
func repairTimes(log observations, start time.Time) []timing {
	at := definitionAt(log, func(definition *unstructured.Unstructured) bool {
		status, _ := scripts(definition)
		return status == "True"
	})
	return []timing{{"condition ScriptsReady is True again", between(start, at)}}
}

// definitionAt returns when the definition was first observed to match.
func definitionAt(log observations, match func(*unstructured.Unstructured) bool) time.Time {
	found, _ := log.First(func(s observation) bool { return s.Is(composites, controllerName) && match(s.Object) })
	return found.At
}

// timings prints the times from the change of the ConfigMap.
func (d *demo) timings(timings []timing) {
	for _, t := range timings {
		d.Out.OKf("%s after the ConfigMap changed: %s", steps.Duration(t.took), t.what)
	}
}
