// Package plan resolves definitions (CompositeController, DecoratorController, MapController): a Plan is what a host needs to run one,
// and what offline commands read of it. It makes no request, but asks which resources are served.
package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/rollout/analysis"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Planner resolves definitions. It has no dependency but Find.
type Planner struct {
	// Find returns a resource by apiVersion and plural, or a *discovery.NotFoundError.
	Find func(apiVersion, resource string) (discovery.Resource, error)
	// RevisionNamespace is the namespace of the ControllerRevisions of cluster-scoped parents, for definitions without an account.
	RevisionNamespace string
	// Strategy is the apply strategy of definitions that set none. It defaults to dynamic apply.
	Strategy v1alpha1.ApplyStrategy
	// FieldManager is the prefix of the field managers of definitions in server-side apply.
	FieldManager string
	// RequireAccount refuses definitions without an account of their own.
	RequireAccount bool
}

// Plan is a resolved definition. Its Config lacks what only a running definition has:
// programs, timeouts and the function to call when the number of parents changes.
type Plan struct {
	Config   parent.Config
	Hooks    []v1alpha1.NamedHook
	Settings v1alpha1.DefinitionSettings

	// unchecked are the rules with a rolling update but without status checks.
	unchecked []variant.ChildRule
	// rollsNoScripts is set if edits of scripts are to be rolled out and can't be.
	rollsNoScripts bool
	// writesNoStatus is set if the status of parents is left alone on purpose.
	writesNoStatus bool

	// annotations are the warnings about the definition's annotations, which change without a new plan.
	annotations []Warning

	UID types.UID
	// Generation is that of the newest spec that runs in this way. Only reconciles read and write it.
	Generation int64
	// Kind is that of the definition in both groups of v1alpha1. Namespace is empty in the one of metacontroller.
	Kind, Namespace, Name string
	// object is the definition as it is in the cluster, without what is no input of hooks.
	object *unstructured.Unstructured
}

// Refusal is why a definition is not accepted.
type Refusal struct {
	// Reason is the reason of the condition Accepted.
	Reason string
	Err    error
}

// Reasons of refusals.
const (
	ReasonInvalid          = "Invalid"
	ReasonResourceNotFound = "ResourceNotFound"
)

// errNoAccount refuses a definition without an account. CustomResourceDefinitions of metacontroller drop the field.
var errNoAccount = errors.New("spec.serviceAccountRef: is required by --require-service-account: name the ServiceAccount that the definition " +
	"works as; if it is in the manifest, apply libretto's CustomResourceDefinitions, because others drop it")

// Plan resolves a definition of any kind.
func (p Planner) Plan(object *unstructured.Unstructured) (*Plan, *Refusal) {
	_, warnings := LogLevel(object)
	if _, err := ScriptRollout(object); err != nil {
		return nil, refusalOf(err)
	}
	object = asRequested(v1alpha1.SetNamespaces(object))
	var plan *Plan
	var err error
	switch object.GetKind() {
	case v1alpha1.CompositeControllerKind:
		plan, err = p.composite(object)
	case v1alpha1.DecoratorControllerKind:
		plan, err = p.decorator(object)
	case v1alpha1.MapControllerKind:
		plan, err = p.mapping(object)
	default:
		err = fmt.Errorf("%s is no kind of definition", object.GetKind())
	}
	if err == nil && p.RequireAccount && plan.Settings.ServiceAccountRef == nil {
		err = errNoAccount
	}
	if err == nil {
		err = plan.checkBackends()
	}
	if err != nil {
		return nil, refusalOf(err)
	}
	if err := p.complete(plan, object); err != nil {
		return nil, refusalOf(err)
	}
	plan.annotations = warnings
	return plan, nil
}

