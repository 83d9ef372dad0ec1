package explore

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// fault is something that happens to a controller in real clusters, and that it must survive.
type fault struct {
	words string
	step  controllertest.Step
}

// faultPasses is how many passes are made while a fault lasts: one that finds what the state before it had left to do, and one after
// other controllers have acted.
const faultPasses = 2

// faultsAt returns the faults that can happen at a node, in order. The status of a parent is lost only if it is the controller's: nothing
// here would write that of another one again.
func faultsAt(n *node, ownsStatus bool) []fault {
	f := &faults{node: n}
	f.writes()
	parents := n.checkpoint.Parents()
	for _, object := range n.checkpoint.Objects() {
		if object.GetDeletionTimestamp() != nil || object.GroupVersionKind().Kind == controllerRevision {
			continue
		}
		if parents[object.GetUID()] {
			if ownsStatus {
				f.parent(object)
			}
			continue
		}
		owned := func(owner metav1.OwnerReference) bool { return parents[owner.UID] }
		if slices.ContainsFunc(object.GetOwnerReferences(), owned) {
			f.child(object)
		}
	}
	f.delays()
	f.readiness()
	return f.all
}

// controllerRevision is the kind of the host's own records.
const controllerRevision = "ControllerRevision"

type faults struct {
	*node
	all []fault
}

// addf adds a fault. Readiness is as in the step of the case, unless the fault is about it.
func (f *faults) addf(step controllertest.Step, format string, args ...any) {
	passes := faultPasses
	step.Passes = &passes
	step.Parent = f.base.Parent
	if step.Ready == nil {
		step.Ready = f.base.Ready
	}
	step.NotReady = slices.Concat(f.base.NotReady, step.NotReady)
	f.all = append(f.all, fault{words: fmt.Sprintf(format, args...), step: step})
}

// writes adds what can happen to the writes of the passes to come.
func (f *faults) writes() {
	for i, w := range f.next {
		name := nameOf(w.Key())
		reason := metav1.StatusReasonConflict
		if w.Verb == memcluster.Create {
			reason = metav1.StatusReasonInternalError
		}
		refusal := controllertest.Refusal{Verb: string(w.Verb), Resource: f.checkpoint.Resource(w.Kind), Name: w.Name, Reason: reason}
		f.addf(controllertest.Step{Refuse: []controllertest.Refusal{refusal}}, "the API server refuses to %s %s: %s", w.Verb, name, reason)
		refusal.Reason, refusal.Stored = metav1.StatusReasonTimeout, true
		f.addf(controllertest.Step{Refuse: []controllertest.Refusal{refusal}}, "the response to %s %s is lost", w.Verb, name)
		if i > 0 {
			f.addf(controllertest.Step{RestartAfterWrites: i}, "the host restarts before it can %s %s", w.Verb, name)
		}
	}
}

// parent adds what can happen to a parent.
func (f *faults) parent(object *unstructured.Unstructured) {
	if status, _ := object.Object["status"].(map[string]any); len(status) > 0 {
		f.loseStatus(object)
	}
}

// loseStatus makes another client remove a status, as a restored backup does.
func (f *faults) loseStatus(object *unstructured.Unstructured) {
	name := nameOf(apply.KeyOf(object))
	f.addf(controllertest.Step{Patch: []controllertest.Patch{
		{Object: controllertest.ObjectName(name), Merge: map[string]any{"status": nil}, Subresource: "status"},
	}}, "the status of %s is lost", name)
}

// child adds what can happen to a child.
func (f *faults) child(object *unstructured.Unstructured) {
	name := nameOf(apply.KeyOf(object))
	deletion := []controllertest.Deletion{{Object: controllertest.ObjectName(name)}}
	f.addf(controllertest.Step{Delete: deletion}, "another client deletes %s", name)
	if resource := f.checkpoint.Resource(object.GroupVersionKind()); resource != "" {
		f.addf(controllertest.Step{Delete: deletion, Delay: []string{resource}}, "another client deletes %s, and the host sees it late", name)
	}
	if status, _ := object.Object["status"].(map[string]any); len(status) > 0 {
		f.loseStatus(object)
		if readiness.Of(object).State == readiness.Ready {
			names := []controllertest.ObjectName{controllertest.ObjectName(name)}
			f.addf(controllertest.Step{NotReady: names}, "%s is no longer ready for a while", name)
		}
	}
}

// delays adds watches that lag behind.
func (f *faults) delays() {
	var resources []string
	for _, w := range f.next {
		resources = append(resources, f.checkpoint.Resource(w.Kind))
	}
	for _, key := range f.acted {
		resources = append(resources, f.checkpoint.Resource(key.Kind))
	}
	slices.Sort(resources)
	for _, resource := range slices.Compact(resources) {
		if resource != "" {
			f.addf(controllertest.Step{Delay: []string{resource}}, "the host sees changes of %s late", resource)
		}
	}
}

// readiness adds other orders in which objects become ready.
func (f *faults) readiness() {
	if len(f.acted) == 0 {
		return
	}
	var names []controllertest.ObjectName
	for _, key := range f.acted {
		names = append(names, controllertest.ObjectName(nameOf(key)))
	}
	f.addf(controllertest.Step{Ready: &controllertest.Selection{}}, "%s becomes ready late", joined(names))
	if len(names) == 1 {
		return
	}
	for _, name := range names {
		first := &controllertest.Selection{Names: []controllertest.ObjectName{name}}
		f.addf(controllertest.Step{Ready: first}, "%s becomes ready before the others", name)
	}
}

func joined(names []controllertest.ObjectName) string {
	var all []string
	for _, name := range names {
		all = append(all, string(name))
	}
	if len(all) > 3 {
		all = append(all[:3], "...")
	}
	return strings.Join(all, ", ")
}
