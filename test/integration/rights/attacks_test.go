package rights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// obeys are hooks of all kinds that answer with what their parent asks for: whoever may write a parent attacks with it.
const obeys = `
const asked = ({parent, object}) => (parent ?? object).spec ?? {};
const answer = (request) => {
  const {objects = [], ...rest} = asked(request).answer ?? {};
  return {status: {said: "tried"}, [request.object ? "attachments" : "children"]: objects, ...rest};
};
export const sync = (request) => ({...answer(request), ...(asked(request).shows && {status: {said: JSON.stringify(request).slice(0, 4000)}})});
export const finalize = (request) => ({...answer(request), finalized: true});
export const customize = (request) => ({relatedResources: asked(request).related ?? []});
export const map = ({parent, input}) => ({outputs: (parent.spec.outputs ?? []).map((o) => ({...o, data: {...o.data, seen: JSON.stringify(input).slice(0, 4000)}}))});
export const tombstone = ({parent}) => ({outputs: parent.spec.later ?? parent.spec.outputs ?? []});`

// canary is in all that the account may not read. No object outside the victim's namespace may have it, nor the log.
const canary = "canary-4b1d"

// attack is what a parent asks of its hooks.
type attack struct {
	name string
	spec map[string]any
}

// attacksOn returns what is tried on a victim's namespace: children, related objects, statuses and what is set on parents.
func attacksOn(victim, group string) (all []attack) {
	add := func(name string, spec map[string]any) {
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"of": "attacker"}}
		all = append(all, attack{fmt.Sprintf("%s-%02d", name, len(all)), spec})
	}
	child := func(apiVersion, kind string, meta map[string]any) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta, "data": map[string]any{"text": "attacked"}}
	}
	answers := func(name string, objects ...any) {
		add(name, map[string]any{"answer": map[string]any{"objects": objects}, "outputs": objects})
	}
	// Names and namespaces that a path, a query or a check of this program's own could take for something else.
	for _, namespace := range []string{
		victim, "./" + victim, "../" + victim, victim + "/", victim + "/configmaps", victim + "%2f", "%2e%2e%2f" + victim, victim + "#", victim + "?",
		victim + "?dryRun=All", victim + "\x00", victim + "\n", " " + victim, strings.ToUpper(victim), victim + "\u200b", victim + "\uff0f",
	} {
		answers("namespace", child("v1", "ConfigMap", map[string]any{"name": "new", "namespace": namespace}))
	}
	for _, name := range []string{
		"../../" + victim + "/configmaps/kept", "..", ".", "", "a/b", "%2e%2e", "kept?namespace=" + victim, "kept#", "kept%00", "kept/status",
		"ke\u0301pt", strings.Repeat("a", 300), "-", "kept\u202e",
	} {
		answers("name", child("v1", "ConfigMap", map[string]any{"name": name}))
	}
	kept := map[string]any{"name": "kept", "namespace": victim}
	answers("takes", child("v1", "ConfigMap", kept))
	answers("takes-secret", child("v1", "Secret", kept))
	answers("takes-twice", child("v1", "ConfigMap", map[string]any{"name": "own"}), child("v1", "ConfigMap", kept))
	answers("other-version", child("v1beta1", "ConfigMap", kept))
	answers("generate-name", child("v1", "ConfigMap", map[string]any{"generateName": "a", "namespace": victim}))
	answers("with-uid", child("v1", "ConfigMap", map[string]any{"name": "kept", "namespace": victim, "uid": "1", "resourceVersion": "1"}))
	answers("owner", child("v1", "ConfigMap", map[string]any{"name": "owned", "namespace": victim, "ownerReferences": []any{
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "kept", "uid": "1", "controller": true},
	}}))
	answers("binding", map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "attack"},
		"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
	})
	answers("definition", child("metacontroller.k8s.io/v1alpha1", "CompositeController", map[string]any{"name": "attack"}))
	answers("revision", child("metacontroller.k8s.io/v1alpha1", "ControllerRevision", map[string]any{"name": "kept", "namespace": victim}))
	answers("archive", child("apps/v1", "ControllerRevision", map[string]any{"name": "kept", "namespace": victim}))
	answers("parent-as-child", child(group+"/v1", "Thing", kept))
	own := child("v1", "ConfigMap", map[string]any{"name": "output"})
	add("tombstone", map[string]any{"outputs": []any{own}, "later": []any{child("v1", "ConfigMap", kept)}})
	for _, answer := range []map[string]any{
		{"metadata": map[string]any{"namespace": victim}}, {"namespace": victim}, {"parent": kept}, {"status": map[string]any{"metadata": kept}},
		{"labels": map[string]any{"a/../../b": "c"}}, {"annotations": map[string]any{"metacontroller.k8s.io/decorator-controller": "other"}},
		{"annotations": map[string]any{"metacontroller.k8s.io/script-revision": strings.Repeat("a", 64)}},
		{"labels": map[string]any{"metacontroller.k8s.io/composite-controller": "other"}},
		{"finalizers": []any{"kubernetes"}}, {"events": []any{map[string]any{"type": "Normal", "reason": "A", "message": "b", "object": kept}}},
	} {
		add("answer", map[string]any{"answer": answer})
	}
	// Reading.
	for _, rule := range []map[string]any{
		{"apiVersion": "v1", "resource": "configmaps", "namespace": victim}, {"apiVersion": "v1", "resource": "configmaps", "namespace": victim, "names": []any{"kept"}},
		{"apiVersion": "v1", "resource": "secrets", "namespace": victim}, {"apiVersion": "v1", "resource": "secrets", "namespace": victim, "names": []any{"kept"}},
		{"apiVersion": "v1", "resource": "configmaps"}, {"apiVersion": "v1", "resource": "secrets"},
		{"apiVersion": "v1", "resource": "configmaps", "namespaceSelector": map[string]any{}},
		{"apiVersion": "v1", "resource": "configmaps", "labelSelector": map[string]any{"matchLabels": map[string]any{"of": "victim"}}},
		{"apiVersion": group + "/v1", "resource": "things", "namespace": victim},
		{"apiVersion": "metacontroller.k8s.io/v1alpha1", "resource": "controllerrevisions", "namespace": victim},
		{"apiVersion": "v1", "resource": "configmaps/status", "namespace": victim}, {"apiVersion": "v1", "resource": "../namespaces/" + victim + "/secrets"},
		{"apiVersion": "v1", "resource": "configmaps", "namespace": "../" + victim}, {"apiVersion": "v1/../../v1", "resource": "configmaps", "namespace": victim},
		{"apiVersion": "v1", "resource": "configmaps", "namespace": victim + "?", "names": []any{"../secrets/kept"}},
	} {
		add("related", map[string]any{"related": []any{rule}, "shows": true})
	}
	return all
}

