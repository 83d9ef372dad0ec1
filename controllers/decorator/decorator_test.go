package decorator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

func TestClaim(t *testing.T) {
	cases := map[string]struct {
		reason, child string
		want          bool
	}{
		"Own":           {"The marker names the definition.", `{metadata: {annotations: {metacontroller.k8s.io/decorator-controller: svc}}}`, true},
		"OfAnother":     {"Another decorator's attachment to the same object is none of ours.", `{metadata: {annotations: {metacontroller.k8s.io/decorator-controller: pdb}}}`, false},
		"PrefixOfOurs":  {"The name has to be just ours.", `{metadata: {annotations: {metacontroller.k8s.io/decorator-controller: sv}}}`, false},
		"Unmarked":      {"What the object's own controller made has no marker.", `{metadata: {annotations: {note: svc}}}`, false},
		"NoAnnotations": {"No annotations are no marker.", `{metadata: {name: a}}`, false},
		"Label":         {"The marker is an annotation, and no label.", `{metadata: {labels: {metacontroller.k8s.io/decorator-controller: svc}}}`, false},
		"NoText":        {"What is no text is no marker.", `{metadata: {annotations: {metacontroller.k8s.io/decorator-controller: 1}}}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim, err := newVariant(t, `{sync: {}}`).Claim(object(t, namespacedTarget))
			if err != nil {
				t.Fatal(err)
			}
			if claim.Selector != nil {
				t.Errorf("a decorator neither adopts nor releases, but its claim has the selector %q", claim.Selector)
			}
			if got := claim.Marked(object(t, tc.child)); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	const service = `{apiVersion: v1, kind: Service, metadata: {name: db-0, namespace: prod}}`
	cases := map[string]struct {
		reason, hooks, target string
		finalizing            bool
		want                  string // hook, attachments, related and finalizing, as YAML
	}{
		"V1Namespaced": {
			reason: "Version 1 keys by name, and drops what is outside of the object's namespace.", hooks: `{sync: {}}`, target: namespacedTarget,
			want: `{hook: sync, finalizing: false, attachments: {Service.v1: [db-0], ClusterRole.rbac.authorization.k8s.io/v1: []}, related: {Namespace.v1: [], Service.v1: [db-0]}}`,
		},
		"V2Namespaced": {
			reason: "Version 2 keys by namespace and name, and shows all.", hooks: `{sync: {version: v2}}`, target: namespacedTarget,
			want: `{hook: sync, finalizing: false, attachments: {Service.v1: [prod/db-0], ClusterRole.rbac.authorization.k8s.io/v1: []}, related: {Namespace.v1: [prod], Service.v1: [prod/db-0]}}`,
		},
		"V1Cluster": {
			reason: "Version 1 keys by namespace and name too where the object is in none.", hooks: `{sync: {version: v1}}`, target: clusterTarget,
			want: `{hook: sync, finalizing: false, attachments: {Service.v1: [prod/db-0], ClusterRole.rbac.authorization.k8s.io/v1: []}, related: {Namespace.v1: [prod], Service.v1: [prod/db-0]}}`,
		},
		"Finalizing": {
			reason: "The finalize hook is called in place of sync, in its own version.", hooks: `{sync: {version: v1}, finalize: {version: v2}}`, target: namespacedTarget, finalizing: true,
			want: `{hook: finalize, finalizing: true, attachments: {Service.v1: [prod/db-0], ClusterRole.rbac.authorization.k8s.io/v1: []}, related: {Namespace.v1: [prod], Service.v1: [prod/db-0]}}`,
		},
		"LiveWithFinalize": {
			reason: "A living object is synced though there is a finalize hook.", hooks: `{sync: {version: v1}, finalize: {version: v2}}`, target: namespacedTarget,
			want: `{hook: sync, finalizing: false, attachments: {Service.v1: [db-0], ClusterRole.rbac.authorization.k8s.io/v1: []}, related: {Namespace.v1: [], Service.v1: [db-0]}}`,
		},
		"FinalizeOnly": {
			reason: "Without a sync hook a living object is left alone.", hooks: `{finalize: {}}`, target: namespacedTarget, want: `{}`,
		},
		"FinalizeOnlyFinalizing": {
			reason: "The finalize hook alone is enough for cleaning up.", hooks: `{finalize: {}}`, target: namespacedTarget, finalizing: true,
			want: `{hook: finalize, finalizing: true, attachments: {Service.v1: [db-0], ClusterRole.rbac.authorization.k8s.io/v1: []}, related: {Namespace.v1: [], Service.v1: [db-0]}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := variant.Observed{
				Parent: object(t, tc.target), Finalizing: tc.finalizing,
				Children:     []*unstructured.Unstructured{object(t, service)},
				Related:      []*unstructured.Unstructured{object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: prod}}`), object(t, service)},
				RelatedKinds: []schema.GroupVersionKind{{Version: "v1", Kind: "Namespace"}, services.Kind},
			}
			calls, err := newVariant(t, tc.hooks, services, roles).Calls(observed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tc.want), described(t, calls, observed)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// described returns the keys of the groups of a call.
func described(t *testing.T, calls []variant.Call, observed variant.Observed) map[string]any {
	t.Helper()
	if len(calls) == 0 {
		return map[string]any{}
	}
	request := calls[0].Request
	if len(calls) != 1 || len(request) != 5 {
		t.Fatalf("want one call with five fields, got %v", calls)
	}
	if diff := cmp.Diff(observed.Parent.Object, request["object"]); diff != "" {
		t.Errorf("object: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(parse(t, `{kind: DecoratorController, metadata: {name: svc}}`), request["controller"]); diff != "" {
		t.Errorf("controller: -want +got:\n%s", diff)
	}
	return map[string]any{
		"hook": calls[0].Hook, "finalizing": request["finalizing"],
		"attachments": keys(request["attachments"]), "related": keys(request["related"]),
	}
}

func keys(groups any) map[string]any {
	listed := map[string]any{}
	for group, objects := range groups.(map[string]any) {
		names := []any{}
		for name := range objects.(map[string]any) {
			names = append(names, name)
		}
		listed[group] = names
	}
	return listed
}
