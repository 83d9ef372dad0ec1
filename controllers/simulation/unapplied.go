package simulation

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// lists are the fields of responses that hold desired objects.
var lists = []string{"children", "attachments", "outputs"}

// Unapplied returns the changes with which the children of a parent would be as the answers to calls want them. Those that exist and
// differ after a pass are left alone by their update method, wait for their turn in a rollout, or were refused. calls are the last
// ones; of several about one parent those count that were about its present state. aims are the children that the last pass aimed at.
func (s *Session) Unapplied(
	ctx context.Context, parent *unstructured.Unstructured, calls []HookCall, aims []*unstructured.Unstructured,
) ([]apply.Change, error) {
	rules := s.childRules(ctx)
	in := apply.Input{Rules: rules, Owner: *metav1.NewControllerRef(parent, parent.GroupVersionKind())}
	seen := map[apply.Key]bool{}
	for _, desired := range desiredObjects(parent, calls) {
		i := slices.IndexFunc(rules, func(r apply.Rule) bool { return r.Kind == desired.GroupVersionKind() })
		if i < 0 {
			continue // The pass has failed for it.
		}
		desired = desired.DeepCopy()
		if rules[i].Namespaced && desired.GetNamespace() == "" {
			desired.SetNamespace(parent.GetNamespace())
		}
		complete(desired, aims)
		observed, err := s.Get(ctx, desired)
		switch key := apply.KeyOf(desired); {
		case err != nil:
			return nil, err
		case observed == nil || seen[key] || rules[i].Namespaced != (desired.GetNamespace() != ""):
			continue // A creation that failed is an error of the pass.
		case s.holdsBack(i) && !apply.WantsContent(desired):
			continue // The hook keeps what exists.
		default:
			seen[key] = true
			in.Observed, in.Desired = append(in.Observed, observed), append(in.Desired, desired)
		}
	}
	return apply.Diff(in)
}

// holdsBack reports whether a rule of children leaves those that differ alone.
func (s *Session) holdsBack(rule int) bool {
	return apply.Rule{Method: s.running.config.Children[rule].Method}.HoldsBack()
}

// Differences returns the changes that would make observed children of a parent what is desired, as if all were updated in place.
func (s *Session) Differences(
	ctx context.Context, parent *unstructured.Unstructured, observed, desired []*unstructured.Unstructured,
) ([]apply.Change, error) {
	owner := *metav1.NewControllerRef(parent, parent.GroupVersionKind())
	return apply.Diff(apply.Input{Rules: s.childRules(ctx), Owner: owner, Observed: observed, Desired: desired})
}

// complete adds the labels and annotations that definitions add to their children.
func complete(desired *unstructured.Unstructured, aims []*unstructured.Unstructured) {
	i := slices.IndexFunc(aims, func(aim *unstructured.Unstructured) bool { return apply.KeyOf(aim) == apply.KeyOf(desired) })
	if i < 0 {
		return
	}
	with := func(all, own map[string]string) map[string]string {
		all = maps.Clone(all)
		if all == nil {
			return own
		}
		maps.Copy(all, own)
		return all
	}
	if labels := with(aims[i].GetLabels(), desired.GetLabels()); len(labels) > 0 {
		desired.SetLabels(labels)
	}
	if annotations := with(aims[i].GetAnnotations(), desired.GetAnnotations()); len(annotations) > 0 {
		desired.SetAnnotations(annotations)
	}
}

// childRules returns the rules for children as if all were updated in place.
func (s *Session) childRules(ctx context.Context) []apply.Rule {
	var rules []apply.Rule
	for _, rule := range s.running.config.Children {
		rules = append(rules, apply.Rule{
			Kind: rule.Kind, Resource: rule.GroupVersionResource, Namespaced: rule.Namespaced, Method: apply.InPlace,
			Schema: s.schemas.For(ctx, rule.Kind), Strategy: rule.Strategy, Managers: s.running.config.Managers, Force: rule.Force,
			Ignored: rule.Ignored, Orphan: rule.Orphan,
		})
	}
	return rules
}

// desiredObjects returns the objects that the answers to calls about the present state of a parent want. Some have no namespace yet.
func desiredObjects(parent *unstructured.Unstructured, calls []HookCall) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, call := range calls {
		about, _ := call.Request["parent"].(map[string]any)
		response, ok := call.Response.(map[string]any)
		if !ok || call.Err != nil || about == nil || !jsonvalue.Equal(about["spec"], parent.Object["spec"]) {
			continue
		}
		for _, field := range lists {
			items, _ := response[field].([]any)
			for _, item := range items {
				if fields, ok := item.(map[string]any); ok {
					objects = append(objects, &unstructured.Unstructured{Object: fields})
				}
			}
		}
	}
	return objects
}
