package controllertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// skips reports whether the file or the case turns a check off.
func (r *runner) skips(check Check) bool {
	return r.test.SkipChecks[check] != "" || r.testCase.SkipChecks[check] != ""
}

// failCheck notes that a check failed, unless it is turned off.
func (s *stepRun) failCheck(check Check, f Failure) {
	if s.skips(check) {
		return
	}
	f.Check, f.Location = check, s.place("")
	same := func(known Failure) bool { return known.Check == check && known.Message == f.Message }
	if !slices.ContainsFunc(s.result.Failures, same) {
		s.fail(f)
	}
}

// checkPasses makes the checks about what the hooks answered, and what the passes wrote.
func (s *stepRun) checkPasses() {
	for _, pass := range s.passes {
		for _, call := range pass.Calls {
			if call.Err == nil && s.Fails == "" { // If the step fails, that may be why.
				s.checkDeclared(call)
			}
		}
		for _, write := range pass.Writes {
			s.checkWrite(write)
		}
	}
}

// checkWrite checks that the schema accepts a write, and has all of its fields. Refusals that the step asks for are none of the schema's.
func (s *stepRun) checkWrite(w memcluster.Write) {
	switch {
	case w.Err != nil && apierrors.IsInvalid(w.Err) && !s.isRefused(w):
		s.failCheck(CheckValid, Failure{Message: describeWrite(w) + " is refused: " + w.Err.Error()})
	case len(w.Dropped) > 0:
		s.failCheck(CheckValid, Failure{Message: fmt.Sprintf(
			"%s: the schema has no %s, which is dropped", describeWrite(w), strings.Join(w.Dropped, ", "))})
	}
}

// isRefused reports whether the case asks for a refusal like that of a write.
func (s *stepRun) isRefused(w memcluster.Write) bool {
	steps := append([]Step{s.testCase.Step}, s.testCase.Steps...)
	return slices.ContainsFunc(steps, func(step Step) bool {
		return slices.ContainsFunc(step.Refuse, func(r Refusal) bool {
			return r.Verb == string(w.Verb) && apierrors.ReasonForError(w.Err) == r.Reason && (r.Name == "" || r.Name == w.Name)
		})
	})
}

// checkSettled checks that one more pass writes nothing.
func (s *stepRun) checkSettled(ctx context.Context) error {
	if s.skips(CheckSettles) {
		return nil
	}
	before := len(s.passes)
	s.clock.Step(time.Second)
	if _, err := s.pass(ctx); err != nil {
		return err
	}
	for _, pass := range s.passes[before:] {
		if pass.Err != nil && !errors.Is(pass.Err, controller.ErrLater) && s.testCase.Golden == "" {
			s.failCheck(CheckSettles, Failure{
				Message: "it does not settle: one more pass fails: " + pass.Err.Error(), Script: scriptPlace(pass.Err),
			})
			return nil
		}
		for _, w := range pass.Writes {
			s.failCheck(CheckSettles, Failure{
				Message: "it does not settle: one more pass makes the write " + describeWrite(w), Diff: changeLines(w.Before, w.After),
			})
			return nil
		}
	}
	s.checkPasses()
	return nil
}

// changeLines returns the lines in which two versions of an object differ. It returns none if one of them is nil.
func changeLines(before, after *unstructured.Unstructured) []string {
	versionless := func(object *unstructured.Unstructured) any {
		object = object.DeepCopy()
		object.SetResourceVersion("")
		object.SetManagedFields(nil)
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", merge.LastApplied)
		return object.Object
	}
	if before == nil || after == nil {
		return nil
	}
	return valueChanges(versionless(before), versionless(after))
}

// valueChanges returns the lines in which two values differ.
func valueChanges(before, after any) []string {
	var lines []string
	d := jsonvalue.Differ{
		Match: func([]any, []any) ([]jsonvalue.Pair, bool) { return nil, false },
		Found: func(path jsonvalue.Path, a, b any) {
			name := pathText(path)
			if a != nil {
				lines = append(lines, "- "+name+": "+inline(a))
			}
			if b != nil {
				lines = append(lines, "+ "+name+": "+inline(b))
			}
		},
	}
	d.Compare(before, after)
	return lines[:min(len(lines), maxDiffLines)]
}

func pathText(path jsonvalue.Path) string {
	text := ""
	for _, step := range path {
		if step.Item {
			text += "[" + step.Name + "]"
		} else {
			text = join(text, step.Name)
		}
	}
	return text
}

