package rights

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// finalizing copies as copies does, and finalizes at once.
const finalizing = copies + `
export const finalize = () => ({children: [], finalized: true});`

// newTenant returns a namespace of its own, whose ServiceAccount default may do what newAccount's may, and a person who may write there
// definitions and what belongs to them, and nothing else.
func newTenant(t *testing.T, e *env.Env) (tenant *env.Env, account, author *env.User) {
	t.Helper()
	tenant = e.InNamespace(e.Cluster.Namespace(t))
	account = tenant.NewUser("default")
	grant(account)
	author = tenant.NewUser("author")
	author.Grant(tenant.Namespace, "libretto.dev", "*", "get", "list", "watch", "create", "update", "patch", "delete")
	author.Grant(tenant.Namespace, "", "serviceaccounts", "use") // Where the policy of manifests/accounts is.
	author.Grant(tenant.Namespace, e.Group, "things", "get", "list", "watch", "create", "update", "patch", "delete")
	return tenant, account, author
}

// composite returns the definition of a tenant.
func composite(tenant *env.Env, spec ...string) *unstructured.Unstructured {
	return tenant.Parse(fmt.Sprintf("apiVersion: libretto.dev/v1alpha1\nkind: CompositeController\nmetadata: {name: web}\nspec:\n%s",
		env.Indent(strings.Join(append(spec, tenant.Parent("things", ""), generated, env.UpdatedChildren), "\n"))))
}

// TestNamespaced has two tenants without any right outside of their namespaces install definitions of one name, beside one without a
// namespace of that name. Each has its own parents, and no marks, finalizers or archives are those of another.
func TestNamespaced(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	host.Grant("", "libretto.dev", "*", "get", "list", "watch", "update", "patch")
	var tenants []*env.Env
	var accounts []*env.User
	e.Start("--kubeconfig", host.Kubeconfig())
	mark := e.Mark()
	for i := range 2 {
		tenant, account, author := newTenant(t, e)
		tenants, accounts = append(tenants, tenant), append(accounts, account)
		_, err := author.In(env.NamespacedDefinitions(env.Composite)).Create(
			t.Context(), composite(tenant, env.Hooks(finalizing, "sync", "finalize")), metav1.CreateOptions{})
		e.NoError(err)
		tenant.ApplyThing("a", "", fmt.Sprintf("text: tenant %d", i))
	}
	for i, tenant := range tenants {
		tenant.WaitForNamespacedCondition(env.Composite, "web", "Ready", "True")
		tenant.WaitForNamespacedCondition(env.Composite, "web", "Authorized", "True")
		tenant.WaitFor(env.ConfigMaps, "a", env.HasText(fmt.Sprintf("tenant %d", i)))
		tenant.WaitFor(tenant.Things(), "a", env.HasFinalizer("metacontroller.io/compositecontroller-"+tenant.Namespace+"_web", true))
		tenant.WaitForEvent("a", "Copied", fmt.Sprintf("tenant %d", i))
		tenant.WaitForCount(env.ScriptRevisions, "", 1)
	}
	requests := e.Requests(mark)
	for _, r := range requests.Filter(func(r cluster.Request) bool { return r.User == host.Name || r.ImpersonatedUser != "" }) {
		if r.Namespace == "" && (r.Resource == "things" || r.Resource == "configmaps") {
			t.Errorf("this is of all namespaces: %s", r)
		}
	}
	written := requests.Writes().Filter(func(r cluster.Request) bool {
		return (r.User == host.Name || r.ImpersonatedUser != "") && r.Group != "libretto.dev" && r.Group != "coordination.k8s.io" && r.Group != "authorization.k8s.io"
	})
	for _, r := range written {
		at := slices.IndexFunc(tenants, func(tenant *env.Env) bool { return tenant.Namespace == r.Namespace })
		if at < 0 && r.Namespace == e.Namespace {
			continue // The record of finalizers is the host's own.
		}
		if at < 0 || r.ImpersonatedUser != accounts[at].Name {
			t.Errorf("this was not made as the account of the namespace: %s", r)
		}
	}
	// One of them goes, and takes nothing of the other one with it.
	e.Delete(env.NamespacedDefinitions(env.Composite), tenants[0].Namespace, "web")
	tenants[0].WaitFor(tenants[0].Things(), "a", env.HasFinalizer("metacontroller.io/compositecontroller-"+tenants[0].Namespace+"_web", false))
	tenants[1].ApplyThing("b", "", "text: more")
	tenants[1].WaitFor(env.ConfigMaps, "b", env.HasText("more"))
	tenants[1].WaitFor(tenants[1].Things(), "a", env.HasFinalizer("metacontroller.io/compositecontroller-"+tenants[1].Namespace+"_web", true))
}