// TestAttacks has whoever may write parents and scripts in one namespace attack another one through definitions of all kinds, with a namespace
// and without, whose host may do everything and whose account works in that one namespace. Nothing outside is read or written; the API server refused it, to the account.
func TestAttacks(t *testing.T) {
	e, host := newHost(t)
	impersonates(e, host)
	host.Bind("", "cluster-admin")
	e.Apply(env.CRD(e.Group, "Global", "Cluster"))
	account := newAccount(e)
	account.Grant("", e.Group, "globals,globals/status", "get", "list", "watch", "update", "patch")
	account.Grant("default", "", "events", "create", "patch") // About objects without a namespace.
	account.Grant(e.Namespace, "", "secrets", "get", "list", "watch", "create", "update", "patch", "delete")
	account.Grant("", "rbac.authorization.k8s.io", "clusterrolebindings", "get", "list", "watch", "create", "update", "patch", "delete")
	account.Grant(e.Namespace, "metacontroller.k8s.io", "controllerrevisions", "get", "list", "watch", "create", "update", "delete")
	victim := e.InNamespace(e.Cluster.Namespace(t))
	victim.ApplyConfigMap("kept", "of: victim", canary)
	victim.Apply("{apiVersion: v1, kind: Secret, metadata: {name: kept, labels: {of: victim}}, stringData: {text: " + canary + "}}")
	victim.ApplyThing("kept", "set: composite", "text: "+canary)
	victim.Apply("{apiVersion: metacontroller.k8s.io/v1alpha1, kind: ControllerRevision, metadata: {name: kept}, parentPatch: {spec: {text: " + canary + "}}}")
	e.Start("--kubeconfig", host.Kubeconfig())
	attacked := []schema.GroupVersionResource{env.ConfigMaps, env.Secrets, victim.Things(), env.Revisions, env.ScriptRevisions, env.Events}
	before, mark := contentsOf(victim, attacked...), e.Mark()

	written := "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}, {apiVersion: v1, resource: secrets}, " +
		"{apiVersion: rbac.authorization.k8s.io/v1, resource: clusterrolebindings}"
	rolling := "{apiVersion: v1, resource: configmaps, updateStrategy: {method: RollingInPlace}}"
	hooks := env.Hooks(obeys, "sync", "finalize", "customize")
	e.Define(env.Composite, "-global", e.Parent("globals", ""), asAccount(e), generated, "childResources: ["+written+"]", hooks)
	e.Define(env.Composite, "-thing", e.Parent("things", "composite"), asAccount(e), generated, "childResources: ["+rolling+"]", hooks)
	e.Define(env.Decorator, "-thing", e.Targets("things", "decorator"), asAccount(e), "attachments: ["+written+"]", hooks)
	e.Define(env.Map, "-thing", e.Parent("things", "map"), asAccount(e), "inputResources: [{apiVersion: v1, resource: configmaps}]",
		"outputResources: ["+written+"]", env.Hooks(obeys, "map", "tombstone"))
	own := "serviceAccountRef: {name: account}"
	e.DefineNamespaced(env.Composite, "tenant", e.Parent("things", "tenant-composite"), own, generated, "childResources: ["+rolling+"]", hooks)
	namespaced := "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}, {apiVersion: v1, resource: secrets}"
	e.DefineNamespaced(env.Decorator, "tenant", e.Targets("things", "tenant-decorator"), own, "attachments: ["+namespaced+"]", hooks)
	e.DefineNamespaced(env.Map, "tenant", e.Parent("things", "tenant-map"), own, "inputResources: [{apiVersion: v1, resource: configmaps}]",
		"outputResources: ["+namespaced+"]", env.Hooks(obeys, "map", "tombstone"))
	e.ApplyConfigMap("input", "of: attacker", "text")
	attacks := attacksOn(victim.Namespace, e.Group)
	tried := map[string]bool{}
	for _, a := range attacks {
		var lines []string
		for _, field := range slices.Sorted(maps.Keys(a.spec)) {
			value, err := json.Marshal(a.spec[field])
			e.NoError(err)
			lines = append(lines, fmt.Sprintf("%s: %s", field, value))
		}
		spec := strings.Join(lines, "\n")
		e.ClusterScope().ApplyCustom("Global", "global-"+a.name, "", spec)
		for _, kind := range []string{"composite", "decorator", "map", "tenant-composite", "tenant-decorator", "tenant-map"} {
			e.ApplyThing(kind+"-"+a.name, "set: "+kind, spec)
			tried[kind+"-"+a.name] = true
		}
		tried["global-"+a.name] = true
	}
	if len(attacks) < 60 {
		t.Errorf("there are %d attacks", len(attacks))
	}
	cluster.Eventually(t, 5*time.Minute, func() error { // Each has been synced, or an event says why not.
		left := maps.Clone(tried)
		for _, in := range []*env.Env{e, e.InNamespace("default")} {
			events, err := in.In(env.Events).List(t.Context(), metav1.ListOptions{})
			e.NoError(err)
			for _, event := range events.Items {
				object, _ := event.Object["involvedObject"].(map[string]any)
				delete(left, fmt.Sprint(object["name"]))
			}
		}
		for _, in := range []schema.GroupVersionResource{e.Things(), e.Resource("Global")} {
			objects, err := e.Cluster.Dynamic().Resource(in).List(t.Context(), metav1.ListOptions{})
			e.NoError(err)
			for i := range objects.Items {
				if objects.Items[i].Object["status"] != nil {
					delete(left, objects.Items[i].GetName())
				}
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("%d attacks are left: %v", len(left), slices.Sorted(maps.Keys(left)))
		}
		return nil
	})
	adopt(e)
	edit(e, victim.Namespace)
	forge(t, e, victim.Namespace)
	e.WaitFor(env.ConfigMaps, "output", env.HasText("attacked"))
	e.Delete(env.ConfigMaps, e.Namespace, "input")
	e.Eventually(func() error {
		// Both maps want the same output, and the first one has it.
		if e.HookCalls(env.Map, e.Namespace+"-thing", "tombstone")+e.HookCalls(env.Map, e.Namespace+"/tenant", "tombstone") == 0 {
			return errors.New("no tombstone has been asked for")
		}
		return nil
	})
	release(t, e)
	if after := contentsOf(victim, attacked...); !maps.Equal(before, after) {
		t.Errorf("the victim's objects were %v, and are %v", before, after)
	}
	checkRequests(t, e.Requests(mark), account, victim.Namespace)
	checkLeaks(t, e)
}

// adopt has a parent without a namespace select the victim's objects, which nobody controls, as its children.
func adopt(e *env.Env) {
	e.T.Helper()
	name := e.Define(env.Composite, "-adopter", e.Parent("globals", "adopter"), asAccount(e), env.UpdatedChildren, env.Hooks(obeys, "sync"))
	e.ClusterScope().ApplyCustom("Global", "adopter", "set: adopter", "selector: {matchLabels: {of: victim}}")
	e.WaitForCondition(name, "ParentsSynced", "False", "may not list configmaps")
	e.Delete(env.CompositeControllers, "", name)
}

// edit has a script that is edited attack while its edit is previewed.
func edit(e *env.Env, victim string) {
	e.T.Helper()
	source := func(text string) {
		e.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: edited}, data: {hooks.js: " + env.Quote(text) + "}}")
	}
	source("export const customize = () => ({relatedResources: []});\nexport const sync = () => ({children: [], status: {said: 'harmless'}});")
	hook := "{version: v2, script: {path: hooks.js}}"
	name := e.Define(env.Composite, "-edited", e.Parent("things", "edited"), asAccount(e), generated, env.UpdatedChildren,
		"relatedResources: [{apiVersion: v1, resource: secrets}]",
		"scriptSources: [{configMap: {namespace: "+e.Namespace+", name: edited}}]", "hooks: {sync: "+hook+", customize: "+hook+"}")
	e.ApplyThing("edited", "set: edited", "shows: true\nrelated: [{apiVersion: v1, resource: secrets, namespace: "+victim+"}]\n"+
		"answer: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "+victim+"}}]}")
	e.WaitFor(e.Things(), "edited", env.HasSaid("harmless"))
	source(obeys)
	e.WaitForCondition(name, "Progressing", "False", "it would need rights", "list, watch secrets in the namespace "+victim)
	source(strings.Replace(obeys, "export const sync = (request) => ({", "export const sync = (request) => { throw new Error(btoa(JSON.stringify(request.related)) + "+
		"JSON.stringify(request.related)); }; const unused = (request) => ({", 1))
	e.WaitForCondition(name, "Progressing", "False", "account may not list secrets in the namespace "+victim)
	e.Delete(env.CompositeControllers, "", name)
}

