package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// upstream has the objects that metacontroller 4.17's own manifests install, but for the CRDs: their names, and of the pod what admission
// looks at, which is that it has no securityContext.
const upstream = `
apiVersion: v1
kind: Namespace
metadata: {name: metacontroller, labels: {app.kubernetes.io/name: metacontroller}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: metacontroller, namespace: metacontroller}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metacontroller}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: metacontroller}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metacontroller}
subjects: [{kind: ServiceAccount, name: metacontroller, namespace: metacontroller}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: aggregate-metacontroller-view, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules:
- {apiGroups: [metacontroller.k8s.io], resources: [compositecontrollers, decoratorcontrollers, controllerrevisions], verbs: [get, list, watch]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: metacontroller, namespace: metacontroller}
spec:
  replicas: 0 # After it was scaled to zero, which is the first step.
  serviceName: ""
  selector: {matchLabels: {app.kubernetes.io/name: metacontroller}}
  template:
    metadata: {labels: {app.kubernetes.io/name: metacontroller}}
    spec:
      serviceAccountName: metacontroller
      containers: [{name: metacontroller, image: metacontroller, command: [/usr/bin/metacontroller]}]
`

var (
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	accounts     = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	roles        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	bindings     = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

// swap is an environment with metacontroller's manifests and manifests/base.
type swap struct {
	*env.Env
	folder string
}

func newSwap(t *testing.T) swap {
	t.Helper()
	e := env.New(t).InNamespace("metacontroller")
	root, err := cluster.Root()
	env.NoError(t, err)
	s := swap{e, filepath.Join(root, "manifests")}
	e.Apply(upstream)
	s.Kubectl("apply", "--server-side", "--force-conflicts", "-k", filepath.Join(s.folder, "base"))
	t.Cleanup(func() {
		for _, object := range []string{
			"namespace/metacontroller", "namespace/libretto", "clusterrole/metacontroller", "clusterrole/aggregate-metacontroller-view",
			"clusterrolebinding/metacontroller", "clusterrole/libretto", "clusterrolebinding/libretto",
			"clusterrole/aggregate-libretto-view",
		} {
			if _, err := e.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "--wait=false", object); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// others returns what matters of each object of metacontroller's and of manifests/base.
func (s swap) others() map[string]string {
	s.T.Helper()
	found := map[string]string{}
	for _, o := range []struct {
		resource        schema.GroupVersionResource
		namespace, name string
	}{
		{env.Namespaces, "", "metacontroller"}, {accounts, "metacontroller", "metacontroller"}, {roles, "", "metacontroller"},
		{bindings, "", "metacontroller"}, {roles, "", "aggregate-metacontroller-view"}, {statefulSets, "metacontroller", "metacontroller"},
		{env.Namespaces, "", "libretto"}, {accounts, "libretto", "libretto"}, {roles, "", "libretto"}, {bindings, "", "libretto"},
		{roles, "", "aggregate-libretto-view"},
		{env.CRDs, "", "compositecontrollers.metacontroller.k8s.io"}, {env.CRDs, "", "controllerrevisions.metacontroller.k8s.io"},
	} {
		object := s.InNamespace(o.namespace).Get(o.resource, o.name)
		if object.GetDeletionTimestamp() != nil {
			s.T.Errorf("%s %s is being deleted", o.resource.Resource, o.name)
		}
		content := object.Object
		text, err := json.Marshal([]any{object.GetUID(), object.GetLabels(), content["subjects"], content["rules"], content["spec"]})
		s.NoError(err)
		found[o.resource.Resource+" "+o.namespace+"/"+o.name] = string(text)
	}
	return found
}

// admitted returns the error of the API server for a pod of a StatefulSet's or Deployment's template as that ServiceAccount. It is not
// created.
func (s swap) admitted(resource schema.GroupVersionResource, name, namespace, account string) error {
	s.T.Helper()
	template, _, err := unstructured.NestedMap(s.Get(resource, name).Object, "spec", "template")
	s.NoError(err)
	pod := &unstructured.Unstructured{Object: template}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetName("dry-run")
	s.NoError(unstructured.SetNestedField(pod.Object, account, "spec", "serviceAccountName"))
	_, err = s.InNamespace(namespace).In(env.Pods).Create(s.T.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// accountOf returns the ServiceAccount of a Deployment's pods.
func (s swap) accountOf(deployment string) string {
	s.T.Helper()
	return field(s.Get(env.Deployments, deployment), "spec", "template", "spec", "serviceAccountName")
}

// may reports whether metacontroller's ServiceAccount may do what a host does.
func (s swap) may() bool {
	s.T.Helper()
	client, err := kubernetes.NewForConfig(s.Cluster.Config)
	s.NoError(err)
	review, err := client.AuthorizationV1().SubjectAccessReviews().Create(s.T.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:metacontroller:metacontroller",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "configmaps", Namespace: "default"},
		},
	}, metav1.CreateOptions{})
	s.NoError(err)
	return review.Status.Allowed
}

// TestSwapAndBack installs manifests/metacontroller beside metacontroller's own manifests, and removes it again. Nothing of
// metacontroller's changes, nor of manifests/base, and each one's pods are admitted all the time.
func TestSwapAndBack(t *testing.T) {
	s := newSwap(t)
	before := s.others()
	check := func(when string) {
		t.Helper()
		if diff := cmp.Diff(before, s.others()); diff != "" {
			t.Errorf("%s objects of others have changed (-before +now):\n%s", when, diff)
		}
		s.Eventually(func() error { return s.admitted(statefulSets, "metacontroller", "metacontroller", "metacontroller") })
		s.Eventually(func() error {
			if !s.may() {
				return fmt.Errorf("%s metacontroller's ServiceAccount may not create children", when)
			}
			return nil
		})
	}
	check("at first")
	// That is what a label of the namespace would do.
	err := s.admitted(statefulSets, "metacontroller", "libretto", "libretto")
	if err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("metacontroller's pod in a restricted namespace: error %v, want that PodSecurity forbids it", err)
	}

	overlay := filepath.Join(s.folder, "metacontroller")
	s.Kubectl("apply", "--server-side", "--force-conflicts", "-k", filepath.Join(s.folder, "crd"))
	s.Kubectl("apply", "-k", overlay)
	check("after the swap")
	s.Eventually(func() error {
		return s.admitted(env.Deployments, "libretto-metacontroller", "metacontroller", "metacontroller")
	})
	if got := s.accountOf("libretto-metacontroller"); got != "metacontroller" {
		t.Errorf("the host is the ServiceAccount %q, want metacontroller's", got)
	}

	s.Kubectl("delete", "-k", overlay)
	check("after the way back")
	s.Apply(upstream)
	if left := s.Names(env.Deployments, ""); slices.Contains(left, "libretto-metacontroller") {
		t.Errorf("there still are the Deployments %q", left)
	}
}
