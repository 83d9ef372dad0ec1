package env

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// ConditionOf gives a condition of an object's status, or an empty one.
func (e *Env) ConditionOf(object *unstructured.Unstructured, kind string) metav1.Condition {
	e.T.Helper()
	status := struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{}
	value, _, _ := unstructured.NestedMap(object.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(value, &status); err != nil {
		e.T.Fatal(err)
	}
	for _, c := range status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// Condition gives a condition of a CompositeController that is about its present spec, or an empty one.
func (e *Env) Condition(definition, kind string) metav1.Condition {
	e.T.Helper()
	object, err := e.Cluster.Dynamic().Resource(CompositeControllers).Get(e.T.Context(), definition, metav1.GetOptions{})
	if err != nil {
		e.T.Fatal(err)
	}
	if c := e.ConditionOf(object, kind); c.ObservedGeneration == object.GetGeneration() {
		return c
	}
	return metav1.Condition{}
}

// MustCondition waits for a condition of the newest spec with that status, and a message that contains all of parts.
func (e *Env) WaitForCondition(definition, kind, status string, parts ...string) metav1.Condition {
	e.T.Helper()
	var c metav1.Condition
	cluster.Eventually(e.T, Timeout, func() error {
		c = e.Condition(definition, kind)
		return CheckCondition(c, status, parts...)
	})
	return c
}

// Says checks a condition's status, and that its reason and message contain all of parts.
func CheckCondition(c metav1.Condition, status string, parts ...string) error {
	if string(c.Status) != status {
		return fmt.Errorf("condition %s is %q (%s: %s), want %s", c.Type, c.Status, c.Reason, c.Message, status)
	}
	return contains(c.Reason+": "+c.Message, parts)
}

// MustEvent waits for an event on an object of any namespace, or on a definition, whose message contains all of parts.
func (e *Env) WaitForEvent(name, reason string, parts ...string) corev1.Event {
	e.T.Helper()
	var found corev1.Event
	cluster.Eventually(e.T, Timeout, func() error {
		list, err := e.Cluster.Dynamic().Resource(Events).List(e.T.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return err
		}
		var said []string
		for _, item := range list.Items {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &found); err != nil {
				return err
			}
			said = append(said, found.Reason+": "+found.Message)
			if found.Reason == reason && contains(found.Message, parts) == nil {
				return nil
			}
		}
		return fmt.Errorf("no event %s with %q on %s, only\n%s", reason, parts, name, strings.Join(said, "\n"))
	})
	return found
}

func contains(text string, parts []string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q does not contain %q", text, part)
		}
	}
	return nil
}
