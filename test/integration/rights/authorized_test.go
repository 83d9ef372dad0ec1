package rights

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestAuthorized has a definition whose account lacks rights: each is named, and its parents wait without a write. It goes on once they are
// granted, and waits again when one is taken away.
func TestAuthorized(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	account := e.NewUser("account")
	account.Grant(e.Namespace, e.Group, "things", "get", "list", "watch")
	account.Grant(e.Namespace, e.Group, "things/status", "update")
	account.Grant(e.Namespace, "", "configmaps", "get", "list", "watch", "create")
	account.Grant(e.Namespace, "apps", "controllerrevisions", "get", "list", "create", "delete")
	e.Start("--kubeconfig", host.Kubeconfig())
	mark := e.Mark()
	e.ApplyThing("a", "", "text: one")
	name := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated, env.UpdatedChildren, env.Hooks(copies, "sync"))
	e.WaitForCondition(name, "Authorized", "False",
		"ServiceAccount "+e.Namespace+"/account may not update, delete configmaps in the namespace "+e.Namespace, "parents there wait")
	e.WaitForCondition(name, "Ready", "False", "may not update, delete configmaps")
	e.WaitForCondition(name, "ParentsSynced", "True", "1 of 1 wait", "Forbidden")
	ofAccount := func(r cluster.Request) bool {
		return r.ImpersonatedUser == account.Name && r.Resource != "events" && r.Group != "apps"
	}
	e.NoRequests(e.Requests(mark).Writes().Filter(ofAccount), "before all rights were granted there were writes")
	account.Grant(e.Namespace, "", "configmaps", "update", "delete")
	e.WaitFor(env.ConfigMaps, "a", env.HasText("one"))
	e.WaitForCondition(name, "Authorized", "True", "there are no events about parents")
	account.Grant(e.Namespace, "", "events", "create", "patch")
	e.WaitForCondition(name, "Authorized", "True", "may do what is known to be needed")
	e.WaitForCondition(name, "Ready", "True")

	for binding := range e.List(roleBindings, "") { // All that the account may.
		e.Delete(roleBindings, e.Namespace, binding)
	}
	e.WaitForCondition(name, "Authorized", "False", "may not get, list, watch, create, update, delete configmaps")
	e.ApplyThing("a", "", "text: two")
	e.WaitForCondition(name, "ParentsSynced", "True", "1 of 1 wait", "Forbidden")
	if text, _, _ := unstructured.NestedString(e.Get(env.ConfigMaps, "a").Object, "data", "text"); text != "one" {
		t.Errorf("without rights the child became %q", text)
	}
	grant(account)
	e.WaitFor(env.ConfigMaps, "a", env.HasText("two"))
	e.WaitForCondition(name, "Authorized", "True", "may do what is known to be needed")
}

var roleBindings = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
