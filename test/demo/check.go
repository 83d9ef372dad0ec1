package main

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/steps"
)

// newRevision returns a check that passes if the script revision is not the old one.
func newRevision(old string) check {
	return func(log observations) (string, bool) {
		now := revision(log)
		return "scriptRevision " + now, now != "" && now != old
	}
}

// definitionReady passes if the newest script is loaded.
func definitionReady(log observations) (string, bool) {
	definition := log.Get(composites, controllerName)
	if definition == nil {
		return "no definition", false
	}
	ready, readyMessage := steps.Condition(definition, v1alpha1.ConditionReady)
	loaded, loadedMessage := scripts(definition)
	seen := fmt.Sprintf("Ready %q (%s), ScriptsReady %q (%s)", ready, readyMessage, loaded, loadedMessage)
	return seen, ready == "True" && loaded == "True"
}

// scriptsBroken returns a check that passes if the condition ScriptsReady is False and names a position.
func scriptsBroken(position *regexp.Regexp) check {
	return func(log observations) (string, bool) {
		definition := log.Get(composites, controllerName)
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

// scriptsHeld passes if the newest script loads and is held.
func scriptsHeld(log observations) (string, bool) {
	definition := log.Get(composites, controllerName)
	if definition == nil {
		return "no definition", false
	}
	return describeHeld(definition), isHeld(definition)
}

func isHeld(definition *unstructured.Unstructured) bool {
	status, message := steps.Condition(definition, v1alpha1.ConditionProgressing)
	return status == "False" && strings.Contains(message, "would delete")
}

func describeHeld(definition *unstructured.Unstructured) string {
	status, message := steps.Condition(definition, v1alpha1.ConditionProgressing)
	return fmt.Sprintf("Progressing %q (%s)", status, message)
}

// noEditHeld passes if the newest script serves.
func noEditHeld(log observations) (string, bool) {
	seen, ready := definitionReady(log)
	if definition := log.Get(composites, controllerName); definition != nil {
		seen += ", " + describeHeld(definition)
		ready = ready && !isHeld(definition)
	}
	return seen, ready
}

func podNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("nginx-%d", i))
	}
	return names
}

// allReady returns a check that passes if there are exactly n Pods, Ready and each with a bound claim, and the status of the
// CatSet says so.
func allReady(n int) check {
	return func(log observations) (string, bool) {
		done := len(log.List(pods)) == n
		for _, name := range podNames(n) {
			pod, claim := log.Get(pods, name), log.Get(claims, "www-"+name)
			done = done && pod != nil && steps.IsReady(pod) && claim != nil && phase(claim) == "Bound"
		}
		ready := int64(0)
		if set := log.Get(catsets, "nginx"); set != nil {
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

func describePods(log observations) string {
	var each []string
	for _, pod := range log.List(pods) {
		state := phase(pod)
		switch {
		case pod.GetDeletionTimestamp() != nil:
			state = "Terminating"
		case steps.IsReady(pod):
			state = "Ready"
		}
		if claim := log.Get(claims, "www-"+pod.GetName()); claim == nil || phase(claim) != "Bound" {
			state += " without claim"
		}
		each = append(each, pod.GetName()+" "+state)
	}
	if each == nil {
		return "no Pods"
	}
	return strings.Join(each, ", ")
}

// replaced returns a check that passes if there is a Pod of that name with another UID.
func replaced(name, old string) check {
	return func(log observations) (string, bool) {
		now := uid(log, pods, name)
		return fmt.Sprintf("%s has uid %q", name, now), now != "" && now != old
	}
}

// isLeader returns a check that passes if the Pod has the label of the edited script.
func isLeader(name string) check {
	return func(log observations) (string, bool) {
		pod := log.Get(pods, name)
		if pod == nil {
			return "no " + name, false
		}
		role := pod.GetLabels()["role"]
		return fmt.Sprintf("%s has role %q", name, role), role == "leader"
	}
}

// scriptRevision returns the definition's status.scriptRevision.
func scriptRevision(definition *unstructured.Unstructured) string {
	revision, _, _ := unstructured.NestedString(definition.Object, "status", "scriptRevision")
	return revision
}

// revision returns the revision of the loaded scripts, or "".
func revision(log observations) string {
	if definition := log.Get(composites, controllerName); definition != nil {
		return scriptRevision(definition)
	}
	return ""
}

func scripts(definition *unstructured.Unstructured) (status, message string) {
	return steps.Condition(definition, v1alpha1.ConditionScriptsReady)
}
