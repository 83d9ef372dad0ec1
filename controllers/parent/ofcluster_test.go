package parent

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestObjectsOfTheCluster checks that nobody is advised to delete or to adopt what Kubernetes makes for itself.
func TestObjectsOfTheCluster(t *testing.T) {
	for name, c := range map[string]struct {
		reason, apiVersion, kind, namespace, name string
		want                                      bool
	}{
		"certificate":     {"It is in each namespace.", "v1", "ConfigMap", "a", "kube-root-ca.crt", true},
		"account":         {"So is this one.", "v1", "ServiceAccount", "a", "default", true},
		"namespace":       {"It is made again by the API server.", "v1", "Namespace", "", "kube-system", true},
		"API server":      {"So is its own Service.", "v1", "Service", "default", "kubernetes", true},
		"namesake":        {"Only that of the namespace default is the API server's.", "v1", "Service", "a", "kubernetes", false},
		"another kind":    {"The name alone says nothing.", "v1", "Secret", "a", "default", false},
		"another group":   {"Nor does the kind.", "example.com/v1", "ConfigMap", "a", "kube-root-ca.crt", false},
		"somebody else's": {"It has no owner, and may be deleted.", "v1", "ConfigMap", "a", "settings", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			live := &unstructured.Unstructured{}
			live.SetAPIVersion(c.apiVersion)
			live.SetKind(c.kind)
			live.SetNamespace(c.namespace)
			live.SetName(c.name)
			why, passes := (&pass{}).blockingObject(live)
			if got := strings.Contains(why, "the cluster keeps it for itself: let the hook choose another name"); got != c.want || passes {
				t.Errorf("it %s (it passes: %v), want that the cluster keeps it: %v", why, passes, c.want)
			}
			if advised := strings.Contains(why, "delete"); advised == c.want {
				t.Errorf("it %s: want advice to delete it: %v", why, !c.want)
			}
		})
	}
}