// complete sets what is the same for all kinds of definition.
func (p Planner) complete(plan *Plan, object *unstructured.Unstructured) error {
	plan.UID, plan.Generation = object.GetUID(), object.GetGeneration()
	plan.Kind, plan.Namespace, plan.Name, plan.object = object.GetKind(), object.GetNamespace(), object.GetName(), object
	config := &plan.Config
	config.Definition = plan.Key().String()
	config.Account = accountOf(plan.Settings)
	if err := plan.checkNamespace(); err != nil {
		return err
	}
	config.Managers = p.managers(plan)
	config.ResyncPeriod = plan.Settings.ResyncPeriod()
	config.Finalizing.Name = v1alpha1.FinalizerOf(plan.Kind, v1alpha1.UniqueName(object))
	finalize := hookNamed(plan.Hooks, v1alpha1.FinalizeHook)
	config.Finalizing.Enabled = finalize != nil
	config.Finalizing.Shared = finalize != nil && finalize.Webhook != nil &&
		equality.Semantic.DeepEqual(finalize, hookNamed(plan.Hooks, v1alpha1.SyncHook))
	hook := hookNamed(plan.Hooks, v1alpha1.CustomizeHook)
	limits, named, err := p.relatedRules(plan, hook)
	if err != nil || hook == nil && named == nil {
		return err
	}
	config.Customize = &parent.Customize{
		Definition: object.Object, Find: p.Find, Limits: limits, Named: named, Absent: hook == nil, Namespaced: plan.Namespace != "",
	}
	if hook != nil {
		config.Customize.OwnNamespace = hook.WireVersion() == v1alpha1.HookV1
		config.Customize.RefuseUnknown = hook.ResponseMode() == v1alpha1.ResponseStrict
		config.Customize.Unwrap = variant.UnwrapFor(hook)
	}
	return nil
}

// accountOf returns the account that a definition names, or the host's.
func accountOf(settings v1alpha1.DefinitionSettings) identity.Account {
	if ref := settings.ServiceAccountRef; ref != nil {
		return identity.Account{Namespace: ref.Namespace, Name: ref.Name}
	}
	return identity.Account{}
}

// Spec returns spec of the definition, without what is for the host alone. It is not to be changed.
func (p *Plan) Spec() map[string]any { return jsonvalue.ObjectIn(p.object.Object, "spec") }

// Key returns the key of the definition.
func (p *Plan) Key() controller.Key { return apply.KeyOf(p.object) }

// hookNamed returns the hook of a name, or nil.
func hookNamed(hooks []v1alpha1.NamedHook, name v1alpha1.HookName) *v1alpha1.Hook {
	for _, named := range hooks {
		if named.Name == name {
			return named.Hook
		}
	}
	return nil
}

// ScriptRollout returns spec.scriptRollout of a definition, or nil.
func ScriptRollout(object *unstructured.Unstructured) (*v1alpha1.ScriptRollout, error) {
	fields, found, err := unstructured.NestedMap(object.Object, "spec", "scriptRollout")
	if err != nil || !found {
		return nil, err
	}
	spec := new(v1alpha1.ScriptRollout)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, spec); err != nil {
		return nil, fmt.Errorf("spec.scriptRollout: %w", err)
	}
	if err := rollout.Validate(spec); err != nil {
		return spec, err
	}
	return spec, analysis.Validate(spec)
}

// DeletionGuard returns spec.deletionGuard of a definition, or nil. The schema lets nothing in that can't be read.
func DeletionGuard(object *unstructured.Unstructured) *v1alpha1.DeletionGuard {
	set, _ := decode[struct {
		Spec struct {
			DeletionGuard *v1alpha1.DeletionGuard `json:"deletionGuard"`
		} `json:"spec"`
	}](object)
	return set.Spec.DeletionGuard
}

// asRequested returns the definition in the form of requests. Its status is empty, and its log level, spec.scriptRollout and which
// revision is approved are left out, so that what is for the host is not an input of the hooks.
func asRequested(object *unstructured.Unstructured) *unstructured.Unstructured {
	fields := maps.Clone(object.Object)
	fields["status"] = map[string]any{}
	withoutSettings(fields)
	return &unstructured.Unstructured{Object: fields}
}

// decode converts an object to a kind of definition.
func decode[T any](object *unstructured.Unstructured) (*T, error) {
	definition := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return new(T), err
	}
	return definition, nil
}

// ShortKind returns the kind as names of objects have it, such as composite.
func (p *Plan) ShortKind() string { return strings.ToLower(strings.TrimSuffix(p.Kind, "Controller")) }

