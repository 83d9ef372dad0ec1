// Package rights tests bin/libretto as a process against a real API server: what it does with the rights of ServiceAccounts.
package rights

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// copies answers with a ConfigMap of the parent's text, beside it or in the namespace that it names.
const copies = `
export const sync = ({parent: {metadata: {name}, spec: {text, namespace}}}) => ({
  children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name, ...(namespace && {namespace})}, data: {text}}],
  status: {said: text},
  events: [{type: "Normal", reason: "Copied", message: text}],
});`

// generated is the line of a composite's spec that labels children with the UID of their parent.
const generated = "generateSelector: true"

// newHost returns a test whose host has the rights of manifests/rbac and reads what caches need. It is not started.
func newHost(t *testing.T) (*env.Env, *env.User) {
	t.Helper()
	e := env.NewWithThings(t)
	root, err := cluster.Root()
	e.NoError(err)
	host := e.NewUser("host")
	e.NoError(e.Cluster.ApplyFiles(t.Context(), filepath.Join(root, "manifests", "rbac", "host.yaml")))
	host.Bind("", "libretto-host")
	host.Grant("", e.Group, "*", "list", "watch")
	host.Grant("", "", "configmaps,namespaces,secrets", "list", "watch")
	return e, host
}

// constrained is the version of Kubernetes whose API server knows constrained impersonation.
const constrained = 36

// impersonates gives a host the rights of manifests/rbac/accounts.yaml, and before Kubernetes 1.36 what that file says.
func impersonates(e *env.Env, host *env.User) {
	e.T.Helper()
	bindAccounts(e, host)
	impersonatesBefore(e, host)
}

// impersonatesBefore gives a host what it needs besides the rights of constrained impersonation where the API server does not know these.
func impersonatesBefore(e *env.Env, host *env.User) {
	e.T.Helper()
	if e.Cluster.Before(e.T, constrained) {
		host.Grant("", "", "serviceaccounts", "impersonate")
	}
}

// bindAccounts gives a host the rights of manifests/rbac/accounts.yaml alone.
func bindAccounts(e *env.Env, host *env.User) {
	e.T.Helper()
	root, err := cluster.Root()
	e.NoError(err)
	e.NoError(e.Cluster.ApplyFiles(e.T.Context(), filepath.Join(root, "manifests", "rbac", "accounts.yaml")))
	host.Bind("", "libretto-accounts")
}

// newAccount returns a ServiceAccount that may work on Things and ConfigMaps in the test's namespace.
func newAccount(e *env.Env) *env.User {
	e.T.Helper()
	account := e.NewUser("account")
	grant(account)
	return account
}

// grant gives an account the rights of newAccount.
func grant(account *env.User) {
	e := account.Env()
	e.T.Helper()
	account.Grant(e.Namespace, e.Group, "things,things/status", "get", "list", "watch", "update", "patch")
	account.Grant(e.Namespace, "", "configmaps", "get", "list", "watch", "create", "update", "patch", "delete")
	account.Grant(e.Namespace, "", "events", "create", "patch")
	account.Grant(e.Namespace, "apps", "controllerrevisions", "get", "list", "create", "delete")
}

// asAccount is the line of a spec that names the account.
func asAccount(e *env.Env) string {
	return fmt.Sprintf("serviceAccountRef: {namespace: %s, name: account}", e.Namespace)
}

// foreign returns the writes that were not made as the account, but for what the host writes for itself.
func foreign(requests cluster.Requests, account *env.User) cluster.Requests {
	return requests.Writes().Filter(func(r cluster.Request) bool {
		own := r.Group == "metacontroller.k8s.io" || r.Group == "libretto.dev" || r.Group == "coordination.k8s.io" || r.Subresource == "token"
		return r.User != account.Name && r.ImpersonatedUser != account.Name && !own
	})
}

