package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// findServed finds secrets, nodes and things.
func findServed(apiVersion, resource string) (discovery.Resource, error) {
	group, err := schema.ParseGroupVersion(apiVersion)
	kind := map[string]string{"v1/secrets": "Secret", "v1/nodes": "Node", "example.com/v1/things": "Thing"}[apiVersion+"/"+resource]
	if err != nil || kind == "" {
		return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource}
	}
	return discovery.Resource{
		GroupVersionResource: group.WithResource(resource), Kind: group.WithKind(kind), Namespaced: kind != "Node", HasStatus: true,
	}, nil
}

// TestRelatedLimits checks what a customize hook may ask for, and what the definition's conditions
// report about it.
func TestRelatedLimits(t *testing.T) {
	const script, webhook = "script: {engine: CEL, inline: '{}'}", "webhook: {url: 'http://a'}"
	cases := map[string]struct {
		reason    string
		customize string
		declared  string
		// secrets is set if the hook may ask for Secrets without more.
		secrets bool
		warning string
		refused string
	}{
		"NoHook":        {reason: "Without the hook there is nothing to report."},
		"NoHookButList": {reason: "Not even with a list.", declared: "[{apiVersion: v1, resource: nonsuches}]"},
		"Script":        {reason: "A script may ask for all but Secrets, which needs no warning.", customize: script},
		"Webhook": {
			reason: "A webhook may ask for anything, which does.", customize: webhook, secrets: true, warning: "RelatedResourcesNotDeclared",
		},
		"Fallback": {reason: "A webhook in place of a script is held to the same.", customize: script + ", " + webhook + ", fallback: Webhook"},
		"Shadowed": {reason: "So is a script with a shadow.", customize: script + ", " + webhook + ", shadow: Webhook"},
		"ShadowScript": {
			reason: "The answers of a script that is the shadow are not used.", customize: script + ", " + webhook + ", shadow: Script",
			secrets: true, warning: "RelatedResourcesNotDeclared",
		},
		"DeclaredWebhook": {
			reason: "A list ends the warning.", customize: webhook, declared: "[{apiVersion: v1, resource: secrets, namespace: a}]", secrets: true,
		},
		"DeclaredScript": {
			reason: "And allows Secrets to scripts.", customize: script, declared: "[{apiVersion: v1, resource: secrets, names: [a]}]", secrets: true,
		},
		"Unserved": {
			reason:    "A resource that is not served may be misspelled, or come later.",
			customize: script, declared: "[{apiVersion: v1, resource: nodes}, {apiVersion: v1, resource: secret}]", warning: "RelatedResourceNotServed",
		},
		"ClusterScoped": {
			reason: "Objects in no namespace can't be declared by one.", customize: webhook,
			declared: "[{apiVersion: v1, resource: secrets}, {apiVersion: v1, resource: nodes, namespace: a}]",
			refused:  "spec.relatedResources[1]: nodes are in no namespace",
		},
		"Named":      {reason: "What parents name needs no hook, and no warning.", declared: named("")},
		"NamedAlone": {reason: "A hook may then ask for nothing.", customize: webhook, declared: named("")},
		"NamedUnserved": {
			reason:   "A resource that is not served may come later. The number is that of the entry.",
			declared: strings.TrimSuffix(named(""), "]") + ", {apiVersion: v1, resource: nonsuches, nameFrom: {fieldPath: spec.a}}]", warning: "RelatedResourceNotServed",
		},
		"NamedAndNames": {
			reason: "Names come from one place.", declared: named(", names: [a]"), refused: "spec.relatedResources[0].nameFrom: can't be combined",
		},
		"NamedBadly": {
			reason: "A path that is none is refused.", declared: "[{apiVersion: v1, resource: secrets, nameFrom: {fieldPath: .spec}}, {}]",
			refused: `spec.relatedResources[0].nameFrom.fieldPath: ".spec" is no path: write one such as spec.secretName`,
		},
		"ClusterScopedSelector": {
			reason: "Nor by labels of namespaces.", customize: webhook, declared: "[{apiVersion: v1, resource: nodes, namespaceSelector: {}}]",
			refused: "spec.relatedResources[0]: nodes are in no namespace",
		},
		"Labels": {
			reason: "A selector that is none is refused.", customize: script,
			declared: "[{apiVersion: v1, resource: secrets, labelSelector: {matchExpressions: [{key: a, operator: Is}]}}]",
			refused:  `spec.relatedResources[0].labelSelector: "Is" is not a valid label selector operator`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: a}, " +
				"spec: {parentResource: {apiVersion: example.com/v1, resource: things}, hooks: {sync: {" + script + "}"
			if tc.customize != "" {
				text += ", customize: {" + tc.customize + "}"
			}
			text += "}"
			if tc.declared != "" {
				text += ", relatedResources: " + tc.declared
			}
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text+"}}"), &object.Object); err != nil {
				t.Fatal(err)
			}
			planner := Planner{Find: findServed}
			plan, refusal := planner.Plan(object)
			if refusal != nil || tc.refused != "" {
				if refusal == nil || refusal.Reason != ReasonInvalid || !strings.HasPrefix(refusal.Err.Error(), tc.refused) {
					t.Errorf("%s refused: %+v, want %q", tc.reason, refusal, tc.refused)
				}
				return
			}
			var reasons []string
			for _, w := range planner.RelatedWarnings(plan) {
				reasons = append(reasons, w.Reason)
			}
			if got := strings.Join(reasons, " "); got != tc.warning {
				t.Errorf("%s warnings: %q, want %q", tc.reason, got, tc.warning)
			}
			if plan.Config.Customize != nil && mayAskForSecrets(plan.Config.Customize.Limits) != tc.secrets {
				t.Errorf("%s limits: %+v, want Secrets: %v", tc.reason, plan.Config.Customize.Limits, tc.secrets)
			}
		})
	}
}

// named returns a list with one entry for the Secrets that parents name, with further fields.
func named(more string) string {
	return "[{apiVersion: v1, resource: secrets, nameFrom: {fieldPath: spec.a}" + more + "}]"
}

func mayAskForSecrets(limits parent.RelatedLimits) bool {
	for _, declared := range limits.Declared {
		if declared.Resource == "secrets" {
			return true
		}
	}
	return limits.Declared == nil && !limits.RefuseSecrets
}
