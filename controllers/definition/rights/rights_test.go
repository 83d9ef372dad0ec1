package rights

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// find finds any resource. Those whose names begin with cluster are in no namespace, and those with bare have no status.
func find(apiVersion, resource string) (discovery.Resource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return discovery.Resource{
		GroupVersionResource: gv.WithResource(resource), Kind: gv.WithKind(resource), Namespaced: !strings.HasPrefix(resource, "cluster"),
		HasStatus: !strings.Contains(resource, "bare"),
	}, err
}

// needsOf returns what the definition of a text needs.
func needsOf(t *testing.T, kind, spec string) []Need {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %s\nmetadata: {name: d}\nspec: %s", kind, spec)
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	planned, refusal := plan.Planner{Find: find, RevisionNamespace: "host", FieldManager: "libretto"}.Plan(object)
	if refusal != nil {
		t.Fatal(refusal.Err)
	}
	rollout, err := plan.ScriptRollout(object)
	if err != nil {
		t.Fatal(err)
	}
	return Of(planned, rollout, "host")
}

// lines returns needs in lines, without those that are the same in all cases: "with parents: get list things.a; maybe: patch".
func lines(needs []Need) []string {
	var all []string
	last := ""
	for _, n := range needs {
		place := map[Place]string{Fixed: "in " + n.Namespace, WithParents: "with parents", Anywhere: "anywhere"}[n.Place]
		if n.Place == WithParents && !n.Namespaced {
			place = "in the cluster"
		}
		head := strings.TrimSpace(place + ": " + n.Plural() + " " + n.Name)
		verb := n.Verb + map[Level]string{Required: "", Informative: "!", Possible: "?"}[n.Level]
		if head == last {
			all[len(all)-1] += " " + verb
			continue
		}
		last, all = head, append(all, head+" "+verb)
	}
	return all
}

const webhook = "{webhook: {url: 'http://a/'}}"