// TestAccount runs a definition as a ServiceAccount in both ways: everything is written as that one.
func TestAccount(t *testing.T) {
	for name, prepare := range map[string]func(*env.Env, *env.User){
		"impersonated": impersonates,
		"by token": func(e *env.Env, host *env.User) {
			if e.Cluster.Before(e.T, constrained) {
				bindAccounts(e, host) // An API server that does not know the right gives it, too.
			}
			host.Grant(e.Namespace, "", "serviceaccounts/token", "create")
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, host := newHost(t)
			prepare(e, host)
			account := newAccount(e)
			e.Start("--kubeconfig", host.Kubeconfig())
			mark := e.Mark()
			definition := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated, env.UpdatedChildren, env.Hooks(copies, "sync"))
			e.ApplyThing("a", "", "text: one")
			e.WaitFor(env.ConfigMaps, "a", env.HasText("one"))
			e.WaitFor(e.Things(), "a", env.HasSaid("one"))
			e.WaitForEvent("a", "Copied", "one")
			e.WaitForCondition(definition, "Ready", "True")
			e.WaitForCount(env.ScriptRevisions, "", 1) // The inline script is archived beside the account.
			requests := e.Requests(mark)
			if wrong := foreign(requests, account); len(wrong) > 0 {
				t.Errorf("these were not made as the account:\n%s", wrong)
			}
			impersonated := requests.Filter(func(r cluster.Request) bool { return r.User == host.Name && r.ImpersonatedUser == account.Name })
			if want := name == "impersonated"; want != (len(impersonated.Writes()) > 0) {
				t.Errorf("impersonated: %v", impersonated)
			}
		})
	}
}

// TestGuardOfAccount has an edit delete a child: the record of that is the host's to write, as the account may not write the definition.
func TestGuardOfAccount(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	newAccount(e)
	e.Start("--kubeconfig", host.Kubeconfig())
	definition := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated, env.UpdatedChildren, env.Hooks(copies, "sync"))
	for _, name := range []string{"a", "b", "c"} {
		e.ApplyThing(name, "", "text: one")
		e.WaitFor(env.ConfigMaps, name, env.HasText("one"))
	}
	e.WaitForCondition(definition, "Ready", "True")
	mark := e.Mark()
	without := strings.Replace(copies, "=> ({", "=> name === 'a' ? {children: []} : ({", 1)
	e.PatchDefinition(env.Composite, definition, `{"spec": {"hooks": {"sync": {"script": {"inline": `+env.Quote(without)+`}}}}}`)
	e.Eventually(func() error {
		if e.Get(env.ConfigMaps, "a") != nil {
			return errors.New("the child is there")
		}
		return nil
	})
	recorded := 0
	for _, r := range e.Requests(mark).Of("metacontroller.k8s.io", "compositecontrollers") {
		if r.ImpersonatedUser != "" {
			t.Errorf("%s as %s", r, r.ImpersonatedUser)
		} else if r.Verb == "patch" && r.Subresource == "status" && r.Code < 300 {
			recorded++
		}
	}
	if recorded == 0 {
		t.Error("the deletion was not recorded")
	}
}

// TestWritesOutside has a script write where its account may not. The API server refuses that, whatever the host may.
func TestWritesOutside(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	e.Apply(env.CRD(e.Group, "Global", "Cluster"))
	host.Grant("", "", "configmaps,events", "*")
	host.Grant("", e.Group, "*", "*")
	account := newAccount(e)
	account.Grant("", e.Group, "globals,globals/status", "get", "list", "watch", "update", "patch")
	e.Start("--kubeconfig", host.Kubeconfig())
	other := e.Cluster.Namespace(t)
	name := e.Define(env.Composite, "", e.Parent("globals", ""), asAccount(e), generated, env.UpdatedChildren, env.Hooks(copies, "sync"))
	e.ClusterScope().ApplyCustom("Global", "outside", "", "text: one\nnamespace: "+other)
	e.ClusterScope().ApplyCustom("Global", "inside", "", "text: one\nnamespace: "+e.Namespace)
	e.WaitForCondition(name, "ParentsSynced", "False", "outside",
		"ServiceAccount "+e.Namespace+"/account may not create configmaps in the namespace "+other)
	e.WaitFor(env.ConfigMaps, "inside", env.HasText("one"))
	if found := e.InNamespace(other).Get(env.ConfigMaps, "outside"); found != nil {
		t.Errorf("%s was created", found.GetName())
	}
	account.Grant(other, "", "configmaps", "list", "watch", "create", "update", "patch", "delete")
	e.InNamespace(other).WaitFor(env.ConfigMaps, "outside", env.HasText("one"))
}

