package related

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// TestWrongRules checks that a rule of a customize hook that is none is reported by its field and by what the field may be.
func TestWrongRules(t *testing.T) {
	const fields = ", which has apiVersion, resource, labelSelector, namespaceSelector, namespace, names"
	cases := map[string]struct {
		reason, rule string
		lenient      bool
		want         string
	}{
		"one name":       {"the converter says: cannot restore slice from string", `{"names": "a"}`, true, `names: must be a list of strings, but is a string`},
		"numbers":        {"the converter has no index", `{"names": ["a", 1]}`, false, `names[1]: must be a string, but is a number`},
		"text":           {"the syntax of kubectl -l", `{"labelSelector": "a=b"}`, true, `labelSelector: must be an object, but is a string: write {matchLabels: {KEY: VALUE}}`},
		"selector":       {"the field of a Service", `{"selector": {}}`, false, `selector: is no field of a rule` + fields + `: did you mean labelSelector?`},
		"name":           {"a letter is missing", `{"name": []}`, false, `name: is no field of a rule` + fields + `: did you mean names?`},
		"kind":           {"it is in the plural, and in small letters", `{"kind": "Pod"}`, false, `kind: is no field of a rule` + fields + `: did you mean resource?`},
		"other":          {"nothing is near", `{"zzz": 1}`, false, `zzz: is no field of a rule` + fields},
		"plain labels":   {"so it is in a Service", `{"labelSelector": {"app": "a"}}`, false, `labelSelector.app: is no field of a selector, which has matchLabels, matchExpressions: write {matchLabels: {KEY: VALUE}}`},
		"number":         {"labels are strings", `{"labelSelector": {"matchLabels": {"app": 1}}}`, false, `labelSelector.matchLabels.app: must be a string, but is a number`},
		"list of labels": {"it is an object", `{"namespaceSelector": {"matchLabels": ["a"]}}`, true, `namespaceSelector.matchLabels: must be an object, but is a list`},
		"one expression": {"it is a list", `{"labelSelector": {"matchExpressions": {"key": "a"}}}`, true, `labelSelector.matchExpressions: must be a list of objects, but is an object` + expressionsAdvice},
		"kubectl's":      {"the syntax of kubectl -l", `{"labelSelector": {"matchExpressions": ["a in (b)"]}}`, true, `labelSelector.matchExpressions[0]: must be an object, but is a string` + expressionsAdvice},
		"one value":      {"also for Exists", `{"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]}}`, true, `labelSelector.matchExpressions[0].values: must be a list of strings, but is a string` + expressionsAdvice},
		"value":          {"a letter is missing", `{"labelSelector": {"matchExpressions": [{"key": "a", "value": ["b"]}]}}`, false, `labelSelector.matchExpressions[0].value: is no field of an expression, which has key, operator, values` + expressionsAdvice},
		"operator":       {"the words of Kubernetes have no index", `{"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Equals", "values": ["b"]}]}}`, true, `labelSelector.matchExpressions[0].operator: Invalid value: "Equals": not a valid selector operator` + expressionsAdvice},
		"no values":      {"they are needed", `{"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}`, true, "namespaceSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'" + expressionsAdvice},
		"label":          {"the words of Kubernetes have no label", `{"labelSelector": {"matchLabels": {"a": "b c"}}}`, true, `labelSelector.matchLabels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		"ignored":        {"webhooks may have further fields", `{"apiVersion": "v1", "resource": "gadgets", "selector": {}, "names": null}`, true, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			var fields map[string]any
			if err := json.Unmarshal([]byte(c.rule), &fields); err != nil {
				t.Fatal(err)
			}
			customize := &Customize{RefuseUnknown: !c.lenient}
			find := func(string, string) (discovery.Resource, error) { return parenttest.Gadgets, nil }
			if _, problem := customize.parseRule(fields, &unstructured.Unstructured{}, find); problem != c.want {
				t.Errorf("problem\n%s, want\n%s", problem, c.want)
			}
		})
	}
}

// TestRulesOfNamespacedDefinition keeps the rules of a definition with a namespace in that.
func TestRulesOfNamespacedDefinition(t *testing.T) {
	parent := &unstructured.Unstructured{}
	parent.SetNamespace("shop")
	for rule, want := range map[string]string{
		`{}`:                        "",
		`{"namespace": "shop"}`:     "",
		`{"names": ["a"]}`:          "",
		`{"namespace": "blog"}`:     `namespace: is "blog", and a definition with a namespace sees the parent's own, "shop", only: leave it out`,
		`{"namespaceSelector": {}}`: "namespaceSelector: a definition with a namespace sees the parent's own namespace only: leave it out",
		`{"resource": "nodes"}`:     "resource: nodes are in no namespace, and a definition with a namespace sees only its own",
	} {
		fields := map[string]any{"apiVersion": "v1", "resource": "gadgets"}
		if err := json.Unmarshal([]byte(rule), &fields); err != nil {
			t.Fatal(err)
		}
		find := func(apiVersion, resource string) (discovery.Resource, error) {
			return discovery.Resource{
				GroupVersionResource: schema.GroupVersionResource{Version: apiVersion, Resource: resource}, Namespaced: resource != "nodes",
			}, nil
		}
		got, problem := (&Customize{Namespaced: true}).parseRule(fields, parent, find)
		if problem != want || want == "" && got.namespace != "shop" {
			t.Errorf("%s: namespace %q, problem %q, want %q", rule, got.namespace, problem, want)
		}
	}
}
