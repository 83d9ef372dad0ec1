package rights

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// rollsWithoutRights takes the rights on Pods away from the account of CatSets in the middle of a rollout, and gives them back: meanwhile nothing
// is lost, and in the end each Pod was made once.
func rollsWithoutRights(r *exampleRun) {
	const held = "ctl.example.com/held"
	demo, d := r.InNamespace("demo"), r.definitions[0]
	claims := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	old, oldClaims := demo.List(env.Pods, "app=nginx"), uidsOf(demo.List(claims, ""))
	if len(old) != 3 || len(oldClaims) != 3 {
		r.T.Fatalf("there are %d Pods and %d claims", len(old), len(oldClaims))
	}
	demo.Patch(env.Pods, "nginx-1", `{"metadata": {"finalizers": ["`+held+`"]}}`) // So that the rollout waits in its middle.
	mark := r.Mark()
	demo.Patch(schema.GroupVersionResource{Group: "ctl.example.com", Version: "v1", Resource: "catsets"}, "nginx",
		`{"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": "nginx:1.30-alpine"}]}}}}`)
	isNew := func(name string) func() error {
		return func() error {
			pod := demo.Get(env.Pods, name)
			if pod == nil || pod.GetUID() == old[name].GetUID() {
				return errors.New("there is no new " + name)
			}
			return nil
		}
	}
	r.Eventually(isNew("nginx-0"))
	for _, role := range d.roles {
		rules := r.rulesOf(role)
		for i := range rules {
			if slices.Contains(rules[i].Resources, "pods") {
				rules[i].Verbs = slices.DeleteFunc(rules[i].Verbs, func(verb string) bool { return verb == "create" || verb == "delete" })
			}
		}
		r.setRules(role, rules)
	}
	r.WaitForConditionOf(d.kind, d.name, "Authorized", "False", "create, delete pods")
	demo.Patch(env.Pods, "nginx-1", `{"metadata": {"finalizers": []}}`)
	demo.WaitForDeletion(env.Pods, "nginx-1", old["nginx-1"].GetUID())
	demo.WaitForEvent("nginx", "Forbidden", "create, delete pods")
	r.Eventually(func() error {
		definition, err := r.Cluster.Dynamic().Resource(env.Definitions(d.kind)).Get(r.T.Context(), d.name, metav1.GetOptions{})
		r.NoError(err)
		if waiting, _, _ := unstructured.NestedInt64(definition.Object, "status", "waitingParents"); waiting != 1 {
			return fmt.Errorf("%d parents wait: %v", waiting, definition.Object["status"])
		}
		return nil
	})
	if left := demo.List(env.Pods, "app=nginx"); left["nginx-0"] == nil || left["nginx-1"] != nil {
		r.T.Errorf("while the right is missing there are the Pods %v", uidsOf(left))
	}
	for _, role := range d.roles {
		r.setRules(role, r.rulesOf(role))
	}
	for _, name := range []string{"nginx-0", "nginx-1", "nginx-2"} {
		r.Eventually(isNew(name))
	}
	r.WaitForConditionOf(d.kind, d.name, "Authorized", "True")
	r.Eventually(func() error { return r.synced(d) })
	made := r.Requests(mark).Filter(func(q cluster.Request) bool { return q.Resource == "pods" && q.Verb == "create" && q.Code == 201 })
	if len(made) != 3 {
		r.T.Errorf("Pods were made %d times:\n%s", len(made), made)
	}
	if now := uidsOf(demo.List(claims, "")); fmt.Sprint(now) != fmt.Sprint(oldClaims) {
		r.T.Errorf("the claims were %v, and are %v", oldClaims, now)
	}
}

// uidsOf returns the UIDs of objects by name.
func uidsOf(objects map[string]*unstructured.Unstructured) map[string]string {
	uids := map[string]string{}
	for name, object := range objects {
		uids[name] = string(object.GetUID())
	}
	return uids
}