// managers returns the field managers of a definition.
func (p Planner) managers(plan *Plan) serverside.Managers {
	return serverside.Managers{
		Own:    serverside.ManagerName(p.FieldManager, plan.ShortKind(), v1alpha1.UniqueName(plan.object)),
		Former: append(parent.FormerManagers(), p.FieldManager),
	}
}

func refusalOf(err error) *Refusal {
	var missing *discovery.NotFoundError
	switch {
	case errors.As(err, &missing):
		return &Refusal{Reason: ReasonResourceNotFound, Err: err}
	default:
		return &Refusal{Reason: ReasonInvalid, Err: err}
	}
}

// Equal reports whether both plans would run in the same way. A generation of an object has one spec.
func (p *Plan) Equal(other *Plan) bool {
	return p.UID == other.UID && slices.Equal(p.Resources(), other.Resources()) &&
		(p.Generation == other.Generation || equality.Semantic.DeepEqual(p.object.Object["spec"], other.object.Object["spec"]))
}

// Resources returns those of parents, children, inputs and ControllerRevisions.
func (p *Plan) Resources() []discovery.Resource {
	var all []discovery.Resource
	for _, rule := range p.Config.Parents {
		all = append(all, rule.Resource)
	}
	for _, rule := range p.Config.Children {
		all = append(all, rule.Resource)
	}
	for _, rule := range p.Config.Inputs {
		all = append(all, rule.Resource)
	}
	if p.Config.Revisions.Resource != nil {
		all = append(all, *p.Config.Revisions.Resource)
	}
	return all
}

// checkBackends returns an error for a hook without webhook and script. The CRD rejects such a
// definition, but it may have been stored earlier.
func (p *Plan) checkBackends() error {
	for _, named := range p.Hooks {
		if named.Hook.Webhook == nil && named.Hook.Script == nil {
			return fmt.Errorf("spec.hooks.%s: needs a webhook or a script; to turn it off, leave the whole hook out", named.Name)
		}
	}
	return nil
}

// childRule is a rule for children of any kind of definition.
type childRule[R any] interface {
	*R
	Names() (apiVersion, resource string)
	UpdateMethod() v1alpha1.ChildUpdateMethod
	Strategy(definition, host v1alpha1.ApplyStrategy) v1alpha1.ApplyStrategy
	Force() bool
	Ignored() []string
	Orphan(definition v1alpha1.DeletionPolicy) bool
}

// childRules resolves rules for children. A resource may be listed once, in one version: one object would be two children.
func childRules[R any, P childRule[R]](
	p Planner, field string, given []R, settings v1alpha1.DefinitionSettings,
) ([]variant.ChildRule, error) {
	var rules []variant.ChildRule
	for i := range given {
		rule := P(&given[i])
		resource, err := p.Find(rule.Names())
		if err != nil {
			return nil, fmt.Errorf("spec.%s[%d]: %w", field, i, err)
		}
		if first := slices.IndexFunc(rules, func(r variant.ChildRule) bool { return r.GroupResource() == resource.GroupResource() }); first >= 0 {
			return nil, fmt.Errorf("spec.%s[%d]: %s are listed at spec.%s[%d] already, in version %s: leave one of the two entries",
				field, i, resource.GroupResource(), field, first, rules[first].Kind.Version)
		}
		method, orphan := apply.Method(rule.UpdateMethod().WithoutRolling()), rule.Orphan(settings.DeletionPolicy)
		if orphan && method == apply.Recreate {
			return nil, fmt.Errorf("spec.%s[%d]: %s are not deleted by deletionPolicy Orphan, and are by update method %s: "+
				"choose Delete, or InPlace", field, i, resource.GroupResource(), rule.UpdateMethod())
		}
		rules = append(rules, variant.ChildRule{
			Resource: resource, Method: method, Orphan: orphan,
			Strategy: apply.Strategy(rule.Strategy(settings.ApplyStrategy, p.Strategy)), Force: rule.Force(),
			Ignored: jsonvalue.SplitPaths(rule.Ignored()),
		})
	}
	return rules, nil
}
