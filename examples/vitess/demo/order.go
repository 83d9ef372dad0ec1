package main

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/steps"
)

// event is something that happens once to each of some objects.
type event struct {
	resource schema.GroupVersionResource
	prefix   string // Of the objects' names.
	match    func(steps.Observation) bool
}

// created are objects whose names begin with a prefix, when they are first there.
func created(resource schema.GroupVersionResource, prefix string) event {
	return event{resource, prefix, func(o steps.Observation) bool { return !o.Deleted }}
}

// createdTablets are the Pods of a keyspace's tablets.
func createdTablets(keyspace string) event {
	return event{pods, clusterName + "-" + keyspace, func(o steps.Observation) bool { return component(o.Object) == "vttablet" }}
}

// deleting are objects when their deletion begins, and gone when they are no longer there.
func deleting(resource schema.GroupVersionResource, prefix string) event {
	return event{resource, prefix, func(o steps.Observation) bool { return o.Deleted || o.Object.GetDeletionTimestamp() != nil }}
}

func gone(resource schema.GroupVersionResource, prefix string) event {
	return event{resource, prefix, func(o steps.Observation) bool { return o.Deleted }}
}

// completed are Jobs when they have ended well.
func completed(prefix string) event {
	return event{jobs, prefix, func(o steps.Observation) bool {
		status, _ := steps.Condition(o.Object, "Complete")
		return status == "True"
	}}
}

// quorum is a StatefulSet when two of three Pods are ready.
func quorum(name string) event {
	return event{statefulSets, name, func(o steps.Observation) bool {
		ready, _, _ := unstructured.NestedInt64(o.Object.Object, "status", "readyReplicas")
		return ready >= 2
	}}
}

// times returns when the event happened, by the name of the object. Watches of several resources may report in another order than that
// of the changes, so that time is measured by resourceVersion, which one etcd counts for all.
func (e event) times(log steps.Observations) (map[string]int64, error) {
	times := map[string]int64{}
	for _, o := range log {
		name := o.Object.GetName()
		if _, seen := times[name]; seen || o.Resource != e.resource || !strings.HasPrefix(name, e.prefix) || !e.match(o) {
			continue
		}
		version, err := strconv.ParseInt(o.Object.GetResourceVersion(), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.resource.Resource, name, err)
		}
		times[name] = version
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("no %s %s* was seen to do so", e.resource.Resource, e.prefix)
	}
	return times, nil
}

// order says that an event happens to all of some objects before one happens to any of others.
type order struct {
	what           string
	earlier, later event
}

func (o order) check(log steps.Observations) error {
	earlier, err := o.earlier.times(log)
	if err != nil {
		return fmt.Errorf("expected that %s: %w", o.what, err)
	}
	later, err := o.later.times(log)
	if err != nil {
		return fmt.Errorf("expected that %s: %w", o.what, err)
	}
	for first, before := range earlier {
		for second, after := range later {
			if before > after {
				return fmt.Errorf("expected that %s; last seen: %s %s was before %s %s",
					o.what, o.later.resource.Resource, second, o.earlier.resource.Resource, first)
			}
		}
	}
	return nil
}

// growth is the order in which the example's cluster grows.
var growth = []order{
	{"no cell was registered before the topology server had a quorum",
		quorum("example-etcd"), created(jobs, "example-zone")},
	{"no keyspace was registered before all cells were", completed("example-zone"), created(jobs, "example-c")},
	{"no tablet of commerce was there before the keyspace was registered",
		completed("example-commerce-register"), createdTablets("commerce")},
	{"no tablet of customer was there before the keyspace was registered",
		completed("example-customer-register"), createdTablets("customer")},
}

// decline is the order in which it goes.
var decline = []order{
	{"vtorc of commerce went before its tablets, whose end it would take for a failure",
		gone(deployments, "example-commerce-x-x-vtorc"), deleting(pods, "example-commerce-x-x-zone")},
	{"the shards of customer went before the keyspace was taken out of the topology",
		gone(shards, "example-customer"), created(jobs, "example-customer-unregister")},
	{"all keyspaces went before the cells", gone(keyspaces, ""), deleting(cells, "")},
	{"all cells went before the topology server", gone(cells, ""), deleting(statefulSets, "example-etcd")},
}
