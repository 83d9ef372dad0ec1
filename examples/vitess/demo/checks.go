package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/steps"
)

// tree is what the example's cluster asks for.
var tree = []struct {
	resource schema.GroupVersionResource
	count    int
}{
	{clusters, 1},
	{cells, 2},
	{keyspaces, 2},
	{shards, 3},
	{statefulSets, 2}, // The global topology server, and that of zone2.
	{deployments, 6},  // vtctld, a vtgate in each cell, a vtorc for each shard.
	{jobs, 4},         // A registration for each cell and each keyspace.
	{pods, 4 + 1 + 3 + 3 + 9 + 4},
	{claims, 4 + 9}, // Of etcd and of tablets.
	{services, 4 + 1 + 2 + 3},
}

func treeText() string {
	var texts []string
	for _, want := range tree {
		texts = append(texts, fmt.Sprintf("%d %s", want.count, want.resource.Resource))
	}
	return strings.Join(texts, ", ")
}

// definitionsReady returns a check that passes if so many definitions are Ready.
func definitionsReady(count int) steps.Check {
	return func(log steps.Observations) (string, bool) {
		ready := 0
		var reports []string
		for _, definition := range log.List(composites) {
			status, message := steps.Condition(definition, "Ready")
			reports = append(reports, fmt.Sprintf("%s %q %s", definition.GetName(), status, message))
			if steps.IsReady(definition) {
				ready++
			}
		}
		return strings.Join(reports, ", "), ready == count
	}
}

// clusterReady returns a check that passes if the newest spec of a cluster is at work everywhere.
func clusterReady(name string) steps.Check {
	return func(log steps.Observations) (string, bool) {
		cluster := log.Get(clusters, name)
		if cluster == nil {
			return "no VitessCluster " + name, false
		}
		observed, _, _ := unstructured.NestedInt64(cluster.Object, "status", "observedGeneration")
		status, message := steps.Condition(cluster, "Ready")
		updated, _ := steps.Condition(cluster, "Updated")
		done := status == "True" && updated == "True" && observed == cluster.GetGeneration()
		return fmt.Sprintf("VitessCluster %s is Ready %q (%s), Updated %q", name, status, message, updated), done
	}
}

// component returns the part of Vitess that an object is.
func component(object *unstructured.Unstructured) string {
	return object.GetLabels()["vitess.libretto.dev/component"]
}

// tablets returns the present Pods of tablets.
func tablets(log steps.Observations) []*unstructured.Unstructured {
	return slices.DeleteFunc(log.List(pods), func(pod *unstructured.Unstructured) bool { return component(pod) != "vttablet" })
}

// imagesAre returns a check that passes if all tablets run an image and are Ready.
func imagesAre(image string) steps.Check {
	return func(log steps.Observations) (string, bool) {
		all, done := tablets(log), 0
		for _, pod := range all {
			if steps.IsReady(pod) && strings.Contains(images(pod), image) {
				done++
			}
		}
		return fmt.Sprintf("%d of %d tablets run %s", done, len(all), image), done == len(all) && done > 0
	}
}

func images(pod *unstructured.Unstructured) string {
	var found []string
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	for _, entry := range containers {
		container, _ := entry.(map[string]any)
		image, _ := container["image"].(string)
		found = append(found, image)
	}
	return strings.Join(found, " ")
}

func nothingLeft(log steps.Observations) (string, bool) {
	var left []string
	for _, resource := range watched {
		for _, object := range log.List(resource) {
			left = append(left, resource.Resource+" "+object.GetName())
		}
	}
	return "left are " + strings.Join(left, ", "), left == nil
}

// describe counts what there is.
func describe(log steps.Observations) string {
	objects := 0
	for _, resource := range watched {
		objects += len(log.List(resource))
	}
	return fmt.Sprintf("%d objects with %d Pods, %d of them tablets", objects, len(log.List(pods)), len(tablets(log)))
}

// growingTime returns the time from the first observation of a cluster to the first that is Ready.
func growingTime(log steps.Observations, name string) time.Duration {
	first, _ := log.First(func(o steps.Observation) bool { return o.Is(clusters, name) })
	ready, _ := log.First(func(o steps.Observation) bool { return o.Is(clusters, name) && steps.IsReady(o.Object) })
	return ready.At.Sub(first.At)
}

// rolledOneAtATime returns the order in which the tablets were made anew, or an error if two were not Ready at the same time.
func rolledOneAtATime(before, since steps.Observations) ([]string, error) {
	down := map[string]bool{}
	var order []string
	known := map[string]bool{}
	for _, pod := range tablets(before) {
		known[pod.GetName()] = true
	}
	for _, o := range since {
		name := o.Object.GetName()
		if o.Resource != pods || !known[name] {
			continue
		}
		if !o.Deleted && steps.IsReady(o.Object) {
			delete(down, name)
			continue
		}
		if !down[name] {
			order = append(order, name)
		}
		down[name] = true
		if len(down) > 1 {
			return nil, fmt.Errorf("expected one tablet after the other; last seen: not Ready at the same time are %v", down)
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(order)), slices.Sorted(maps.Keys(known))) {
		return nil, fmt.Errorf("expected each of %d tablets to be made anew once; last seen: %v", len(known), order)
	}
	return order, nil
}

// claimsKept returns an error if a claim is another one than before.
func claimsKept(before, now steps.Observations) error {
	for _, claim := range before.List(claims) {
		if same := now.Get(claims, claim.GetName()); same == nil || same.GetUID() != claim.GetUID() {
			return fmt.Errorf("expected claim %s to be kept; last seen: another one, or none", claim.GetName())
		}
	}
	return nil
}
