package composite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

var (
	pods = discovery.Resource{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespaced: true}
	role = discovery.Resource{Kind: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}}
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func newVariant(version v1alpha1.HookVersion, generate bool) *Variant {
	return New(Config{
		Definition: map[string]any{"kind": "CompositeController"},
		Spec: v1alpha1.CompositeControllerSpec{
			GenerateSelector: &generate,
			Hooks:            &v1alpha1.CompositeHooks{Sync: &v1alpha1.Hook{Version: version}},
		},
		Children: []variant.ChildRule{{Resource: pods}, {Resource: role}},
	})
}

const namespacedParent = `{metadata: {name: web, namespace: prod, uid: u1, generation: 4}, spec: {selector: {matchLabels: {app: web}}}}`
const clusterParent = `{metadata: {name: web, uid: u1, generation: 4}, spec: {selector: {matchLabels: {app: web}}}}`

func TestClaim(t *testing.T) {
	cases := map[string]struct {
		reason   string
		parent   string
		generate bool
		want     string
		err      string
	}{
		"MatchLabels":      {reason: "The parent's selector tells its children.", parent: namespacedParent, want: "app=web"},
		"MatchExpressions": {reason: "Expressions work too.", parent: `{spec: {selector: {matchExpressions: [{key: a, operator: In, values: [x, z]}]}}}`, want: "a in (x,z)"},
		"Generated":        {reason: "A generated selector disregards the parent's own.", parent: namespacedParent, generate: true, want: "controller-uid=u1"},
		"None":             {reason: "The error for a parent without a selector says what to do.", parent: `{spec: {}}`, err: "spec.selector: the parent needs matchLabels or matchExpressions that tell its children, or generateSelector: true in the definition"},
		"Empty":            {reason: "An empty selector would claim everything.", parent: `{spec: {selector: {matchLabels: {}}}}`, err: "spec.selector: is empty and would take every object for a child: give it matchLabels or matchExpressions"},
		"BadOperator":      {reason: "What is wrong with a selector is reported.", parent: `{spec: {selector: {matchExpressions: [{key: a, operator: Near}]}}}`, err: `spec.selector: "Near" is not a valid label selector operator`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim, err := newVariant(v1alpha1.HookV2, tc.generate).Claim(&unstructured.Unstructured{Object: parse(t, tc.parent)})
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("%s\nwant error %q\ngot %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := claim.Selector.String(); got != tc.want {
				t.Errorf("%s\nselector %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	child := &unstructured.Unstructured{Object: parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: prod}}`)}
	cases := map[string]struct {
		reason  string
		version v1alpha1.HookVersion
		parent  string
		key     string
	}{
		"V1Namespaced": {"Version 1 keys by name under a namespaced parent.", v1alpha1.HookV1, namespacedParent, "web-0"},
		"V1Cluster":    {"Version 1 keys by namespace and name under a cluster-scoped parent.", v1alpha1.HookV1, clusterParent, "prod/web-0"},
		"V2Namespaced": {"Version 2 always keys by namespace and name.", v1alpha1.HookV2, namespacedParent, "prod/web-0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &unstructured.Unstructured{Object: parse(t, tc.parent)}
			calls, err := newVariant(tc.version, false).Calls(variant.Observed{Parent: p, Children: []*unstructured.Unstructured{child}})
			if err != nil {
				t.Fatal(err)
			}
			want := []variant.Call{{Hook: "sync", Request: map[string]any{
				"controller": map[string]any{"kind": "CompositeController"},
				"parent":     p.Object,
				"children": map[string]any{
					"Pod.v1": map[string]any{tc.key: child.Object},
					"ClusterRole.rbac.authorization.k8s.io/v1": map[string]any{},
				},
				"related": map[string]any{}, "finalizing": false,
			}}}
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDesired(t *testing.T) {
	cases := map[string]struct {
		reason   string
		parent   string
		generate bool
		answer   string
		want     string // the children, as YAML
		err      string
	}{
		"NamespaceFilledIn": {
			reason: "A child without a namespace gets the parent's.", parent: namespacedParent,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: web}}}]}`,
			want:   `{c: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: prod, labels: {app: web}}}]}`,
		},
		"OrderKept": {
			reason: "Children stay in the order of the hook.", parent: namespacedParent,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: prod, labels: {app: web}}}, {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: prod, labels: {app: web}}}]}`,
			want:   `{c: [{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: prod, labels: {app: web}}}, {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: prod, labels: {app: web}}}]}`,
		},
		"LabelGenerated": {
			reason: "With a generated selector the label is added.", parent: namespacedParent, generate: true,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}`,
			want:   `{c: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: prod, labels: {controller-uid: u1}}}]}`,
		},
		"LabelForeign": {
			reason: "Another value of the generated label stays, and is refused.", parent: namespacedParent, generate: true,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {controller-uid: other}}}]}`,
			err:    `children[0]: metadata.labels: the labels of Pod prod/a do not match the parent's selector "controller-uid=u1", so that it would never be seen again`,
		},
		"LabelMissing": {
			reason: "A child that the selector does not match would be lost.", parent: namespacedParent,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}`,
			err:    `children[0]: metadata.labels: the labels of Pod prod/a do not match the parent's selector "app=web", so that it would never be seen again`,
		},
		"Undeclared": {
			reason: "A kind that is not declared is refused by name.", parent: namespacedParent,
			answer: `{children: [{apiVersion: v1, kind: Service, metadata: {name: a}}]}`,
			err:    `children[0]: v1 Service is not among spec.childResources, which have v1 Pod, rbac.authorization.k8s.io/v1 ClusterRole`,
		},
		"OtherVersion": {
			reason: "Another version of a declared kind is refused too.", parent: namespacedParent,
			answer: `{children: [{apiVersion: v2, kind: Pod, metadata: {name: a}}]}`,
			err:    `children[0]: v2 Pod is not among spec.childResources, which have v1 Pod, rbac.authorization.k8s.io/v1 ClusterRole`,
		},
		"Twice": {
			reason: "One identity twice is refused.", parent: namespacedParent,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: web}}}, {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: prod, labels: {app: web}}}]}`,
			err:    `children[1]: Pod prod/a stands at children[0] already: each may be listed once`,
		},
		"OtherNamespace": {
			reason: "A parent in a namespace can't own elsewhere.", parent: namespacedParent,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: test, labels: {app: web}}}]}`,
			err:    `children[0]: metadata.namespace: is "test", but children of a parent in "prod" must be there too`,
		},
		"ClusterChild": {
			reason: "A parent in a namespace can't own what is in none.", parent: namespacedParent,
			answer: `{children: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {app: web}}}]}`,
			err:    `children[0]: ClusterRole is cluster-scoped: a parent in a namespace can't own it, as garbage collection works within a namespace`,
		},
		"ClusterParentAnyNamespace": {
			reason: "A cluster-scoped parent owns in any namespace and in none.", parent: clusterParent,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: test, labels: {app: web}}}, {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, namespace: stray, labels: {app: web}}}]}`,
			want:   `{c: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: test, labels: {app: web}}}, {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {app: web}}}]}`,
		},
		"ClusterParentNoNamespace": {
			reason: "Then a namespaced child must say where.", parent: clusterParent,
			answer: `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: web}}}]}`,
			err:    `children[0]: metadata.namespace: is required, as the parent is in none`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			answer := parse(t, tc.answer)
			before := parse(t, tc.answer)
			observed := variant.Observed{Parent: &unstructured.Unstructured{Object: parse(t, tc.parent)}}
			desired, err := newVariant(v1alpha1.HookV2, tc.generate).Desired(observed, []variant.Answer{{Call: variant.Call{Hook: "sync"}, Body: answer}})
			if diff := cmp.Diff(before, answer); diff != "" {
				t.Errorf("the hook's answer was changed:\n%s", diff)
			}
			if tc.err != "" {
				if want := "HookResponseInvalid: sync hook: " + tc.err; err == nil || err.Error() != want {
					t.Fatalf("%s\nwant error %q\ngot        %v", tc.reason, want, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			var got []any
			for _, child := range desired.Children {
				got = append(got, child.Object)
			}
			if diff := cmp.Diff(parse(t, tc.want)["c"], any(got)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDesiredStatus(t *testing.T) {
	cases := map[string]struct{ reason, answer, want string }{
		"Replaced": {"The hook's status is taken, and the generation that it is about is added.", `{children: [], status: {replicas: 1, observedGeneration: 99}}`, `{replicas: 1, observedGeneration: 4}`},
		"Null":     {"No status means only the generation.", `{children: [], status: null}`, `{observedGeneration: 4}`},
		"Absent":   {"An absent one too.", `{children: []}`, `{observedGeneration: 4}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := variant.Observed{Parent: &unstructured.Unstructured{Object: parse(t, namespacedParent)}}
			desired, err := newVariant(v1alpha1.HookV2, false).Desired(observed, []variant.Answer{{Body: parse(t, tc.answer)}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tc.want), desired.Status); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
