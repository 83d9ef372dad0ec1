package definition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Planner turns definitions into plans. It asks nobody but Find.
type Planner struct {
	// Find gives a resource by apiVersion and plural, or a *discovery.NotFoundError.
	Find func(apiVersion, resource string) (discovery.Resource, error)
	// RevisionNamespace is where cluster-scoped parents have their ControllerRevisions.
	RevisionNamespace string
	// Strategy is how children are written where a definition does not say. Empty
	// means dynamic apply.
	Strategy v1alpha1.ApplyStrategy
	// FieldManager begins the names under which definitions apply on the server's side.
	FieldManager string
}

// Plan is what a definition asks for, with its resources found. Its Config lacks
// what only a running definition has: programs, timeouts, and who counts parents.
type Plan struct {
	Config   parent.Config
	Hooks    []v1alpha1.NamedHook
	Settings v1alpha1.DefinitionSettings

	// unchecked are the rules for children that are rolled out whether healthy or not.
	unchecked []variant.ChildRule

	uid        types.UID
	generation int64
	name, kind string
}

// Refusal is why a definition is not accepted.
type Refusal struct {
	// Reason is that of the condition Accepted.
	Reason string
	Err    error
}

// Reasons of the condition Accepted.
const (
	reasonAccepted = "Accepted"
	reasonInvalid  = "Invalid"
	reasonNotFound = "ResourceNotFound"
)

// Plan resolves a definition of any kind.
func (p Planner) Plan(object *unstructured.Unstructured) (*Plan, *Refusal) {
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
	if err != nil {
		return nil, refusalOf(err)
	}
	if err := plan.backed(); err != nil {
		return nil, refusalOf(err)
	}
	plan.uid = object.GetUID()
	plan.generation, plan.kind, plan.name = object.GetGeneration(), object.GetKind(), object.GetName()
	plan.Config.Definition = plan.kind + " " + plan.name
	plan.Config.Managers = p.managers(plan)
	plan.Config.ResyncPeriod = plan.Settings.ResyncPeriod()
	return plan, nil
}

// managers are the names under which a definition's children are applied.
func (p Planner) managers(plan *Plan) serverside.Managers {
	kind := strings.ToLower(strings.TrimSuffix(plan.kind, "Controller"))
	return serverside.Managers{Own: serverside.ManagerName(p.FieldManager, kind, plan.name), Former: append(parent.FormerManagers(), p.FieldManager)}
}

func refusalOf(err error) *Refusal {
	var missing *discovery.NotFoundError
	switch {
	case errors.As(err, &missing):
		return &Refusal{reasonNotFound, err}
	default:
		return &Refusal{reasonInvalid, err}
	}
}

// equal says whether both would run the same. The spec is the same for one
// generation of one object, so that only the resources are left to compare.
func (p *Plan) equal(other *Plan) bool {
	return p.uid == other.uid && p.generation == other.generation && slices.Equal(p.resources(), other.resources())
}

func (p *Plan) resources() []discovery.Resource {
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
	if p.Config.Revisions != nil {
		all = append(all, *p.Config.Revisions)
	}
	return all
}

// backed says which hook has nothing that could answer it. The CRD refuses such
// a definition; it may have been stored before.
func (p *Plan) backed() error {
	for _, named := range p.Hooks {
		if named.Hook.Webhook == nil && named.Hook.Script == nil {
			return fmt.Errorf("spec.hooks.%s: needs a webhook or a script; to turn it off, leave the whole hook out", named.Name)
		}
	}
	return nil
}

// childRule is a rule for children, of whatever kind of definition.
type childRule struct {
	v1alpha1.ResourceRule
	v1alpha1.ApplySettings
	method v1alpha1.ChildUpdateMethod
}

// children resolves rules for children, of which the last for a kind counts.
func (p Planner) children(field string, settings v1alpha1.DefinitionSettings, count int, rule func(int) childRule) ([]variant.ChildRule, error) {
	var rules []variant.ChildRule
	for i := range count {
		given := rule(i)
		resource, err := p.Find(given.APIVersion, given.Resource)
		if err != nil {
			return nil, fmt.Errorf("spec.%s[%d]: %w", field, i, err)
		}
		next := variant.ChildRule{
			Resource: resource, Method: apply.Method(given.method.AtOnce()),
			Strategy: apply.Strategy(given.Strategy(settings.ApplyStrategy, p.Strategy)), Force: given.Force(),
		}
		at := slices.IndexFunc(rules, func(r variant.ChildRule) bool { return r.GroupResource() == next.GroupResource() })
		if at >= 0 && rules[at].Kind != next.Kind {
			return nil, fmt.Errorf("spec.%s[%d]: %s is declared in another version too: one object would be two children: keep one of them", field, i, resource.GroupResource())
		}
		if at < 0 {
			rules = append(rules, next)
		} else {
			rules[at] = next
		}
	}
	return rules, nil
}

// customize gives how the customize hook is asked, or nil without one.
func (p Planner) customize(hooks []v1alpha1.NamedHook, shown map[string]any) *parent.Customize {
	for _, named := range hooks {
		if named.Name == v1alpha1.CustomizeHook {
			return &parent.Customize{
				Definition: shown, Find: p.Find,
				OwnNamespace:  named.Hook.WireVersion() == v1alpha1.HookV1,
				RefuseUnknown: named.Hook.ResponseMode() == v1alpha1.ResponseStrict,
				Unwrap:        variant.UnwrapFor(named.Hook),
			}
		}
	}
	return nil
}

// shownToHooks is the definition as requests carry it: with an empty status, so
// that what the host tells about a definition is not an input of its hooks.
func shownToHooks(object *unstructured.Unstructured) map[string]any {
	shown := maps.Clone(object.Object)
	shown["status"] = map[string]any{}
	return shown
}