// TestReadsOutside has a script ask for what its account may not read. It is shown nothing of that, though the host's caches have it.
func TestReadsOutside(t *testing.T) {
	const counts = `
export const customize = ({parent: {spec: {namespace}}}) => ({relatedResources: [{apiVersion: "v1", resource: "configmaps", ...(namespace && {namespace})}]});
export const sync = ({related}) => ({children: [], status: {said: Object.keys(related["ConfigMap.v1"]).filter((name) => name.includes("secret")).join()}});`
	e, host := newHost(t)
	impersonates(e, host)
	account := newAccount(e)
	e.Start("--kubeconfig", host.Kubeconfig())
	other := e.Cluster.Namespace(t)
	e.InNamespace(other).ApplyConfigMap("secret", "", "text")
	e.ApplyConfigMap("no-secret", "", "text")
	name := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated, env.Hooks(counts, "sync", "customize"))
	e.ApplyThing("inside", "", "namespace: "+e.Namespace)
	e.WaitFor(e.Things(), "inside", env.HasSaid(e.Namespace+"/no-secret"))
	e.ApplyThing("outside", "", "namespace: "+other)
	e.WaitForCondition(name, "ParentsSynced", "False", "outside", "ServiceAccount "+e.Namespace+"/account may not list configmaps in the namespace "+other)
	e.ApplyThing("everywhere", "", "")
	e.WaitForEvent("everywhere", "SyncError", "may not list configmaps in the cluster")
	account.Grant(other, "", "configmaps", "list", "watch")
	e.WaitFor(e.Things(), "outside", env.HasSaid(other+"/secret"))
}

// TestReadsByName has an account that may read one Secret read that one, where a hook asks for it by name, and nothing else.
func TestReadsByName(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	account := newAccount(e)
	account.GrantNamed(e.Namespace, "", "secrets", "key", "list", "watch")
	e.Start("--kubeconfig", host.Kubeconfig())
	for _, name := range []string{"key", "other"} {
		e.Apply("{apiVersion: v1, kind: Secret, metadata: {name: " + name + "}, stringData: {text: one}}")
	}
	name := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated, "relatedResources: [{apiVersion: v1, resource: secrets}]",
		env.Hooks(strings.Replace(shows, "text && {names", "text && {namespace: '"+e.Namespace+"', names", 1), "sync", "customize"))
	e.ApplyThing("a", "", "text: key")
	e.WaitFor(e.Things(), "a", env.HasSaid(e.Namespace+"/key"))
	e.ApplyThing("b", "", "text: other")
	e.WaitForCondition(name, "ParentsSynced", "False", "ServiceAccount "+e.Namespace+"/account may not list secrets in the namespace "+e.Namespace)
	e.ApplyThing("c", "", "")
	e.WaitForEvent("c", "SyncError", "may not list secrets in the cluster")
}

// TestNamedByParents has parents name Secrets, of which the account may read one. No hook is shown the other one, and its parent says why.
func TestNamedByParents(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	account := newAccount(e)
	account.GrantNamed(e.Namespace, "", "secrets", "key", "list", "watch")
	e.Start("--kubeconfig", host.Kubeconfig())
	for _, name := range []string{"key", "other"} {
		e.Apply("{apiVersion: v1, kind: Secret, metadata: {name: " + name + "}, stringData: {text: one}}")
	}
	name := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated,
		"relatedResources: [{apiVersion: v1, resource: secrets, nameFrom: {fieldPath: spec.text}}]", env.Hooks(shows, "sync"))
	e.ApplyThing("a", "", "text: key")
	e.WaitFor(e.Things(), "a", env.HasSaid(e.Namespace+"/key"))
	e.ApplyThing("c", "", "")
	e.WaitFor(e.Things(), "c", env.HasSaid(""))
	e.ApplyThing("b", "", "text: other")
	const refused = "may not list secrets in the namespace "
	e.WaitForCondition(name, "ParentsSynced", "False", "b: ", "ServiceAccount "+e.Namespace+"/account "+refused+e.Namespace)
	e.WaitForEvent("b", "SyncError", refused+e.Namespace)
	account.GrantNamed(e.Namespace, "", "secrets", "other", "list", "watch")
	e.WaitFor(e.Things(), "b", env.HasSaid(e.Namespace+"/other"))
}

