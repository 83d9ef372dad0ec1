package render

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// prepared is a session with the objects of the files.
type prepared struct {
	*stage.Stage
	session *simulation.Session // Nil without parents.
	parents []*unstructured.Unstructured
	inputs  []*unstructured.Unstructured
}

// prepare makes the session, if there are parents.
func (r *renderer) prepare(ctx context.Context) error {
	objects := make([]*unstructured.Unstructured, len(r.Set.Objects))
	for i, object := range r.Set.Objects {
		objects[i] = object.Unstructured
	}
	built, assumed := r.Set.Assume(r.definition, r.Set.Resources())
	for _, resource := range assumed {
		r.Warn(manifest.Unvalidated(resource, "give its CustomResourceDefinition with -f"))
	}
	base, err := stage.NewBase(r.definition.Unstructured, slices.Concat(r.Set.Resources(), built, assumed), r.Host, r.clock.Now())
	if err != nil {
		return err
	}
	staged, err := stage.New(stage.Input{Base: base, Objects: objects, Namespace: r.Namespace, Clock: r.clock, Warn: r.Warn})
	var refusal *simulation.RefusedError
	if errors.As(err, &refusal) {
		return r.refused(refusal)
	}
	if err != nil {
		return err
	}
	if r.WithoutSecrets {
		for i, object := range staged.Objects {
			find := func(kind schema.GroupVersionKind) *openapi.Kind { return staged.Schemas.For(ctx, kind) }
			visible, _ := stage.HideSecrets(object.Object, find).(map[string]any)
			staged.Objects[i] = &unstructured.Unstructured{Object: visible}
		}
	}
	s := &prepared{Stage: staged}
	r.stage, s.parents = s, r.parentsAmong(staged)
	if len(s.parents) == 0 {
		return nil
	}
	for _, object := range staged.Objects {
		if slices.ContainsFunc(staged.Plan.Config.Inputs, func(rule variant.InputRule) bool { return rule.Kind == object.GroupVersionKind() }) {
			s.inputs = append(s.inputs, object)
		}
	}
	programs, err := r.programs(ctx, staged.Plan)
	if err != nil {
		return err
	}
	s.session, err = staged.Run(ctx, programs)
	return err
}

// refused returns the error for a definition that is not accepted.
func (r *renderer) refused(refusal *simulation.RefusedError) error {
	if refusal.Reason == "ResourceNotFound" {
		return inputError("%w (give it with -f)", refusal.Err)
	}
	return &InputError{refusal.Err}
}

// parentsAmong returns the parents among the objects.
func (r *renderer) parentsAmong(built *stage.Stage) []*unstructured.Unstructured {
	var parents []*unstructured.Unstructured
	for _, object := range built.Objects {
		if built.IsParent(object) && r.selected(object) {
			parents = append(parents, object)
		}
	}
	return parents
}

// selected reports whether a parent is to be rendered.
func (r *renderer) selected(object *unstructured.Unstructured) bool {
	return r.Parent == "" || Matches(r.Parent, object)
}

// parentKinds returns the kinds of the definition's parents.
func (r *renderer) parentKinds() []string {
	var kinds []string
	for _, rule := range r.stage.Plan.Config.Parents {
		kinds = append(kinds, fmt.Sprintf("parents of kind %s of %s", rule.Kind.Kind, rule.Kind.GroupVersion()))
	}
	return kinds
}

// programs returns the program of each hook: a canned answer, a script, or for a webhook one that fails.
func (r *renderer) programs(ctx context.Context, plan *plan.Plan) (map[string]engines.Program, error) {
	spec, err := plan.Scripts()
	if err != nil {
		return nil, &InputError{err}
	}
	compiled, err := r.Set.Programs(ctx, r.Engines, r.definition, spec)
	for _, warning := range compiled.Warnings {
		r.Warn(warning.Error())
	}
	if err != nil {
		return nil, &InputError{err}
	}
	programs := compiled.ByHook
	for _, named := range plan.Hooks {
		name := string(named.Name)
		answer, canned := r.Answers[name]
		switch {
		case canned:
			programs[name] = cannedProgram{answer: answer}
		case programs[name] == nil || named.Hook.Serving() == v1alpha1.WebhookBackend:
			programs[name] = webhookProgram{hook: name}
		}
	}
	has := strings.Join(slices.Sorted(maps.Keys(programs)), ", ")
	if r.Hook != "" && programs[r.Hook] == nil {
		r.Warn(fmt.Sprintf("--hook %s: the definition has no such hook, so that nothing is asked: it has %s", r.Hook, has))
	}
	for name := range r.Answers {
		if programs[name] == nil {
			return nil, inputError("--answer %s: the definition has no such hook: it has %s", name, has)
		}
	}
	return programs, nil
}

// remove deletes objects as a user would.
func (r *renderer) remove(ctx context.Context, objects []*unstructured.Unstructured) error {
	session := r.stage.session
	return session.Edit(ctx, func(client dynamic.Interface) error {
		for _, object := range objects {
			at, err := session.Cluster().Endpoint(client, object)
			if err != nil {
				return err
			}
			if err := at.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Matches reports whether an object has a name, which may begin with the kind, or the kind and the namespace, each with a slash. Each part
// may be a pattern of path.Match.
func Matches(name string, object *unstructured.Unstructured) bool {
	has := []string{object.GetKind(), object.GetNamespace(), object.GetName()}
	wanted := strings.Split(name, "/")
	switch len(wanted) {
	case 1:
		has = has[2:]
	case 2:
		has = []string{has[0], has[2]}
	}
	if len(wanted) != len(has) {
		return false
	}
	for i, pattern := range wanted {
		if matched, err := path.Match(pattern, has[i]); err != nil || !matched {
			return false
		}
	}
	return true
}
