package cluster

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
)

// namespaceTimeout is how long a new namespace may be without its service account.
const namespaceTimeout = 30 * time.Second

// Namespace makes a namespace for the test, named after it, in which Pods are admitted. Of a control plane that goes on after this process
// it is deleted at the end of the test, which is not waited for. On one that was started here it stays: a deletion asks for all objects of
// every resource, of all tests before, and has cost more than many a test.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata":   map[string]any{"generateName": namespacePrefix(t.Name())},
	}}
	created, err := c.dynamic.Resource(namespaces).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("namespace: %v", err)
	}
	name := created.GetName()
	if c.process == nil {
		t.Cleanup(func() {
			// The test's own context has ended by now.
			if err := c.dynamic.Resource(namespaces).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				t.Logf("namespace %s: %v", name, err)
			}
		})
	}
	Eventually(t, namespaceTimeout, func() error {
		_, err := c.dynamic.Resource(serviceAccounts).Namespace(name).Get(t.Context(), "default", metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
		return nil
	})
	return name
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// namespacePrefix makes a test's name one that a namespace's may begin with, short enough for what is appended.
func namespacePrefix(test string) string {
	const longest = 50
	name := notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-")
	name = strings.Trim(name[:min(len(name), longest)], "-")
	if name == "" {
		name = "test"
	}
	return name + "-"
}