// TestSourcesOutside has a definition load scripts, and a webhook's token, from where its account may not read.
func TestSourcesOutside(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	host.Bind("", "cluster-admin")
	account := newAccount(e)
	e.Start("--kubeconfig", host.Kubeconfig())
	other := e.Cluster.Namespace(t)
	e.InNamespace(other).Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: hooks}, data: {sync.js: " + env.Quote(copies) + "}}")
	name := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated, env.UpdatedChildren,
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: hooks}}]", other),
		"hooks: {sync: {version: v2, script: {path: sync.js}}}")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceUnreadable", `configmaps "hooks" is forbidden: User "`+account.Name+`" cannot`)
	flux := e.Define(env.Composite, "-flux", e.Parent("things", "none"), asAccount(e), generated, env.UpdatedChildren,
		fmt.Sprintf("scriptSources: [{flux: {kind: GitRepository, namespace: %s, name: hooks}}]", other),
		"hooks: {sync: {version: v2, script: {path: sync.js}}}")
	e.WaitForCondition(flux, "ScriptsReady", "False", "ScriptSourceUnreadable", `"hooks" is forbidden: User "`+account.Name+`" cannot`,
		`resource "gitrepositories" in API group "source.toolkit.fluxcd.io"`)
	account.Grant(other, "source.toolkit.fluxcd.io", "gitrepositories", "list", "watch")
	e.WaitForCondition(flux, "ScriptsReady", "False", "ScriptSourceUnreadable", "the cluster has no gitrepositories.source.toolkit.fluxcd.io")
	account.Grant(other, "", "configmaps", "list", "watch")
	e.ApplyThing("a", "", "text: one")
	e.WaitFor(env.ConfigMaps, "a", env.HasText("one"))
}

// TestWayOut checks what is said of a ConfigMap of scripts that the host may not read, for itself or as an account that it may not act as.
func TestWayOut(t *testing.T) {
	e := env.NewWithThings(t)
	root, err := cluster.Root()
	e.NoError(err)
	host := e.NewUser("host")
	e.NoError(e.Cluster.ApplyFiles(t.Context(), filepath.Join(root, "manifests", "rbac", "host.yaml")))
	host.Bind("", "libretto-host")
	host.Grant("", e.Group, "*", "list", "watch")
	newAccount(e)
	e.Start("--kubeconfig", host.Kubeconfig())
	for suffix, account := range map[string]string{"-host": "", "-account": asAccount(e)} {
		name := e.Define(env.Composite, suffix, e.Parent("things", ""), account, generated,
			"scriptSources: [{configMap: {namespace: "+e.Namespace+", name: hooks}}]",
			"hooks: {sync: {version: v2, script: {path: sync.js}}}")
		c := e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceUnreadable", "libretto rbac -f FILES --host prints what the host needs")
		if strings.Contains(c.Message, "://") {
			t.Errorf("%s: a URL is quoted: %s", name, c.Message)
		}
	}
}

// TestMissingAccount checks what is said of an account without any right, as one that does not exist.
func TestMissingAccount(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	e.Start("--kubeconfig", host.Kubeconfig())
	name := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated, env.UpdatedChildren, env.Hooks(copies, "sync"))
	e.ApplyThing("a", "", "text: one")
	e.WaitForCondition(name, "Authorized", "False", "ServiceAccount "+e.Namespace+"/account may not ",
		"kubectl get serviceaccount -n "+e.Namespace+" account shows whether the account exists")
}

// TestAccountAnnotation has a host use an account for the definitions that its annotation lists, and stop when it does not any more.
func TestAccountAnnotation(t *testing.T) {
	const flag = "--require-account-annotation"
	e, host := newHost(t)
	impersonates(e, host)
	e.Start("--kubeconfig", host.Kubeconfig(), flag)
	e.ApplyThing("a", "", "text: one")
	name := e.Define(env.Composite, "", e.Parent("things", ""), asAccount(e), generated, env.UpdatedChildren, env.Hooks(copies, "sync"))
	accepted := func(status string, parts ...string) { // It is looked at every 15 s, and what was read counts for 10 s.
		t.Helper()
		cluster.Eventually(t, 2*env.Timeout, func() error {
			object, err := e.Cluster.Dynamic().Resource(env.CompositeControllers).Get(t.Context(), name, metav1.GetOptions{})
			e.NoError(err)
			return env.CheckCondition(e.ConditionOf(object, "Accepted"), status, parts...)
		})
	}
	command := "kubectl annotate serviceaccount -n " + e.Namespace + " account --overwrite libretto.dev/used-by="
	annotate := func(usedBy string) { e.Kubectl(strings.Fields(strings.TrimPrefix(command+usedBy, "kubectl "))...) }

	accepted("False", "AccountRefused", "libretto rbac -f FILES --host "+flag+" prints what the host needs")
	host.Grant(e.Namespace, "", "serviceaccounts", "get")
	accepted("False", "ServiceAccount "+e.Namespace+"/account does not exist")
	account := newAccount(e)
	accepted("False", command+"'CompositeController/"+name+"'")
	mark := e.Mark()
	annotate("CompositeController/" + name)
	accepted("True")
	e.WaitFor(env.ConfigMaps, "a", env.HasText("one"))
	if wrong := foreign(e.Requests(mark), account); len(wrong) > 0 {
		t.Errorf("these were not made as the account:\n%s", wrong)
	}

	annotate("MapController/*")
	accepted("False", command+"'MapController/*, CompositeController/"+name+"'")
	e.WaitForCondition(name, "Ready", "False", "NotAccepted", "no parent is synced")
	mark = e.Mark()
	e.ApplyThing("a", "", "text: two")
	e.WaitForQuiet()
	as := func(r cluster.Request) bool { return r.ImpersonatedUser == account.Name }
	e.NoRequests(e.Requests(mark).Filter(as), "it goes on as the account")
	annotate("CompositeController/*")
	accepted("True")
	e.WaitFor(env.ConfigMaps, "a", env.HasText("two"))
}

