// Package readiness reports whether an object is ready: one table for the built-in kinds, and a rule for all
// others. It also knows the status that the controllers of these kinds give to an object that is ready.
//
// The meaning is that of kstatus (sigs.k8s.io/cli-utils), but for Jobs: one is ready once it is complete, and
// not as soon as it runs.
package readiness

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is how far an object has come.
type State string

// The states.
const (
	Ready       State = "Ready"
	InProgress  State = "InProgress"
	Failed      State = "Failed"
	Terminating State = "Terminating"
)

// Status is the state of an object and the reason for it, unless it is ready.
type Status struct {
	State  State
	Reason string
}

// kind is a row of the table.
type kind struct {
	// check returns the Status of an object that the rules for all kinds leave open.
	check func(o object) Status
	// succeed returns the status of an object that is ready. Nil means that the kind has none.
	succeed func(o object, now string) map[string]any
}

var (
	ready    = Status{State: Ready}
	isAlways = func(object) Status { return ready }
)

// kinds is the table. Kinds that are not in it are ready as their conditions tell.
var kinds = map[schema.GroupKind]kind{
	{Kind: "Namespace"}:                                               {phase("Active"), withPhase("Active")},
	{Kind: "Node"}:                                                    {condition("Ready"), withConditions("Ready")},
	{Kind: "PersistentVolume"}:                                        {phase("Bound", "Available"), withPhase("Bound")},
	{Kind: "PersistentVolumeClaim"}:                                   {phase("Bound"), claimStatus},
	{Kind: "Pod"}:                                                     {checkPod, podStatus},
	{Kind: "ReplicationController"}:                                   {observed(checkReplicaSet), replicaSetStatus},
	{Kind: "Service"}:                                                 {checkService, serviceStatus},
	{Group: "apps", Kind: "DaemonSet"}:                                {observed(checkDaemonSet), daemonSetStatus},
	{Group: "apps", Kind: "Deployment"}:                               {observed(checkDeployment), deploymentStatus},
	{Group: "apps", Kind: "ReplicaSet"}:                               {observed(checkReplicaSet), replicaSetStatus},
	{Group: "apps", Kind: "StatefulSet"}:                              {observed(checkStatefulSet), statefulSetStatus},
	{Group: "batch", Kind: "CronJob"}:                                 {isAlways, nil},
	{Group: "batch", Kind: "Job"}:                                     {checkJob, jobStatus},
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     {isAlways, nil},
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    {observed(checkDisruptionBudget), disruptionBudgetStatus},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           {isAlways, nil},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {checkDefinition, definitionStatus},
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             {condition("Available"), withConditions("Available")},
}

// Of returns the status of an object.
func Of(u *unstructured.Unstructured) Status {
	o := object{u}
	if u.GetDeletionTimestamp() != nil {
		return Status{Terminating, "it is being deleted"}
	}
	if observed, ok := o.int("status", "observedGeneration"); ok && observed < u.GetGeneration() {
		return Status{InProgress, fmt.Sprintf("generation %d has not been observed: status is of %d", u.GetGeneration(), observed)}
	}
	if reason, is := o.condition("Stalled"); is == "True" {
		return Status{Failed, reason}
	}
	if reason, is := o.condition("Reconciling"); is == "True" {
		return Status{InProgress, reason}
	}
	if k, ok := kinds[u.GroupVersionKind().GroupKind()]; ok {
		return k.check(o)
	}
	if reason, is := o.condition("Ready"); is != "" && is != "True" {
		return Status{InProgress, reason}
	}
	return ready
}

// Succeeded returns the status that controllers give to an object once it is ready, and whether there is one: some kinds have
// none, and what has failed for good never becomes ready. Kinds that are not in the table get the condition Ready.
func Succeeded(u *unstructured.Unstructured, now time.Time) (status map[string]any, ok bool) {
	o, at := object{u}, now.UTC().Format(time.RFC3339)
	k, known := kinds[u.GroupVersionKind().GroupKind()]
	switch {
	case known && k.succeed == nil, hasFailedForGood(u):
		return nil, false
	case known:
		return k.succeed(o, at), true
	default:
		return withConditions("Ready")(o, at), true
	}
}

// endings are the kinds whose objects end: one that has failed stays so.
var endings = map[schema.GroupKind]bool{{Kind: "Pod"}: true, {Group: "batch", Kind: "Job"}: true}

func hasFailedForGood(u *unstructured.Unstructured) bool {
	return endings[u.GroupVersionKind().GroupKind()] && Of(u).State == Failed
}

// InTable reports whether a kind is in the table.
func InTable(gk schema.GroupKind) bool { _, ok := kinds[gk]; return ok }