// TestOf checks what definitions need: a question mark is after what their hooks decide, an exclamation mark after what is for events.
func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, spec string
		want       []string
	}{
		"a composite that deletes and creates": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: parents}, hooks: {sync: ` + webhook + `}, generateSelector: true,
				childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}]}`,
			[]string{
				"with parents: events create! patch!", "with parents: pods get list watch create update? patch? delete",
				"with parents: parents.a get list watch", "with parents: parents.a/status update",
			},
		},
		"one that updates, and takes orphans": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: parents, statusWrites: WhenReturned}, hooks: {sync: ` + webhook + `},
				childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}}, {apiVersion: v1, resource: services}]}`,
			[]string{
				"with parents: events create! patch!", "with parents: pods get list watch create update patch delete",
				"with parents: services get list watch create patch delete",
				"with parents: parents.a get list watch", "with parents: parents.a/status update?",
			},
		},
		"the API server applies": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: bare}, hooks: {sync: ` + webhook + `}, generateSelector: true,
				applyStrategy: ServerSideApply,
				childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}},
				{apiVersion: v1, resource: services, applyStrategy: DynamicApply, updateStrategy: {method: InPlace}}]}`,
			[]string{
				"with parents: events create! patch!", "with parents: pods get list watch create patch delete",
				"with parents: services get list watch create update patch? delete", "with parents: bare.a get list watch",
			},
		},
		"a rolling update, a finalize hook and no status": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: parents, statusWrites: Never}, generateSelector: true,
				hooks: {sync: ` + webhook + `, finalize: ` + webhook + `},
				childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: RollingRecreate}}]}`,
			[]string{
				"with parents: events create! patch!", "with parents: pods get list watch create update? patch? delete",
				"with parents: parents.a get list watch patch",
				"with parents: controllerrevisions.metacontroller.k8s.io get list watch create update delete",
			},
		},
		"parents without a namespace": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: clusterparents}, generateSelector: true, hooks: {sync: ` + webhook + `},
				serviceAccountRef: {namespace: team, name: robot},
				childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: RollingInPlace}}, {apiVersion: b/v1, resource: clusterroles}]}`,
			[]string{
				"in default: events create! patch!", "in team: controllerrevisions.metacontroller.k8s.io get list watch create update delete",
				"in the cluster: clusterparents.a get list watch", "in the cluster: clusterparents.a/status update",
				"in the cluster: clusterroles.b get list watch create patch? delete", "anywhere: pods get list watch create update patch? delete",
			},
		},
		"children that are not deleted": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: clusterparents}, generateSelector: true, hooks: {sync: ` + webhook + `},
				deletionPolicy: Orphan, childResources: [{apiVersion: v1, resource: configmaps}, {apiVersion: b/v1, resource: clusterroles},
				{apiVersion: v1, resource: pods, deletionPolicy: Delete}]}`,
			[]string{
				"in : namespaces kube-system get", "in default: events create! patch!", "in the cluster: clusterparents.a get list watch",
				"in the cluster: clusterparents.a/status update", "in the cluster: clusterroles.b get list watch create update patch",
				"anywhere: configmaps get list watch create update patch", "anywhere: namespaces get", "anywhere: pods get list watch create patch? delete",
			},
		},
		"a decorator": {
			"DecoratorController", `{resources: [{apiVersion: a/v1, resource: parents}, {apiVersion: a/v1, resource: bare}],
				hooks: {sync: ` + webhook + `, customize: {version: v2, webhook: {url: 'http://a/'}}},
				relatedResources: [{apiVersion: v1, resource: secrets, namespace: x}, {apiVersion: v1, resource: pods}, {apiVersion: b/v1, resource: clusterroles}],
				attachments: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]}`,
			[]string{
				"in : clusterroles.b list? watch?", "in x: secrets list? watch?",
				"with parents: configmaps get list watch create update delete", "with parents: events create! patch!",
				"with parents: bare.a get list watch update? patch?", "with parents: parents.a get list watch patch?",
				"with parents: parents.a/status update?", "anywhere: pods list? watch?",
			},
		},
		"names in parents": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: parents}, generateSelector: true, hooks: {sync: ` + webhook + `},
				relatedResources: [{apiVersion: v1, resource: secrets, nameFrom: {fieldPath: spec.a}},
				{apiVersion: v1, resource: configmaps, namespace: x, nameFrom: {fieldPath: spec.b}},
				{apiVersion: b/v1, resource: clusterroles, nameFrom: {fieldPath: spec.c}}, {apiVersion: v1, resource: pods}]}`,
			[]string{
				"in x: configmaps list? watch?", "with parents: events create! patch!", "with parents: secrets list? watch?",
				"with parents: parents.a get list watch", "with parents: parents.a/status update", "in the cluster: clusterroles.b list? watch?",
			},
		},
		"a map": {
			"MapController", `{parentResource: {apiVersion: a/v1, resource: parents}, hooks: {map: ` + webhook + `},
				inputResources: [{apiVersion: v1, resource: pods}], outputResources: [{apiVersion: v1, resource: configmaps}]}`,
			[]string{
				"with parents: configmaps get list watch create delete", "with parents: events create! patch!", "with parents: pods list watch",
				"with parents: parents.a get list watch", "with parents: parents.a/status update",
			},
		},
		"scripts, related objects of the parent's namespace, and an analysis": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: parents}, generateSelector: true,
				scriptSources: [{configMap: {namespace: s, name: hooks}}, {flux: {kind: GitRepository, namespace: s, name: lib}}], relatedResources: [{apiVersion: v1, resource: secrets}],
				hooks: {sync: {script: {path: a.js}}, customize: {script: {path: a.js}}},
				scriptRollout: {steps: [{name: one, parents: 1, analysis: [{job: {namespace: j, cronJob: check}}]}]}}`,
			[]string{
				"in j: cronjobs.batch check get", "in j: jobs.batch get create", "in s: configmaps hooks list watch",
				"in s: controllerrevisions.apps get list create delete", "in s: gitrepositories.source.toolkit.fluxcd.io lib list watch",
				"with parents: events create! patch!", "with parents: secrets list? watch?",
				"with parents: parents.a get list watch", "with parents: parents.a/status update",
			},
		},
		"credentials of webhooks that are used": {
			"CompositeController", `{parentResource: {apiVersion: a/v1, resource: parents}, generateSelector: true,
				endpointConfigs: [{host: a, caBundle: {configMapRef: {namespace: c, name: ca}}, authorization: {secretRef: {namespace: c, name: t, key: k}}},
				{host: unused, basicAuth: {secretRef: {namespace: c, name: unused}}}],
				hooks: {sync: ` + webhook + `, finalize: {webhook: {url: 'http://b/', clientTLS: {secretRef: {namespace: c, name: tls}},
				authorization: {serviceAccountToken: {serviceAccountRef: {namespace: c, name: robot}, audience: b}}}}}}`,
			[]string{
				"in c: configmaps ca list watch", "in c: secrets t list watch", "in c: secrets tls list watch", "in c: serviceaccounts/token robot create",
				"with parents: events create! patch!", "with parents: parents.a get list watch patch", "with parents: parents.a/status update",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(needsOf(t, tc.kind, tc.spec))); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInParents resolves needs for a namespace, and for parents that are in none.
func TestInParents(t *testing.T) {
	needs := needsOf(t, "CompositeController", `{parentResource: {apiVersion: a/v1, resource: parents}, generateSelector: true,
		hooks: {sync: {script: {path: a.js}}}, childResources: [{apiVersion: v1, resource: pods}]}`)
	of := InParents(needs)
	var texts []string
	for _, right := range append(of("x"), of("x")[:1]...) {
		texts = append(texts, right.String())
	}
	want := []string{
		"get pods in the namespace x", "list pods in the namespace x", "watch pods in the namespace x", "create pods in the namespace x",
		"delete pods in the namespace x", "get parents.a in the namespace x", "list parents.a in the namespace x",
		"watch parents.a in the namespace x", "update parents.a/status in the namespace x", "get pods in the namespace x",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	if rights := of(""); len(rights) > 0 {
		t.Errorf("parents without a namespace: %v", rights)
	}
	fixed := FixedAt(needs, Required)
	if len(fixed) != 4 || fixed[0] != (access.Right{Verb: "get", GroupResource: schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, Namespace: "host"}) {
		t.Errorf("at fixed places: %v", fixed)
	}
}

// TestGrants checks which rules give needs: rules of one group with the same verbs are one, and no Role repeats what holds in the cluster.
func TestGrants(t *testing.T) {
	needs := needsOf(t, "DecoratorController", `{resources: [{apiVersion: a/v1, resource: parents}], hooks: {sync: `+webhook+`, customize: `+webhook+`},
		relatedResources: [{apiVersion: v1, resource: configmaps, namespace: x}, {apiVersion: b/v1, resource: clusterroles}],
		attachments: [{apiVersion: v1, resource: services}, {apiVersion: v1, resource: configmaps}]}`)
	show := func(grants []Grant) string {
		var b strings.Builder
		for _, g := range grants {
			fmt.Fprintf(&b, "%q:", g.Namespace)
			for _, rule := range g.Rules {
				fmt.Fprintf(&b, " %v%v%v%v", rule.APIGroups, rule.Resources, rule.ResourceNames, rule.Verbs)
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	for _, tc := range []struct {
		namespaces []string
		want       string
	}{
		{nil, `"": [][configmaps services][][get list watch create delete] [][events][][create patch] [a][parents][][get list watch patch] ` +
			"[a][parents/status][][update] [b][clusterroles][][list watch]\n"},
		{[]string{"x", "y"}, `"": [b][clusterroles][][list watch]
"x": [][configmaps services][][get list watch create delete] [][events][][create patch] [a][parents][][get list watch patch] [a][parents/status][][update]
"y": [][configmaps services][][get list watch create delete] [][events][][create patch] [a][parents][][get list watch patch] [a][parents/status][][update]
`},
	} {
		if diff := cmp.Diff(tc.want, show(Grants(needs, tc.namespaces...))); diff != "" {
			t.Errorf("parents in %v (-want +got):\n%s", tc.namespaces, diff)
		}
	}
}