// TestNamespacedRefused writes definitions that reach out of their namespace.
func TestNamespacedRefused(t *testing.T) {
	e := env.NewRunning(t, "--definitions-per-namespace=2")
	tenant, _, author := newTenant(t, e)
	other := "namespace: " + e.Namespace
	hooks := env.Hooks(copies, "sync")
	definitions := author.In(env.NamespacedDefinitions(env.Composite))
	for name, spec := range map[string][]string{
		"account":    {hooks, "serviceAccountRef: {name: default, " + other + "}"},
		"scripts":    {"scriptSources: [{configMap: {name: a, " + other + "}}]", "hooks: {sync: {script: {path: sync.js}}}"},
		"directory":  {"scriptSources: [{directory: {path: a}}]", "hooks: {sync: {script: {path: sync.js}}}"},
		"url":        {"hooks: {sync: {webhook: {url: 'http://169.254.169.254/'}}}"},
		"service":    {"hooks: {sync: {webhook: {service: {name: a, " + other + "}, path: /}}}"},
		"secret":     {"hooks: {sync: {webhook: {service: {name: a}, path: /, basicAuth: {secretRef: {name: a, " + other + "}}}}}"},
		"related":    {hooks, "relatedResources: [{apiVersion: v1, resource: secrets, " + other + "}]"},
		"selector":   {hooks, "relatedResources: [{apiVersion: v1, resource: secrets, namespaceSelector: {}}]"},
		"prometheus": {hooks, "scriptRollout: {steps: [{parents: 1, analysis: [{prometheus: {address: 'http://a', query: a, successCondition: 'true'}}]}]}"},
		"job":        {hooks, "scriptRollout: {steps: [{parents: 1, analysis: [{job: {cronJob: a, " + other + "}}]}]}"},
	} {
		_, err := definitions.Create(t.Context(), composite(tenant, spec...), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s: error %v, want that it is invalid", name, err)
		}
	}
	e.Apply(env.CRD(e.Group, "Global", "Cluster"))
	tenant.DefineNamespaced(env.Decorator, "global", tenant.Targets("globals", ""), "attachments: ["+env.UpdatedConfigMaps+"]", hooks)
	tenant.WaitForNamespacedCondition(env.Decorator, "global", "Accepted", "False", "are cluster-scoped")
	tenant.DefineNamespaced(env.Decorator, "first", tenant.Targets("things", ""), "attachments: ["+env.UpdatedConfigMaps+"]", hooks)
	tenant.WaitForNamespacedCondition(env.Decorator, "first", "Accepted", "True")
	e.Eventually(func() error { // What is created later is newer by a second.
		if first := tenant.Get(env.NamespacedDefinitions(env.Decorator), "first"); !time.Now().After(first.GetCreationTimestamp().Add(time.Second)) {
			return errors.New("the second has not passed")
		}
		return nil
	})
	tenant.DefineNamespaced(env.Composite, "late", tenant.Parent("things", ""), generated, hooks)
	tenant.WaitForNamespacedCondition(env.Composite, "late", "Accepted", "False", "QuotaExceeded", "2 older", "--definitions-per-namespace")
	e.Delete(env.NamespacedDefinitions(env.Decorator), tenant.Namespace, "global")
	tenant.WaitForNamespacedCondition(env.Composite, "late", "Accepted", "True")
}

// shows is a script that says which Secrets its parent names, or all that there are.
const shows = `
export const customize = ({parent: {spec: {text}}}) => ({relatedResources: [{apiVersion: "v1", resource: "secrets", ...(text && {names: [text]})}]});
export const sync = ({related}) => ({children: [], status: {said: Object.keys(related["Secret.v1"]).join()}});`

// TestReadsAsAccount has a definition with a namespace read Secrets by the rights of its account: the host has none. A hook asks for them, or
// the parent names one.
func TestReadsAsAccount(t *testing.T) {
	for name, spec := range map[string][]string{
		"customize": {"relatedResources: [{apiVersion: v1, resource: secrets}]", env.Hooks(shows, "sync", "customize")},
		"nameFrom":  {"relatedResources: [{apiVersion: v1, resource: secrets, nameFrom: {fieldPath: spec.text}}]", env.Hooks(shows, "sync")},
	} {
		t.Run(name, func(t *testing.T) { readAsAccount(t, spec) })
	}
}

