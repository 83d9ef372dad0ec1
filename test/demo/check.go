package main

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// check looks at all that was seen so far. It says what there is now, and whether that is what was waited for.
type check func(sightings) (seen string, done bool)

// all holds when every one of the checks does.
func all(checks ...check) check {
	return func(log sightings) (string, bool) {
		var reports []string
		whole := true
		for _, c := range checks {
			seen, done := c(log)
			reports = append(reports, seen)
			whole = whole && done
		}
		return strings.Join(reports, "; "), whole
	}
}

// newRevision holds when other scripts serve than those of the old revision.
func newRevision(old string) check {
	return func(log sightings) (string, bool) {
		now := revision(log)
		return "scriptRevision " + now, now != "" && now != old
	}
}

// definitionReady holds when the newest scripts serve.
func definitionReady(log sightings) (string, bool) {
	definition := log.get(composites, controllerName)
	if definition == nil {
		return "no definition", false
	}
	ready, readyMessage := condition(definition, v1alpha1.ConditionReady)
	loaded, loadedMessage := scripts(definition)
	seen := fmt.Sprintf("Ready %q (%s), ScriptsReady %q (%s)", ready, readyMessage, loaded, loadedMessage)
	return seen, ready == "True" && loaded == "True"
}

// scriptsBroken holds when the condition says that the newest scripts do not load, and where they are wrong.
func scriptsBroken(position *regexp.Regexp) check {
	return func(log sightings) (string, bool) {
		definition := log.get(composites, controllerName)
		if definition == nil {
			return "no definition", false
		}
		return describeBroken(definition), isBroken(definition, position)
	}
}

func isBroken(definition *unstructured.Unstructured, position *regexp.Regexp) bool {
	status, message := scripts(definition)
	return status == "False" && position.MatchString(message)
}

func describeBroken(definition *unstructured.Unstructured) string {
	status, message := scripts(definition)
	return fmt.Sprintf("ScriptsReady %q (%s)", status, message)
}

func podNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("nginx-%d", i))
	}
	return names
}

// settled holds when n Pods are all there are, Ready and each with its bound claim, and the CatSet's status says so.
func settled(n int) check {
	return func(log sightings) (string, bool) {
		done := len(log.list(pods)) == n
		for _, name := range podNames(n) {
			pod, claim := log.get(pods, name), log.get(claims, "www-"+name)
			done = done && pod != nil && isReady(pod) && claim != nil && phase(claim) == "Bound"
		}
		ready := int64(0)
		if set := log.get(catsets, "nginx"); set != nil {
			ready = readyReplicas(set)
		}
		return fmt.Sprintf("%s, CatSet with %d ready", describePods(log), ready), done && ready == int64(n)
	}
}

func phase(object *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	return phase
}

func readyReplicas(set *unstructured.Unstructured) int64 {
	ready, _, _ := unstructured.NestedInt64(set.Object, "status", "readyReplicas")
	return ready
}

func describePods(log sightings) string {
	var each []string
	for _, pod := range log.list(pods) {
		state := phase(pod)
		switch {
		case pod.GetDeletionTimestamp() != nil:
			state = "Terminating"
		case isReady(pod):
			state = "Ready"
		}
		if claim := log.get(claims, "www-"+pod.GetName()); claim == nil || phase(claim) != "Bound" {
			state += " without claim"
		}
		each = append(each, pod.GetName()+" "+state)
	}
	if each == nil {
		return "no Pods"
	}
	return strings.Join(each, ", ")
}

// replaced holds when a Pod of the name is there that is not the old one.
func replaced(name, old string) check {
	return func(log sightings) (string, bool) {
		now := uid(log, pods, name)
		return fmt.Sprintf("%s has uid %q", name, now), now != "" && now != old
	}
}

// leads holds when the Pod has the label that the edited script gives.
func leads(name string) check {
	return func(log sightings) (string, bool) {
		pod := log.get(pods, name)
		if pod == nil {
			return "no " + name, false
		}
		role := pod.GetLabels()["role"]
		return fmt.Sprintf("%s has role %q", name, role), role == "leader"
	}
}

// condition is status and message of an object's condition of a type.
func condition(object *unstructured.Unstructured, kind string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, _ := entry.(map[string]any); c["type"] == kind {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
		}
	}
	return status, message
}

// isReady holds for a Pod that is Ready, and not on its way out.
func isReady(pod *unstructured.Unstructured) bool {
	status, _ := condition(pod, "Ready")
	return status == "True" && pod.GetDeletionTimestamp() == nil
}

// scriptRevision is that of a definition's scripts.
func scriptRevision(definition *unstructured.Unstructured) string {
	revision, _, _ := unstructured.NestedString(definition.Object, "status", "scriptRevision")
	return revision
}

// revision is that of the scripts that serve, as the definition tells.
func revision(log sightings) string {
	if definition := log.get(composites, controllerName); definition != nil {
		return scriptRevision(definition)
	}
	return ""
}

func scripts(definition *unstructured.Unstructured) (status, message string) {
	return condition(definition, v1alpha1.ConditionScriptsReady)
}
