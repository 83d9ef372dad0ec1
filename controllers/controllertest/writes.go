package controllertest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// compareWrites compares the writes that changed something, without those that a host makes for itself: status, finalizers of parents and
// ControllerRevisions.
func (c *comparison) compareWrites() {
	if c.want.Writes == nil {
		return
	}
	var want, got []string
	for _, write := range c.want.Writes {
		for verb, name := range write {
			kind, namespace, local := name.split()
			if namespace == c.namespace() {
				namespace = ""
			}
			want = append(want, verb+": "+string(nameOf(kind, namespace, local)))
		}
	}
	for _, pass := range c.passes {
		for _, w := range pass.Writes {
			if verb := c.verbOf(w); verb != "" {
				namespace := w.Namespace
				if namespace == c.namespace() {
					namespace = ""
				}
				got = append(got, verb+": "+string(nameOf(w.Kind.Kind, namespace, w.Name)))
			}
		}
	}
	if slices.Equal(want, got) {
		return
	}
	first := 0
	for first < min(len(want), len(got)) && want[first] == got[first] {
		first++
	}
	field := ".want.writes"
	if first < len(want) {
		field += fmt.Sprintf("[%d]", first)
	}
	c.fail(Failure{
		Location: c.place(field), Diff: sequenceDiff(want, got, first),
		Message: fmt.Sprintf("the writes are %s, want %s", listed(got), listed(want)),
	})
}

// sequenceDiff returns the lines of two lists that are equal up to an item.
func sequenceDiff(want, got []string, first int) []string {
	var lines []string
	for _, line := range want[:first] {
		lines = append(lines, "  - "+line)
	}
	for _, line := range want[first:] {
		lines = append(lines, "- - "+line)
	}
	for _, line := range got[first:] {
		lines = append(lines, "+ - "+line)
	}
	return lines
}

// verbOf returns create, update or delete, or "" for a write that does not count.
func (c *comparison) verbOf(w memcluster.Write) string {
	switch {
	case w.Err != nil, w.Verb == memcluster.UpdateStatus, w.Verb == memcluster.PatchStatus, w.Kind.Group == v1alpha1.GroupName:
		return ""
	case w.Verb == memcluster.Delete:
		return "delete"
	case w.Before == nil:
		return "create"
	case w.After == w.Before, c.isFinalizerOnly(w):
		return ""
	default:
		return "update"
	}
}

// isFinalizerOnly reports whether a write changed nothing but the finalizers of a parent.
func (c *comparison) isFinalizerOnly(w memcluster.Write) bool {
	if !slices.ContainsFunc(c.runner.parents, func(p *parentState) bool { return p.uid == w.Before.GetUID() }) {
		return false
	}
	return w.After == nil || jsonvalue.Equal(withoutFinalizers(w.Before), withoutFinalizers(w.After))
}

func withoutFinalizers(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetFinalizers(nil)
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	return object.Object
}
