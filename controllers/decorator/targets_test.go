package decorator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

func targets(t *testing.T, rules string) ([]*Targets, error) {
	t.Helper()
	var parsed []v1alpha1.DecoratorTargetRule
	decode(t, rules, &parsed)
	return NewTargets(parsed)
}

func TestTargetsSelect(t *testing.T) {
	const pods = `apiVersion: v1, resource: pods`
	const both = `[{` + pods + `, labelSelector: {matchLabels: {app: web}}, ignoreStatusChanges: true}, {` + pods + `, annotationSelector: {matchAnnotations: {expose: "yes"}}}]`
	cases := map[string]struct {
		reason, rules, object string
		selects, ignores      bool
	}{
		"All":               {"A rule without selectors selects all.", `[{` + pods + `}]`, `{metadata: {name: a}}`, true, false},
		"AllIgnoring":       {"It may ignore their status.", `[{` + pods + `, ignoreStatusChanges: true}]`, `{metadata: {name: a}}`, true, true},
		"IgnoringFalse":     {"False is no different from absent.", `[{` + pods + `, ignoreStatusChanges: false}]`, `{metadata: {name: a}}`, true, false},
		"EmptySelectors":    {"Empty selectors select all.", `[{` + pods + `, labelSelector: {}, annotationSelector: {}}]`, `{metadata: {name: a}}`, true, false},
		"Label":             {"Labels select.", `[{` + pods + `, labelSelector: {matchLabels: {app: web}}}]`, `{metadata: {labels: {app: web}}}`, true, false},
		"LabelOther":        {"Another value does not.", `[{` + pods + `, labelSelector: {matchLabels: {app: web}}}]`, `{metadata: {labels: {app: db}}}`, false, false},
		"LabelNone":         {"No labels do not.", `[{` + pods + `, labelSelector: {matchLabels: {app: web}}}]`, `{metadata: {name: a}}`, false, false},
		"Annotation":        {"Annotations select.", `[{` + pods + `, annotationSelector: {matchAnnotations: {expose: "yes"}}}]`, `{metadata: {annotations: {expose: "yes"}}}`, true, false},
		"AnnotationAsLabel": {"A label is no annotation.", `[{` + pods + `, annotationSelector: {matchAnnotations: {expose: "yes"}}}]`, `{metadata: {labels: {expose: "yes"}}}`, false, false},
		"AnnotationExists":  {"Expressions work on annotations whose values could not be labels.", `[{` + pods + `, annotationSelector: {matchExpressions: [{key: note, operator: Exists}]}}]`, `{metadata: {annotations: {note: "a b / c"}}}`, true, false},
		"AnnotationNotIn":   {"An absent annotation is not in a list.", `[{` + pods + `, annotationSelector: {matchExpressions: [{key: note, operator: NotIn, values: [x]}]}}]`, `{metadata: {name: a}}`, true, false},
		"BothMatch":         {"Both selectors of a rule have to match.", `[{` + pods + `, labelSelector: {matchLabels: {app: web}}, annotationSelector: {matchAnnotations: {expose: "yes"}}}]`, `{metadata: {labels: {app: web}, annotations: {expose: "yes"}}}`, true, false},
		"LabelAlone":        {"One of them does not do.", `[{` + pods + `, labelSelector: {matchLabels: {app: web}}, annotationSelector: {matchAnnotations: {expose: "yes"}}}]`, `{metadata: {labels: {app: web}}}`, false, false},
		"AnnotationAlone":   {"Nor does the other.", `[{` + pods + `, labelSelector: {matchLabels: {app: web}}, annotationSelector: {matchAnnotations: {expose: "yes"}}}]`, `{metadata: {annotations: {expose: "yes"}}}`, false, false},
		"FirstOfTwo":        {"The first of two rules counts, which metacontroller forgot.", both, `{metadata: {labels: {app: web}}}`, true, true},
		"SecondOfTwo":       {"The second counts too, and does not ignore the status.", both, `{metadata: {annotations: {expose: "yes"}}}`, true, false},
		"BothOfTwo":         {"The status is ignored if all the rules that select the object do.", both, `{metadata: {labels: {app: web}, annotations: {expose: "yes"}}}`, true, false},
		"NeitherOfTwo":      {"What no rule selects is not decorated, and its status is not ignored.", both, `{metadata: {labels: {app: db}}}`, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := targets(t, tc.rules)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) != 1 {
				t.Fatalf("want all rules of one resource together, got %d", len(all))
			}
			o := object(t, tc.object)
			if selects, ignores := all[0].Selects(o), all[0].IgnoresStatus(o); selects != tc.selects || ignores != tc.ignores {
				t.Errorf("%s\nselects %t, want %t; ignores status %t, want %t", tc.reason, selects, tc.selects, ignores, tc.ignores)
			}
		})
	}
}

func TestNewTargets(t *testing.T) {
	cases := map[string]struct {
		reason, rules string
		want          []string
		err           string
	}{
		"None":          {reason: "No rules are no targets.", rules: `[]`},
		"Order":         {reason: "Resources stand in the order in which they are first named.", rules: `[{apiVersion: v1, resource: pods}, {apiVersion: apps/v1, resource: deployments}, {apiVersion: v1, resource: pods}]`, want: []string{"spec.resources[0] v1 pods", "spec.resources[1] apps/v1 deployments"}},
		"Versions":      {reason: "Versions of one resource are one target, in the first of them.", rules: `[{apiVersion: apps/v1, resource: deployments}, {apiVersion: apps/v1beta1, resource: deployments}]`, want: []string{"spec.resources[0] apps/v1 deployments"}},
		"Groups":        {reason: "One plural in two groups is two resources.", rules: `[{apiVersion: v1, resource: services}, {apiVersion: serving.knative.dev/v1, resource: services}]`, want: []string{"spec.resources[0] v1 services", "spec.resources[1] serving.knative.dev/v1 services"}},
		"BadOperator":   {reason: "A wrong label selector is reported with its path.", rules: `[{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: Near}]}}]`, err: `spec.resources[1].labelSelector: "Near" is not a valid label selector operator`},
		"BadAnnotation": {reason: "Annotations to match follow the syntax of labels.", rules: `[{apiVersion: v1, resource: pods, annotationSelector: {matchExpressions: [{key: a, operator: In}]}}]`, err: `spec.resources[0].annotationSelector: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := targets(t, tc.rules)
			var got []string
			for _, target := range all {
				got = append(got, target.Field+" "+target.APIVersion+" "+target.Resource)
			}
			if tc.err != "" && (err == nil || err.Error() != tc.err) {
				t.Fatalf("%s\nwant error %q\ngot        %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || tc.err == "" && err != nil {
				t.Errorf("%s\n%v\n-want +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}