// forge has the ControllerRevisions of parents name another namespace, as CVE-2026-2270 did, and waits until they have been looked at.
func forge(t *testing.T, e *env.Env, namespace string) {
	t.Helper()
	revisions := e.List(env.Revisions, "")
	if len(revisions) == 0 {
		t.Error("there is no ControllerRevision")
	}
	for name := range revisions {
		e.Patch(env.Revisions, name, `{"parentPatch": {"metadata": {"namespace": "`+namespace+`"}, "spec": {"namespace": "`+namespace+`"}}}`)
	}
	e.ApplyThing("after", "set: composite", "")
	e.WaitFor(e.Things(), "after", env.HasSaid("tried"))
}

// release deletes the definitions, and waits until the host has taken their finalizers off, as the account, too.
func release(t *testing.T, e *env.Env) {
	t.Helper()
	e.Delete(env.CompositeControllers, "", e.Namespace+"-global")
	e.Delete(env.CompositeControllers, "", e.Namespace+"-thing")
	e.Delete(env.DecoratorControllers, "", e.Namespace+"-thing")
	e.Delete(env.MapControllers, "", e.Namespace+"-thing")
	for _, kind := range []string{env.Composite, env.Decorator, env.Map} {
		e.Delete(env.NamespacedDefinitions(kind), e.Namespace, "tenant")
	}
	cluster.Eventually(t, time.Minute, func() error {
		for _, resource := range []schema.GroupVersionResource{e.Things(), e.Resource("Global")} {
			objects, err := e.Cluster.Dynamic().Resource(resource).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range objects.Items {
				if object := &objects.Items[i]; len(object.GetFinalizers()) > 0 {
					return fmt.Errorf("%s %s has the finalizers %v", object.GetKind(), object.GetName(), object.GetFinalizers())
				}
			}
		}
		return nil
	})
}

