package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
