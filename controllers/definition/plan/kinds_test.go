package plan

import (
	"cmp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// TestNamespaced plans definitions with a namespace, whatever a CustomResourceDefinition has let in.
func TestNamespaced(t *testing.T) {
	planner := Planner{FieldManager: "libretto", Find: func(apiVersion, resource string) (discovery.Resource, error) {
		gv, err := schema.ParseGroupVersion(apiVersion)
		return discovery.Resource{
			GroupVersionResource: gv.WithResource(resource), Kind: gv.WithKind(resource), Namespaced: !strings.HasPrefix(resource, "cluster"),
		}, err
	}}
	for name, c := range map[string]struct{ apiVersion, metadata, kind, hook, source, spec, want string }{
		"Composite": {spec: `parentResource: {apiVersion: v1, resource: things}, childResources: [{apiVersion: v1, resource: things}]`},
		"Account":   {spec: `serviceAccountRef: {name: default, namespace: other}, parentResource: {apiVersion: v1, resource: things}`},
		"Parents":   {spec: `parentResource: {apiVersion: v1, resource: clusterthings}`, want: "clusterthings are cluster-scoped"},
		"Children": {
			spec: `parentResource: {apiVersion: v1, resource: things}, childResources: [{apiVersion: v1, resource: clusterthings}]`,
			want: "clusterthings are cluster-scoped",
		},
		"Decorated": {
			kind: "DecoratorController", spec: `resources: [{apiVersion: v1, resource: things}, {apiVersion: v1, resource: clusterthings}]`,
			want: "clusterthings are cluster-scoped",
		},
		"Inputs": {
			kind: "MapController", spec: `parentResource: {apiVersion: v1, resource: things}, inputResources: [{apiVersion: v1, resource: clusterthings}]`,
			want: "clusterthings are cluster-scoped",
		},
		"Service": {spec: `parentResource: {apiVersion: v1, resource: things}`, hook: `{service: {name: a}, path: /}`},
		"Host": {
			spec: `parentResource: {apiVersion: v1, resource: things}`, hook: `{service: {name: "169.254.169.254#"}, path: /}`, want: "no name of a Service",
		},
		"User": {spec: `parentResource: {apiVersion: v1, resource: things}`, hook: `{service: {name: a}, path: "@b/"}`, want: "must start with /"},
		"Protocol": {
			spec: `parentResource: {apiVersion: v1, resource: things}`, hook: `{service: {name: a, protocol: "http://b/?"}, path: /}`,
			want: "must be http or https",
		},
		"Related": {
			spec: `parentResource: {apiVersion: v1, resource: things}, relatedResources: [{apiVersion: v1, resource: things, namespace: other}]`,
			want: "spec.relatedResources[0]",
		},
		"URL":         {spec: `parentResource: {apiVersion: v1, resource: things}`, hook: `{url: "http://a/"}`, want: "calls a Service"},
		"Directory":   {spec: `parentResource: {apiVersion: v1, resource: things}`, source: `{directory: {path: a}}`, want: "directory"},
		"Flux":        {spec: `parentResource: {apiVersion: v1, resource: things}`, source: `{configMap: {name: a}}, {flux: {kind: Bucket, name: b, namespace: other}}`},
		"NoName":      {spec: `serviceAccountRef: {}, parentResource: {apiVersion: v1, resource: things}`, want: "works as a ServiceAccount of that"},
		"NoNamespace": {metadata: "{name: web}", spec: `parentResource: {apiVersion: v1, resource: things}`, want: "metadata.namespace"},
		"OtherGroup":  {apiVersion: "metacontroller.k8s.io/v1alpha1", spec: `parentResource: {apiVersion: v1, resource: things}`, want: "metadata.namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			object, script := &unstructured.Unstructured{}, "{script: {path: a}}"
			if c.hook != "" {
				script = "{webhook: " + c.hook + "}"
			}
			hooks := "hooks: {sync: " + script + ", map: {script: {path: a}}}, scriptSources: [" + cmp.Or(c.source, "{configMap: {name: a, namespace: other}}") + "]"
			text := "{apiVersion: " + cmp.Or(c.apiVersion, "libretto.dev/v1alpha1") + ", kind: " + cmp.Or(c.kind, "CompositeController") +
				", metadata: " + cmp.Or(c.metadata, "{name: web, namespace: shop}") + ", spec: {" + hooks + ", " + c.spec + "}}"
			if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
				t.Fatal(err)
			}
			plan, refusal := planner.Plan(object)
			switch {
			case c.want != "" && (refusal == nil || !strings.Contains(refusal.Err.Error(), c.want)):
				t.Fatalf("refusal %v, want %q", refusal, c.want)
			case c.want != "":
				return
			case refusal != nil:
				t.Fatal(refusal.Err)
			}
			if plan.Config.Account != (identity.Account{Namespace: "shop", Name: "default"}) || plan.Settings.ScriptSources[0].ConfigMap.Namespace != "shop" {
				t.Errorf("account %v, sources %v", plan.Config.Account, plan.Settings.ScriptSources[0].ConfigMap)
			}
			for _, source := range plan.Settings.ScriptSources {
				if source.Flux != nil && source.Flux.Namespace != "shop" {
					t.Errorf("it takes scripts from %v", source.Flux)
				}
			}
			names := plan.Config.Definition + " " + plan.Config.Finalizing.Name + " " + plan.Config.Managers.Own
			if names != "CompositeController shop/web metacontroller.io/compositecontroller-shop_web libretto/composite/shop_web" {
				t.Errorf("the names are %s", names)
			}
		})
	}
}
