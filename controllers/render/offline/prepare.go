package offline

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/render"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/controllers/render/schema"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// stage is a session with the objects of the files.
type stage struct {
	session *render.Session // Nil without parents.
	plan    *definition.Plan
	schemas *openapi.Source
	parents []*unstructured.Unstructured
	inputs  []*unstructured.Unstructured
}

// prepare makes the session, if there are parents.
func (r *renderer) prepare(ctx context.Context) error {
	resources, objects, err := r.cluster()
	if err != nil {
		return err
	}
	s := &stage{schemas: openapi.New(openapi.Config{
		API: schema.Documents(resources), Interval: time.Hour, Timeout: time.Minute, Clock: r.clock, Log: logr.Discard(),
	})}
	planner := definition.Planner{
		Find: memcluster.New(r.clock, resources...).Find, RevisionNamespace: r.HostNamespace, FieldManager: "libretto",
	}
	plan, refusal := planner.Plan(r.definition.Unstructured)
	if refusal != nil {
		return r.refused(refusal)
	}
	r.serveInVersions(plan, objects)
	r.stage, s.plan, s.parents = s, plan, r.parentsAmong(plan, objects)
	if len(s.parents) == 0 {
		return nil
	}
	for _, object := range objects {
		if slices.ContainsFunc(plan.Config.Inputs, func(rule variant.InputRule) bool { return rule.Kind == object.GroupVersionKind() }) {
			s.inputs = append(s.inputs, object)
		}
	}
	programs, err := r.programs(ctx, plan)
	if err != nil {
		return err
	}
	s.session, err = render.Run(ctx, render.Input{
		Definition: stored(r.definition.Unstructured, r.clock.Now()), Objects: objects, Resources: resources, Programs: programs, Clock: r.clock,
		RevisionNamespace: r.HostNamespace, Schemas: s.schemas, Log: logr.Discard(),
	})
	return err
}

// stored returns a definition with the metadata that an API server sets, unless it has any.
func stored(given *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	definition := given.DeepCopy()
	if definition.GetUID() == "" {
		definition.SetUID(types.UID(strings.ToLower(definition.GetKind()) + "." + definition.GetName()))
		definition.SetResourceVersion("1")
		definition.SetGeneration(1)
		definition.SetCreationTimestamp(metav1.NewTime(now))
	}
	return definition
}

// refused returns the error for a definition that is not accepted.
func (r *renderer) refused(refusal *definition.Refusal) error {
	if refusal.Reason == "ResourceNotFound" {
		return inputError("%w (give it with -f)", refusal.Err)
	}
	return &InputError{refusal.Err}
}

// cluster returns the resources and objects of the cluster: those of the files, and a Namespace for each namespace.
func (r *renderer) cluster() ([]memcluster.Resource, []*unstructured.Unstructured, error) {
	resources, err := schema.BuiltIn()
	if err != nil {
		return nil, nil, err
	}
	resources = append(resources, r.Set.Resources()...)
	namespaces := map[string]*unstructured.Unstructured{}
	var objects []*unstructured.Unstructured
	for _, given := range r.Set.Objects {
		object := given.DeepCopy()
		i := slices.IndexFunc(resources, func(known memcluster.Resource) bool { return known.Kind == object.GroupVersionKind() })
		if i < 0 {
			resources = append(resources, guess(object))
			i = len(resources) - 1
			r.Warn(fmt.Sprintf("%s of %s: nothing is validated and no defaults are known: give its CustomResourceDefinition with -f",
				object.GetKind(), object.GetAPIVersion()))
		}
		if resources[i].Namespaced && object.GetNamespace() == "" {
			object.SetNamespace(r.Namespace)
		}
		if object.GroupVersionKind() == namespaceKind {
			namespaces[object.GetName()] = object
		}
		if object.GetName() == "" {
			object.SetName(object.GetGenerateName() + "0")
		}
		objects = append(objects, object)
	}
	return resources, withNamespaces(objects, namespaces), nil
}

var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// withNamespaces adds the Namespaces that are missing, and the label that the API server sets.
func withNamespaces(objects []*unstructured.Unstructured, given map[string]*unstructured.Unstructured) []*unstructured.Unstructured {
	missing := map[string]bool{}
	for _, object := range objects {
		if namespace := object.GetNamespace(); namespace != "" && given[namespace] == nil {
			missing[namespace] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		namespace := &unstructured.Unstructured{}
		namespace.SetGroupVersionKind(namespaceKind)
		namespace.SetName(name)
		given[name] = namespace
		objects = append(objects, namespace)
	}
	for name, namespace := range given {
		labels := namespace.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["kubernetes.io/metadata.name"] = name
		namespace.SetLabels(labels)
		// A Namespace is active as soon as it is created.
		_ = unstructured.SetNestedField(namespace.Object, "Active", "status", "phase")
	}
	return objects
}

// guess returns the resource of an object whose CustomResourceDefinition is not known.
func guess(object *unstructured.Unstructured) memcluster.Resource {
	plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	// The apiVersion of an object was read before.
	resource, _ := memcluster.Custom(object.GetAPIVersion(), object.GetKind(), plural.Resource, true, true)
	return resource
}

// serveInVersions gives objects the versions in which the definition names their kinds, as for a CustomResourceDefinition whose conversion
// strategy is None.
func (r *renderer) serveInVersions(plan *definition.Plan, objects []*unstructured.Unstructured) {
	resources := plan.Resources()
	for _, object := range objects {
		given := object.GroupVersionKind()
		for _, resource := range resources {
			kind := resource.Kind
			if kind.GroupKind() == given.GroupKind() && kind.Version != given.Version {
				r.Warn(fmt.Sprintf("%s of %s is served as %s, and nothing is converted", given.Kind, given.GroupVersion(), kind.GroupVersion()))
				object.SetGroupVersionKind(kind)
			}
		}
	}
}

// parentsAmong returns the parents among the objects.
func (r *renderer) parentsAmong(plan *definition.Plan, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var parents []*unstructured.Unstructured
	for _, object := range objects {
		for _, rule := range plan.Config.Parents {
			if rule.Kind == object.GroupVersionKind() && rule.Selects(object) && r.selected(object) {
				parents = append(parents, object)
			}
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
	for _, rule := range r.stage.plan.Config.Parents {
		kinds = append(kinds, fmt.Sprintf("parents of kind %s of %s", rule.Kind.Kind, rule.Kind.GroupVersion()))
	}
	return kinds
}

// programs returns the program of each hook: a canned answer, a script, or for a webhook one that fails.
func (r *renderer) programs(ctx context.Context, plan *definition.Plan) (map[string]engines.Program, error) {
	spec, err := plan.Scripts()
	if err != nil {
		return nil, &InputError{err}
	}
	programs, warnings, err := r.Set.Programs(ctx, r.Engines, r.definition, spec)
	for _, warning := range warnings {
		r.Warn(warning.Error())
	}
	if err != nil {
		return nil, &InputError{err}
	}
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
	for name := range r.Answers {
		if programs[name] == nil {
			has := strings.Join(slices.Sorted(maps.Keys(programs)), ", ")
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
			at, err := render.Endpoint(session.Cluster(), client, object)
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
