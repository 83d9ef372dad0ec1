package env

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// ConditionOf returns a condition of an object's status, or an empty one.
func (e *Env) ConditionOf(object *unstructured.Unstructured, kind string) metav1.Condition {
	e.T.Helper()
	status := struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{}
	value, _, _ := unstructured.NestedMap(object.Object, "status")
	e.NoError(runtime.DefaultUnstructuredConverter.FromUnstructured(value, &status))
	for _, c := range status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// Kstatus returns what kstatus makes of a custom resource, by its documented rules, of which the first one that applies counts.
func (e *Env) Kstatus(object *unstructured.Unstructured) string {
	observed, found, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	is := func(condition string) string { return string(e.ConditionOf(object, condition).Status) }
	for _, rule := range []struct {
		applies bool
		status  string
	}{
		{object.GetDeletionTimestamp() != nil, "Terminating"},
		{found && observed != object.GetGeneration(), "InProgress"},
		{is("Reconciling") == "True", "InProgress"},
		{is("Stalled") == "True", "Failed"},
		{is("Ready") == "True", "Current"},
		{is("Ready") == "False" || is("Ready") == "Unknown", "InProgress"},
	} {
		if rule.applies {
			return rule.status
		}
	}
	return "Current" // Nothing is known of it.
}

// WaitForCondition waits for a condition of a CompositeController, as WaitForConditionOf does.
func (e *Env) WaitForCondition(name, condition, status string, parts ...string) metav1.Condition {
	e.T.Helper()
	return e.WaitForConditionOf(Composite, name, condition, status, parts...)
}

// WaitForConditionOf waits for a condition of a definition's newest spec that has the status, and that has all parts in
// its reason and message.
func (e *Env) WaitForConditionOf(kind, name, condition, status string, parts ...string) metav1.Condition {
	e.T.Helper()
	return e.waitForCondition(e.ClusterScope().In(Definitions(kind)), name, condition, status, parts)
}

// WaitForNamespacedCondition is WaitForConditionOf for a definition of the test's namespace.
func (e *Env) WaitForNamespacedCondition(kind, name, condition, status string, parts ...string) metav1.Condition {
	e.T.Helper()
	return e.waitForCondition(e.In(NamespacedDefinitions(kind)), name, condition, status, parts)
}

func (e *Env) waitForCondition(in dynamic.ResourceInterface, name, condition, status string, parts []string) metav1.Condition {
	e.T.Helper()
	var c metav1.Condition
	e.Eventually(func() error {
		definition, err := in.Get(e.T.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c = e.ConditionOf(definition, condition)
		if c.ObservedGeneration != definition.GetGeneration() {
			return fmt.Errorf("condition %s is of generation %d, want %d", condition, c.ObservedGeneration, definition.GetGeneration())
		}
		return CheckCondition(c, status, parts...)
	})
	return c
}

// WaitUntilReady waits until a definition runs its newest spec.
func (e *Env) WaitUntilReady(kind, name string) {
	e.T.Helper()
	e.WaitForConditionOf(kind, name, "Ready", "True")
}

// CheckCondition checks a condition's status, and that its reason and message contain all parts.
func CheckCondition(c metav1.Condition, status string, parts ...string) error {
	if string(c.Status) != status {
		return fmt.Errorf("condition %s is %q (%s: %s), want %s", c.Type, c.Status, c.Reason, c.Message, status)
	}
	return contains(c.Reason+": "+c.Message, parts)
}

// WaitForEvent waits for an event on an object of any namespace, or on a definition, that has all parts in its message.
func (e *Env) WaitForEvent(name, reason string, parts ...string) corev1.Event {
	e.T.Helper()
	var found corev1.Event
	e.Eventually(func() error {
		list, err := e.Cluster.Dynamic().Resource(Events).List(e.T.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return err
		}
		var others []string
		for _, item := range list.Items {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &found); err != nil {
				return err
			}
			others = append(others, found.Reason+": "+found.Message)
			if found.Reason == reason && contains(found.Message, parts) == nil {
				return nil
			}
		}
		return fmt.Errorf("no event %s with %q on %s, only\n%s", reason, parts, name, strings.Join(others, "\n"))
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

// ScriptRevision returns the revision of the scripts that a CompositeController's status says serves.
func (e *Env) ScriptRevision(definition string) string {
	e.T.Helper()
	object, err := e.Cluster.Dynamic().Resource(CompositeControllers).Get(e.T.Context(), definition, metav1.GetOptions{})
	e.NoError(err)
	revision, _, _ := unstructured.NestedString(object.Object, "status", "scriptRevision")
	return revision
}
