package mapping

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

func inputRules(t *testing.T, spec string, found ...discovery.Resource) ([]variant.InputRule, error) {
	t.Helper()
	var given []v1alpha1.MapInputRule
	decode(t, spec, &given)
	var rules []variant.InputRule
	for _, resource := range found {
		rules = append(rules, variant.InputRule{Resource: resource})
	}
	return InputRules(given, rules)
}

func TestSelects(t *testing.T) {
	cases := map[string]struct {
		reason, rule, parent, input string
		want                        bool
	}{
		"OwnNamespace":         {"A parent in a namespace takes what is there.", `{}`, namespacedParent, `{metadata: {name: a, namespace: prod}}`, true},
		"OtherNamespace":       {"It takes nothing from elsewhere.", `{}`, namespacedParent, `{metadata: {name: a, namespace: test}}`, false},
		"NoNamespace":          {"Nor from no namespace.", `{}`, namespacedParent, `{metadata: {name: a}}`, false},
		"ClusterParent":        {"A parent in none takes inputs of all namespaces.", `{}`, clusterParent, `{metadata: {name: a, namespace: test}}`, true},
		"ClusterParentCluster": {"And those in none.", `{}`, clusterParent, `{metadata: {name: a}}`, true},
		"Labelled":             {"The rule's selector narrows them down.", `{labelSelector: {matchLabels: {app: web}}}`, namespacedParent, `{metadata: {namespace: prod, labels: {app: web}}}`, true},
		"NotLabelled":          {"What it does not match is no input.", `{labelSelector: {matchLabels: {app: web}}}`, namespacedParent, `{metadata: {namespace: prod}}`, false},
		"EmptySelectors":       {"Empty selectors match all.", `{labelSelector: {}, namespaceSelector: {}}`, clusterParent, `{metadata: {namespace: bare}}`, true},
		"Namespace":            {"Namespaces are selected by their labels.", `{namespaceSelector: {matchLabels: {env: prod}}}`, clusterParent, `{metadata: {namespace: prod}}`, true},
		"NamespaceOther":       {"The rest of them is left out.", `{namespaceSelector: {matchLabels: {env: prod}}}`, clusterParent, `{metadata: {namespace: test}}`, false},
		"NamespaceUnknown":     {"So is a namespace that is not known yet.", `{namespaceSelector: {matchLabels: {env: prod}}}`, clusterParent, `{metadata: {namespace: new}}`, false},
		"NamespaceUnknownNot":  {"Its labels may be any.", `{namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}}`, clusterParent, `{metadata: {namespace: new}}`, false},
		"NamespaceUnknownAny":  {"Nor is it selected by what selects all.", `{namespaceSelector: {}}`, clusterParent, `{metadata: {namespace: new}}`, false},
		"NamespaceNot":         {"A known one without labels is none that is excluded.", `{namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}}`, clusterParent, `{metadata: {namespace: bare}}`, true},
		"NamespaceOfParent":    {"For a parent in a namespace there is nothing to select.", `{namespaceSelector: {matchLabels: {env: test}}}`, namespacedParent, `{metadata: {namespace: prod}}`, true},
		"Owned":                {"What the parent owns is no input of it.", `{}`, namespacedParent, `{metadata: {namespace: prod, ownerReferences: [{uid: u1, controller: true, apiVersion: v1, kind: A, name: a}]}}`, false},
		"OwnedByOther":         {"What another owns may be one.", `{}`, namespacedParent, `{metadata: {namespace: prod, ownerReferences: [{uid: u2, controller: true, apiVersion: v1, kind: A, name: a}]}}`, true},
		"OwnedNotControlled":   {"So may what it owns without controlling it.", `{}`, namespacedParent, `{metadata: {namespace: prod, ownerReferences: [{uid: u1, apiVersion: v1, kind: A, name: a}]}}`, true},
		"Itself":               {"No parent is its own input.", `{}`, namespacedParent, namespacedParent, false},
		"Deleting":             {"An input counts until it is gone.", `{}`, namespacedParent, `{metadata: {namespace: prod, deletionTimestamp: "2024-01-01T00:00:00Z"}}`, true},
	}
	namespaces := map[string]labels.Set{"prod": {"env": "prod"}, "test": {"env": "test"}, "bare": {}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rules, err := inputRules(t, `[`+tc.rule+`]`, configMaps)
			if err != nil {
				t.Fatal(err)
			}
			labelsOf := func(namespace string) labels.Set {
				if !rules[0].ByNamespace {
					t.Errorf("labels of namespace %q are read by a rule without ByNamespace", namespace)
				}
				return namespaces[namespace]
			}
			if got := rules[0].Selects(object(t, tc.parent), object(t, tc.input), labelsOf); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
		})
	}
}