// contentsOf returns the version of each object of some resources in a namespace that an attack is on.
func contentsOf(e *env.Env, resources ...schema.GroupVersionResource) map[string]string {
	found := map[string]string{}
	for _, resource := range resources {
		for name, object := range e.List(resource, "") {
			found[resource.Resource+"/"+name] = string(object.GetUID()) + " " + object.GetResourceVersion()
		}
	}
	return found
}

// checkRequests checks that in a namespace nothing succeeded but the host's lists and watches, and that what was refused was asked as the
// account.
func checkRequests(t *testing.T, requests cluster.Requests, account *env.User, namespace string) {
	t.Helper()
	refused := func(r cluster.Request) bool { return r.ImpersonatedUser == account.Name && r.Code == 403 }
	for _, r := range requests.In(namespace) {
		if strings.HasPrefix(r.UserAgent, env.UserAgent) && !refused(r) {
			t.Errorf("%s as %q", r, r.ImpersonatedUser)
		}
	}
	// Writes outside of a parent's namespace are reviewed as the account, and not even tried.
	if len(requests.Filter(refused)) == 0 || len(requests.Of("authorization.k8s.io", "selfsubjectaccessreviews")) == 0 {
		t.Error("nothing was refused")
	}
	for _, r := range foreign(requests, account).Filter(func(r cluster.Request) bool { return strings.HasPrefix(r.UserAgent, env.UserAgent) }) {
		t.Errorf("%s was not made as the account", r)
	}
}