func readAsAccount(t *testing.T, spec []string) {
	e := env.NewWithThings(t)
	tenant, account, _ := newTenant(t, e)
	host := tenant.NewUser("host")
	file := filepath.Join(t.TempDir(), "web.yaml")
	text, err := yaml.Marshal(composite(tenant, spec...).Object)
	e.NoError(err)
	e.NoError(os.WriteFile(file, text, 0o600))
	run, of := &exampleRun{Env: e}, []string{"--host", "--namespaces", tenant.Namespace, "--host-namespace", tenant.Namespace, "--host-service-account", "host"}
	for _, role := range slices.Concat(run.rbac(of...), run.rbac(append(of, "-f", file, "--namespace", tenant.Namespace)...)) {
		if rules := fmt.Sprint(role.Object["rules"]); strings.Contains(rules, "secrets") {
			t.Errorf("the host is to read Secrets: %s", rules)
		}
	}
	tenant.Apply("{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {text: one}}")
	tenant.DefineNamespaced(env.Composite, "web", append(spec, tenant.Parent("things", ""), generated, env.UpdatedChildren)...)
	tenant.ApplyThing("a", "", "text: key")
	mark := e.Mark()
	e.Start("--kubeconfig", host.Kubeconfig(), "--namespace="+tenant.Namespace, "--namespaces="+tenant.Namespace)
	tenant.WaitForNamespacedCondition(env.Composite, "web", "ParentsSynced", "False", "ServiceAccount "+tenant.Namespace+"/default needs a rule")
	account.Grant(tenant.Namespace, "", "secrets", "list", "watch")
	tenant.WaitFor(tenant.Things(), "a", env.HasSaid(tenant.Namespace+"/key"))
	for _, r := range e.Requests(mark).Of("", "secrets").Filter(func(r cluster.Request) bool { return r.Code < 300 && r.User == host.Name }) {
		t.Errorf("the host reads Secrets: %s", r)
	}
}

// TestImpliedStatus has two tenants without a status of their own: each has its own parents, and observedGeneration is written to these.
func TestImpliedStatus(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	host.Grant("", "libretto.dev", "*", "get", "list", "watch", "update", "patch")
	e.Start("--kubeconfig", host.Kubeconfig())
	var tenants []*env.Env
	for range 2 {
		tenant, _, author := newTenant(t, e)
		tenants = append(tenants, tenant)
		_, err := author.In(env.NamespacedDefinitions(env.Composite)).Create(t.Context(),
			composite(tenant, env.Hooks("export const sync = () => ({children: []});", "sync")), metav1.CreateOptions{})
		e.NoError(err)
		tenant.WaitForNamespacedCondition(env.Composite, "web", "Ready", "True")
	}
	for _, tenant := range tenants {
		tenant.ApplyThing("a", "", "")
		tenant.WaitFor(tenant.Things(), "a", func(thing *unstructured.Unstructured) error {
			if n, _, _ := unstructured.NestedInt64(thing.Object, "status", "observedGeneration"); n != 1 {
				return fmt.Errorf("observedGeneration is %d", n)
			}
			return nil
		})
	}
}

// TestNamespaces runs a host with Roles alone, which hosts the definitions of one namespace and looks at no other.
func TestNamespaces(t *testing.T) {
	e := env.NewWithThings(t)
	tenant, account, _ := newTenant(t, e)
	stranger, _, _ := newTenant(t, e)
	host := tenant.NewUser("host")
	file := filepath.Join(t.TempDir(), "web.yaml")
	text, err := yaml.Marshal(composite(tenant, env.Hooks(finalizing, "sync", "finalize")).Object)
	e.NoError(err)
	e.NoError(os.WriteFile(file, text, 0o600))
	run, of := &exampleRun{Env: e}, []string{"--host", "--namespaces", tenant.Namespace, "--host-namespace", tenant.Namespace, "--host-service-account", "host"}
	for _, role := range slices.Concat(run.rbac(of...), run.rbac(append(of, "-f", file, "--namespace", tenant.Namespace)...)) {
		if role.GetKind() != "Role" || role.GetNamespace() != tenant.Namespace {
			t.Errorf("%s %s/%s is printed", role.GetKind(), role.GetNamespace(), role.GetName())
		}
	}
	for _, of := range []*env.Env{tenant, stranger} {
		of.DefineNamespaced(env.Composite, "web", of.Parent("things", ""), generated, env.UpdatedChildren, env.Hooks(finalizing, "sync", "finalize"))
		of.ApplyThing("a", "", "text: one")
	}
	mark := e.Mark()
	// Nothing is granted in the second namespace: that stops nothing in the first.
	e.Start("--kubeconfig", host.Kubeconfig(), "--namespace="+tenant.Namespace, "--namespaces="+tenant.Namespace+","+stranger.Namespace)
	tenant.WaitForNamespacedCondition(env.Composite, "web", "Ready", "True")
	tenant.WaitFor(env.ConfigMaps, "a", env.HasText("one"))
	e.Delete(env.NamespacedDefinitions(env.Composite), tenant.Namespace, "web")
	tenant.WaitFor(tenant.Things(), "a", env.HasFinalizer("metacontroller.io/compositecontroller-"+tenant.Namespace+"_web", false))
	for _, r := range e.Requests(mark).Filter(func(r cluster.Request) bool { return r.User == host.Name || r.User == account.Name }) {
		if r.Code < 300 && r.Namespace != tenant.Namespace && r.Resource != "" && r.Resource != "selfsubjectaccessreviews" {
			t.Errorf("this is of another namespace: %s", r)
		}
	}
	if found := stranger.Get(env.ConfigMaps, "a"); found != nil {
		t.Error("a definition of another namespace was hosted")
	}
}