func TestInputRules(t *testing.T) {
	other := configMaps
	other.Kind.Version, other.Version = "v2", "v2"
	cases := map[string]struct {
		reason, spec string
		found        []discovery.Resource
		err          string
	}{
		"Good":           {"Rules for several resources are fine.", `[{}, {labelSelector: {}}]`, []discovery.Resource{configMaps, nodes}, ""},
		"None":           {"No rules are none.", `[]`, nil, ""},
		"BadLabels":      {"A wrong selector is reported with its path.", `[{}, {labelSelector: {matchExpressions: [{key: a, operator: Near}]}}]`, []discovery.Resource{configMaps, nodes}, `spec.inputResources[1].labelSelector: "Near" is not a valid label selector operator`},
		"BadNamespaces":  {"So is that of namespaces.", `[{namespaceSelector: {matchExpressions: [{key: a, operator: Near}]}}]`, []discovery.Resource{configMaps}, `spec.inputResources[0].namespaceSelector: "Near" is not a valid label selector operator`},
		"ClusterScoped":  {"What is in no namespace can't be narrowed down by namespace.", `[{namespaceSelector: {}}]`, []discovery.Resource{nodes}, `spec.inputResources[0].namespaceSelector: nodes are in no namespace: leave it out`},
		"TwoVersions":    {"One resource in two versions would be mapped twice.", `[{}, {}, {}]`, []discovery.Resource{configMaps, nodes, other}, `spec.inputResources[2]: configmaps stand at spec.inputResources[0] already, in version v1: leave one of the two`},
		"ResourceIsKept": {"Everything else about a resource stays.", `[{}]`, []discovery.Resource{roles}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rules, err := inputRules(t, tc.spec, tc.found...)
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("%s\nwant error %q\ngot        %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || len(rules) != len(tc.found) {
				t.Fatalf("%s\n%d rules for %d resources (%v)", tc.reason, len(rules), len(tc.found), err)
			}
			for i, rule := range rules {
				if rule.Resource != tc.found[i] || rule.Selects == nil {
					t.Errorf("%s\nrule %d is %v", tc.reason, i, rule)
				}
			}
		})
	}
}

func TestSelectorOf(t *testing.T) {
	cases := map[string]struct{ reason, parent, want, err string }{
		"Absent":   {"No selector means everything.", `{spec: {}}`, "", ""},
		"NoSpec":   {"Nor does a parent need a spec.", `{metadata: {name: a}}`, "", ""},
		"Null":     {"Null means everything.", `{spec: {selector: null}}`, "", ""},
		"Empty":    {"So does empty, unlike a composite's.", `{spec: {selector: {matchLabels: {}}}}`, "", ""},
		"Labels":   {"Labels select.", `{spec: {selector: {matchLabels: {app: web}}}}`, "app=web", ""},
		"Both":     {"Expressions too.", `{spec: {selector: {matchLabels: {app: web}, matchExpressions: [{key: b, operator: Exists}]}}}`, "app=web,b", ""},
		"Text":     {"A text is no selector.", `{spec: {selector: "app=web"}}`, "", "spec.selector: must have matchLabels or matchExpressions that tell the inputs, or be left out for all"},
		"BadType":  {"A wrong type is reported.", `{spec: {selector: {matchLabels: [a]}}}`, "", "spec.selector: cannot restore map from slice"},
		"Operator": {"A wrong operator is reported.", `{spec: {selector: {matchExpressions: [{key: a, operator: Near}]}}}`, "", `spec.selector: "Near" is not a valid label selector operator`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			selector, err := SelectorOf(object(t, tc.parent))
			switch {
			case tc.err != "" && (err == nil || err.Error() != tc.err):
				t.Errorf("%s\nwant error %q\ngot        %v", tc.reason, tc.err, err)
			case tc.err == "" && (err != nil || selector.String() != tc.want):
				t.Errorf("%s\nselector %v (%v), want %q", tc.reason, selector, err, tc.want)
			}
		})
	}
}