// TestRequiredAccount has a host refuse a definition without an account.
func TestRequiredAccount(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	newAccount(e)
	e.Start("--kubeconfig", host.Kubeconfig(), "--require-service-account")
	lines := []string{e.Parent("things", ""), generated, env.UpdatedChildren, env.Hooks(copies, "sync")}
	name := e.Define(env.Composite, "", lines...)
	e.WaitForCondition(name, "Accepted", "False", "Invalid", "spec.serviceAccountRef: is required by --require-service-account")
	e.Define(env.Composite, "", append(lines, asAccount(e))...)
	e.WaitForCondition(name, "Accepted", "True")
	e.WaitForCondition(name, "Ready", "True")
}

// TestUseOfAccount checks who may write a definition that names an account, by the policy in manifests/accounts.
func TestUseOfAccount(t *testing.T) {
	e := env.NewWithThings(t)
	root, err := cluster.Root()
	e.NoError(err)
	for _, file := range []string{"policy.yaml", "role.yaml"} {
		e.NoError(e.Cluster.ApplyFiles(t.Context(), filepath.Join(root, "manifests", "accounts", file)))
	}
	author := e.NewUser("author")
	author.Grant("", "metacontroller.k8s.io", "compositecontrollers", "get", "create", "patch", "delete")
	spec := func(account string) *unstructured.Unstructured {
		return e.Parse(fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: %s}\nspec:\n%s",
			e.Namespace, env.Indent(strings.Join([]string{e.Parent("things", ""), generated, env.Hooks(copies, "sync"), account}, "\n"))))
	}
	definitions := author.Dynamic().Resource(env.CompositeControllers)
	create := func(account string) error {
		_, err := definitions.Create(t.Context(), spec(account), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	e.Eventually(func() error { // The API server takes a moment to compile a policy.
		if err := create(asAccount(e)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "may not use ServiceAccount "+e.Namespace+"/account") {
			return fmt.Errorf("an account that the author may not use: %v", err)
		}
		return nil
	})
	if err := create(""); err != nil {
		t.Errorf("without an account: %v", err)
	}
	author.Bind(e.Namespace, "libretto-use-account")
	if _, err := definitions.Create(t.Context(), spec(asAccount(e)), metav1.CreateOptions{}); err != nil {
		t.Fatalf("an account that the author may use: %v", err)
	}
	other := e.NewUser("other")
	other.Grant("", "metacontroller.k8s.io", "compositecontrollers", "get", "create", "patch", "delete")
	patch := func(text string) error {
		_, err := other.Dynamic().Resource(env.CompositeControllers).Patch(t.Context(), e.Namespace, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	for _, tc := range []struct {
		text    string
		allowed bool
	}{
		{`{"metadata": {"labels": {"a": "b"}}}`, true},
		{`{"spec": {"resyncPeriodSeconds": 60}}`, false},
		{`{"spec": {"serviceAccountRef": {"name": "admin"}}}`, false},
		{`{"spec": {"serviceAccountRef": null}}`, true}, // The rights of the host: --require-service-account is against that.
	} {
		if err := patch(tc.text); tc.allowed != (err == nil) || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s by another author: %v", tc.text, err)
		}
	}
	e.Delete(env.CompositeControllers, "", e.Namespace) // No host of another test is to run it.
}