// checkAnswers checks that scripts answer the last requests of the step in the same way again.
func (s *stepRun) checkAnswers(ctx context.Context) {
	last := map[string]simulation.HookCall{}
	for _, pass := range s.passes {
		for _, call := range pass.Calls {
			if call.Err == nil {
				last[string(pass.parent.name())+" "+call.Hook+" "+call.Subject] = call
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		s.checkDeterministic(ctx, last[name])
	}
}

// lists are the fields of responses with objects.
var lists = []string{"children", "attachments", "outputs"}

// checkDeclared checks that the objects of an answer are of kinds that the definition declares.
func (s *stepRun) checkDeclared(call simulation.HookCall) {
	response, _ := call.Response.(map[string]any)
	for _, list := range lists {
		items, _ := response[list].([]any)
		for i, item := range items {
			object := unstructured.Unstructured{Object: jsonvalue.AsObject(item)}
			declared := func(rule variant.ChildRule) bool { return rule.Kind == object.GroupVersionKind() }
			if object.GetKind() != "" && object.GetAPIVersion() != "" && !slices.ContainsFunc(s.base.Plan.Config.Children, declared) {
				s.failCheck(CheckDeclared, Failure{Message: fmt.Sprintf(
					"the answer of the %s hook has %s[%d], %s of %s, which the definition does not declare",
					call.Hook, list, i, object.GetKind(), object.GetAPIVersion())})
			}
		}
	}
}

// checkDeterministic calls a script again with the same request, a second later, or at once if it said that an object is finalized: that is
// its last answer, which may have the time. Webhooks with canned responses are exempt.
func (s *stepRun) checkDeterministic(ctx context.Context, call simulation.HookCall) {
	program := s.hooks.scripts[call.Hook]
	if s.skips(CheckDeterministic) || program == nil || s.isWebhook(call.Hook) {
		return
	}
	ctx, cancel := engines.WithTimeout(ctx, s.hooks.timeouts[call.Hook])
	defer cancel()
	again, later := call.Call, time.Duration(0)
	if finalized, _ := jsonvalue.AsObject(call.Response)["finalized"].(bool); s.Passes == nil && !finalized {
		later = time.Second
	}
	again.Now = again.Now.Add(later)
	response, err := runAgain(ctx, program, again)
	if err != nil {
		s.failCheck(CheckDeterministic, Failure{
			Message: fmt.Sprintf("the %s hook fails when it is called again with the same request: %v", call.Hook, err), Script: scriptPlace(err),
		})
		return
	}
	lines := valueChanges(call.Response, withResyncOf(call.Response, response.Body, later))
	if len(lines) == 0 {
		return
	}
	why := ""
	if response.TimeDependent {
		why = ", a second later: it depends on the time"
	}
	s.failCheck(CheckDeterministic, Failure{
		Message: fmt.Sprintf("the %s hook answers otherwise to the same request%s", call.Hook, why), Diff: lines,
	})
}

// withResyncOf returns an answer with the resyncAfterSeconds of an earlier one, if both ask for a call at the same time: a hook that
// counts the seconds to a deadline depends on the time as it should. The seconds may be rounded.
func withResyncOf(earlier, answer any, later time.Duration) any {
	const field, rounding = "resyncAfterSeconds", 1e-6 // 64.4 - 63.4 is more than 1.
	after := jsonvalue.AsObject(answer)
	was, wasGiven := seconds(jsonvalue.AsObject(earlier)[field])
	is, isGiven := seconds(after[field])
	if passed := was - is; !wasGiven || !isGiven || is <= 0 || passed < 0 || passed > later.Seconds()+rounding {
		return answer
	}
	return jsonvalue.With(after, field, jsonvalue.AsObject(earlier)[field])
}

// seconds returns a number of an answer.
func seconds(value any) (float64, bool) {
	if whole, is := jsonvalue.Integer(value); is {
		return float64(whole), true
	}
	number, is := value.(float64)
	return number, is
}

// isWebhook reports whether a webhook serves or can serve a hook.
func (s *stepRun) isWebhook(hook string) bool {
	is := func(named v1alpha1.NamedHook) bool { return string(named.Name) == hook && named.Hook.Webhook != nil }
	return slices.ContainsFunc(s.base.Plan.Hooks, is)
}
