package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/steps"
)

type object = map[string]any

// logBuilder builds observations, one each millisecond.
type logBuilder struct{ log observations }

func (h *logBuilder) see(resource schema.GroupVersionResource, name string, content object) *logBuilder {
	o := &unstructured.Unstructured{Object: content}
	o.SetName(name)
	h.log = append(h.log, observation{At: time.UnixMilli(int64(len(h.log))), Resource: resource, Object: o})
	return h
}

// pod adds a Pod, whose UID is its name and a suffix, and its claim.
func (h *logBuilder) pod(name, suffix string, ready bool, labels object) *logBuilder {
	status := "False"
	if ready {
		status = "True"
	}
	h.see(claims, "www-"+name, object{"status": object{"phase": "Bound"}})
	return h.see(pods, name, object{
		"metadata": object{"uid": name + suffix, "labels": labels},
		"status":   object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": status}}},
	})
}

func (h *logBuilder) gone(name string) *logBuilder {
	h.see(pods, name, object{})
	h.log[len(h.log)-1].Deleted = true
	return h
}

func (h *logBuilder) set(replicas, ready int64) *logBuilder {
	return h.see(catsets, "nginx", object{"spec": object{"replicas": replicas}, "status": object{"readyReplicas": ready}})
}

func (h *logBuilder) script(text string) *logBuilder {
	return h.see(configMaps, configMapName, object{"data": object{scriptName: text}})
}

func (h *logBuilder) definition(revision, loaded, message string) *logBuilder {
	return h.see(composites, controllerName, object{"status": object{"scriptRevision": revision, "conditions": []any{
		object{"type": "Ready", "status": "True"},
		object{"type": "ScriptsReady", "status": loaded, "message": message},
	}}})
}

func TestChecks(t *testing.T) {
	two := func() *logBuilder {
		return new(logBuilder).set(2, 0).pod("nginx-0", "", true, nil).pod("nginx-1", "", true, nil)
	}
	position := regexp.MustCompile(`sync\.js:52:\d+: `)
	for name, c := range map[string]struct {
		reason string
		given  *logBuilder
		check  check
		want   bool
		seen   string
	}{
		"Settled":       {"all are there, and the status says so", two().set(2, 2), allReady(2), true, "nginx-0 Ready, nginx-1 Ready, CatSet with 2 ready"},
		"StatusBehind":  {"the status is a promise as well", two(), allReady(2), false, "with 0 ready"},
		"PodNotReady":   {"a Pod that exists is not enough", two().pod("nginx-1", "", false, nil).set(2, 2), allReady(2), false, "nginx-1 Running"},
		"PodGone":       {"a Pod that was there is not enough", two().gone("nginx-1").set(2, 2), allReady(2), false, "nginx-0 Ready, CatSet"},
		"OneTooMany":    {"no more than wanted", two().pod("nginx-2", "", true, nil).set(2, 2), allReady(2), false, "nginx-2 Ready"},
		"Nothing":       {"nothing is said to be nothing", new(logBuilder), allReady(2), false, "no Pods"},
		"SamePod":       {"the old Pod is no new one", two(), replaced("nginx-0", "nginx-0"), false, `uid "nginx-0"`},
		"NewPod":        {"another uid is another Pod", two().pod("nginx-0", "b", true, nil), replaced("nginx-0", "nginx-0"), true, "nginx-0b"},
		"Leader":        {"it has the label", new(logBuilder).pod("nginx-0", "", true, object{"role": "leader"}), isLeader("nginx-0"), true, "leader"},
		"NoLeader":      {"it has not", two(), isLeader("nginx-0"), false, `role ""`},
		"SameRevision":  {"the old one serves", new(logBuilder).definition("a", "True", ""), newRevision("a"), false, "a"},
		"NewRevision":   {"the new one serves", new(logBuilder).definition("b", "True", ""), newRevision("a"), true, "b"},
		"Ready":         {"both conditions are True", new(logBuilder).definition("a", "True", ""), definitionReady, true, `Ready "True"`},
		"NotLoaded":     {"the script is not", new(logBuilder).definition("a", "False", "why"), definitionReady, false, "why"},
		"Broken":        {"the right line is named", new(logBuilder).definition("a", "False", "sync.js:52:36: x"), scriptsBroken(position), true, "sync.js:52:36"},
		"BrokenNowhere": {"another line is", new(logBuilder).definition("a", "False", "sync.js:5:1: x"), scriptsBroken(position), false, "sync.js:5:1"},
		"All":           {"one of two is not all", two(), steps.All(replaced("nginx-0", ""), isLeader("nginx-0")), false, `; nginx-0 has role ""`},
	} {
		t.Run(name, func(t *testing.T) {
			seen, done := c.check(c.given.log)
			if done != c.want {
				t.Errorf("%s: got %v, having seen %s", c.reason, done, seen)
			}
			if !strings.Contains(seen, c.seen) {
				t.Errorf("%s: seen is %q, want it to contain %q", c.reason, seen, c.seen)
			}
		})
	}
}

func TestInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		given *logBuilder
		want  bool
	}{
		"OneByOne": {new(logBuilder).pod("nginx-0", "", false, nil).pod("nginx-0", "", true, nil).pod("nginx-1", "", false, nil), true},
		"AtOnce":   {new(logBuilder).pod("nginx-0", "", false, nil).pod("nginx-1", "", false, nil).pod("nginx-0", "", true, nil), false},
		"OneOnly":  {new(logBuilder).pod("nginx-0", "", true, nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := inOrder(c.given.log, podNames(2)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSettlingTime(t *testing.T) {
	h := new(logBuilder).set(3, 0).set(3, 3).set(5, 3).set(5, 4).set(5, 5)
	if got := settlingTime(h.log, 5); got != 2*time.Millisecond {
		t.Errorf("got %s, want 2ms", got)
	}
}

func TestTimes(t *testing.T) {
	h := new(logBuilder).script("old").script("new").definition("b", "True", "").gone("nginx-0").
		pod("nginx-0", "b", false, nil).pod("nginx-0", "b", true, nil)
	var got []time.Duration
	for _, timing := range editTimes(h.log, editedAt(h.log, "new"), "a", "nginx-0") {
		got = append(got, timing.took)
	}
	// The claim of a Pod comes first, so that the Ready Pod is the eighth observation.
	want := []time.Duration{2 * time.Millisecond, time.Millisecond, 6 * time.Millisecond}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, want %v", got, want)
	}
	if away := downtime(h.log, "nginx-0", "nginx-0"); away != 4*time.Millisecond {
		t.Errorf("away for %s, want 4ms", away)
	}
}