// checkLeaks checks that what is secret is nowhere but where it was: not in objects of the attacker, nor in statuses, events or the log.
func checkLeaks(t *testing.T, e *env.Env) {
	t.Helper()
	var places []string
	look := func(resource schema.GroupVersionResource, namespace string) {
		objects, err := e.Cluster.Dynamic().Resource(resource).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
		e.NoError(err)
		for _, object := range objects.Items {
			if text, err := json.Marshal(object.Object); err != nil || strings.Contains(string(text), canary) {
				places = append(places, resource.Resource+" "+object.GetNamespace()+"/"+object.GetName())
			}
		}
	}
	for _, resource := range []schema.GroupVersionResource{
		env.ConfigMaps, env.Secrets, e.Things(), env.Revisions, env.ScriptRevisions, env.Events,
		env.NamespacedDefinitions(env.Composite), env.NamespacedDefinitions(env.Decorator), env.NamespacedDefinitions(env.Map),
	} {
		look(resource, e.Namespace)
	}
	for _, resource := range []schema.GroupVersionResource{e.Resource("Global"), env.CompositeControllers, env.DecoratorControllers, env.MapControllers} {
		look(resource, "")
	}
	look(env.Events, "default")
	if strings.Contains(e.Libretto().Log(), canary) {
		places = append(places, "the log")
	}
	if len(places) > 0 {
		t.Errorf("what the account may not read is in %v", places)
	}
}
