package check

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// Reasons of findings that are no reasons of the host.
const (
	reasonInvalid           = "Invalid"
	reasonTestsFailed       = scripts.ReasonTestsFailed
	reasonUnknownResource   = "UnknownResource"
	reasonHookNotCalled     = "HookNotCalled"
	reasonNoSelector        = "NoSelector"
	reasonScriptWarning     = "ScriptWarning"
	reasonUnusedFile        = "UnusedFile"
	reasonTextDirection     = "TextDirection"
	reasonUnusedImport      = "UnusedImport"
	reasonUnusedLibraries   = "UnusedLibraries"
	reasonUnusedScripts     = "UnusedScripts"
	reasonSchemaMismatch    = "SchemaMismatch"
	reasonUnusedParameters  = "UnusedParameters"
	reasonSecretsUndeclared = "SecretsNotDeclared"
	reasonOutdatedCRD       = "OutdatedCRD"
)

// definitionCheck is the check of one definition.
type definitionCheck struct {
	*run
	object *document.Object
	name   string
	// sources are those of its scripts, if it has any, and tree is what they come to if they load.
	sources []scripts.Source
	tree    *tree
}

func (d *definitionCheck) reportf(severity Severity, reason, field, format string, args ...any) {
	d.add(Finding{Severity: severity, Reason: reason, Location: d.object.Place(field), Object: d.name, Message: fmt.Sprintf(format, args...)})
}

func (d *definitionCheck) check(ctx context.Context) error {
	d.checkResources()
	plan, refusal := planOf(d.resources, d.object)
	if refusal != nil {
		d.refuse()
		if !d.hasProblem(d.object) {
			d.reportf(Error, refusal.Reason, fieldOf(refusal.Err), "%v", refusal.Err)
		}
		return nil
	}
	d.checkPlan(plan)
	if err := d.checkWebhooks(ctx, plan); err != nil {
		return err
	}
	spec, err := plan.Scripts()
	d.use(spec)
	if err == nil && len(spec.Hooks) == 0 {
		return ctx.Err()
	}
	d.sources = spec.Sources
	var compiled *scripts.Compiled
	if err == nil {
		spec.Outline = true
		compiled, err = scripts.Compile(ctx, d.registry, spec, d.set.Contents)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if !d.hasProblem(d.object) {
			d.reportf(Error, reasonInvalid, fieldOf(err), "%v", err)
		}
		return nil
	}
	d.checkScripts(ctx, spec, compiled)
	return nil
}

// planOf returns the plan of a definition. A resource of which nothing is known is assumed to exist.
func planOf(known *manifest.KnownResources, object *document.Object) (*plan.Plan, *plan.Refusal) {
	planner := plan.Planner{Find: known.FindOrAssume, RevisionNamespace: "default", FieldManager: "libretto"}
	return planner.Plan(object.Unstructured)
}

// Scripts returns the scripts of a definition of a set, as the host reads them from it.
func Scripts(set *manifest.Set, object *document.Object) (scripts.Spec, error) {
	plan, refusal := planOf(set.Known(), object)
	if refusal != nil {
		return scripts.Spec{}, refusal.Err
	}
	return plan.Scripts()
}

// Locator returns where a place in the scripts of a definition is in the author's files, and whether it is known.
type Locator func(engines.Location) (engines.Location, bool)

// NewLocator returns that of a definition of a set.
func NewLocator(set *manifest.Set, registry *engines.Registry, object *document.Object) Locator {
	spec, _ := Scripts(set, object) // One that is refused has none.
	origins := scripts.Origins(registry, spec, set.Contents)
	return func(at engines.Location) (engines.Location, bool) {
		origin, known := origins[at.File]
		return set.Locate(object, spec, origin, at), known
	}
}

// fieldAtStart matches the path of a field at the start of a message.
var fieldAtStart = regexp.MustCompile(
	`^(?:spec\.)?((?:hooks|parentResource|childResources|inputResources|outputResources|resources|attachments|scriptSources)\b[^\s:]*): `)

// fieldOf returns the field that an error is about.
func fieldOf(err error) string {
	if match := fieldAtStart.FindStringSubmatch(err.Error()); match != nil {
		return "spec." + match[1]
	}
	return "spec"
}

// checkPlan reports what is suspicious about an accepted definition.
func (d *definitionCheck) checkPlan(plan *plan.Plan) {
	for _, w := range plan.Warnings() {
		d.add(Finding{
			Severity: Warning, Reason: w.Reason, Location: d.object.Place(d.fieldOfWarning(w)), Object: d.name, isOfPlan: true,
			Message: strings.TrimPrefix(w.Message, "childResources: "),
		})
	}
	for _, name := range []string{"preUpdateChild", "postUpdateChild"} {
		if _, given, _ := unstructured.NestedMap(d.object.Object, "spec", "hooks", name); given {
			d.reportf(Warning, reasonHookNotCalled, "spec.hooks."+name, "the hook %s is never called, here as in metacontroller: leave it out", name)
		}
	}
	d.checkSelector(plan)
}

// checkResources reports the resources that do not exist, and those of which nothing is known.
func (d *definitionCheck) checkResources() {
	for _, rule := range manifest.ResourceRules(d.object) {
		_, known, err := d.resources.Find(rule.APIVersion, rule.Resource)
		switch {
		case err != nil && d.hasProblem(d.object) && rule.Resource != strings.ToLower(rule.Resource):
			// The schema says so too.
		case err != nil:
			d.reportf(Error, plan.ReasonResourceNotFound, rule.Field, "%s: %v", rule.Field, err)
		case !known:
			advice := "give it with -f"
			if elsewhere := d.resources.Elsewhere(rule.APIVersion, rule.Resource); elsewhere != "" {
				advice += ", or correct apiVersion: " + elsewhere
			}
			d.reportf(Note, reasonUnknownResource, rule.Field,
				"the CustomResourceDefinition of %s in %s is not among the files: nothing is known about it, "+
					"and it is taken to be namespaced, with a status: %s",
				rule.Resource, rule.APIVersion, advice)
		}
	}
}

// fieldOfWarning returns the field that a warning of a plan is about.
func (d *definitionCheck) fieldOfWarning(w plan.Warning) string {
	if w.Reason == plan.ReasonNoScriptRollout {
		return "spec.parentResource.revisionHistory.scriptChanges"
	}
	if w.Reason == plan.ReasonNoStatusSubresource {
		return "spec.parentResource"
	}
	rules, _, _ := unstructured.NestedSlice(d.object.Object, "spec", "childResources")
	for i, rule := range rules {
		fields, _ := rule.(map[string]any)
		apiVersion, _ := fields["apiVersion"].(string)
		resource, _ := fields["resource"].(string)
		found, err := d.resources.FindOrAssume(apiVersion, resource)
		if err == nil && strings.Contains(w.Message, " of "+found.GroupResource().String()+" ") {
			return fmt.Sprintf("spec.childResources[%d].updateStrategy", i)
		}
	}
	return "spec.childResources"
}

// checkSelector reports a definition whose parents can have no selector.
func (d *definitionCheck) checkSelector(plan *plan.Plan) {
	generate, _, _ := unstructured.NestedBool(d.object.Object, "spec", "generateSelector")
	if d.object.GetKind() != v1alpha1.CompositeControllerKind || generate || len(plan.Config.Parents) == 0 {
		return
	}
	parents := plan.Config.Parents[0].Resource
	if prunesSelector(d.set, parents.Kind) {
		d.reportf(Error, reasonNoSelector, "spec.parentResource",
			"%s have no spec.selector in their CustomResourceDefinition, so that no parent can tell its children: set generateSelector: true, "+
				"or add the field", parents.GroupResource())
	}
}

// checkWebhooks compiles the webhooks. It calls none.
func (d *definitionCheck) checkWebhooks(ctx context.Context, plan *plan.Plan) error {
	engine, err := d.registry.ByName("webhook")
	if err != nil {
		return err
	}
	for _, hook := range plan.Hooks {
		if hook.Hook.Webhook == nil || d.hasProblem(d.object) {
			continue
		}
		endpoint := &engines.Endpoint{URL: hook.Hook.Webhook.Address()}
		if _, err := engine.Compile(ctx, engines.Source{Hook: string(hook.Name), Endpoint: endpoint}); err != nil {
			d.reportf(Error, reasonInvalid, fmt.Sprintf("spec.hooks.%s.webhook", hook.Name), "hook %s: %v", hook.Name, err)
		}
	}
	return nil
}

// checkScripts reports what does not load, and what is suspicious about the rest.
func (d *definitionCheck) checkScripts(ctx context.Context, spec scripts.Spec, compiled *scripts.Compiled) {
	d.mu.Lock()
	d.scripts += len(spec.Hooks)
	d.mu.Unlock()
	for _, p := range compiled.Problems {
		d.addProblem(spec, p, Error, p.Reason())
	}
	for _, p := range compiled.Warnings {
		d.addProblem(spec, p, Warning, reasonScriptWarning)
	}
	d.checkTests(ctx, spec, compiled)
	if len(compiled.Problems) == 0 {
		d.tree = newTree(d.registry, spec, compiled)
		d.checkTree(d.tree)
		d.checkSchemas(spec, compiled)
	}
}

// addProblem reports a problem with scripts at its place in the files.
func (d *definitionCheck) addProblem(spec scripts.Spec, p scripts.Problem, severity Severity, reason string) {
	f := Finding{Severity: severity, Reason: reason, Object: d.name, Message: p.Err.Error()}
	var at engines.Location
	var e *engines.Error
	switch {
	case errors.As(p.Err, &e):
		at, f.Message, f.Detail = e.Location, e.Message+d.set.LeftOut(p.Origin, e.Message), e.Stack
		if at.File == "" && p.Origin.Hook == "" {
			f.Message = fmt.Sprintf("%s: %s", p.Origin, f.Message)
		}
	case errors.Is(p.Err, scripts.ErrMissing) && p.Origin.Directory == "":
		f.Message = fmt.Sprintf("%s is not among the files: %s", p.Origin, d.hintAt(p.Origin.ConfigMap))
	case errors.Is(p.Err, scripts.ErrMissing):
		f.Message = fmt.Sprintf("%s: there is no such directory below --scripts-dir", p.Origin)
	default:
		f.Message = fmt.Sprintf("%s: %v", p.Origin, p.Err)
	}
	f.Message, _, _ = strings.Cut(f.Message, ": it is tried again every") // As the host does.
	f.Location = d.set.Locate(d.object, spec, p.Origin, at)
	if p.Origin.Hook != "" {
		f.Message = fmt.Sprintf("hook %s: %s", p.Origin.Hook, f.Message)
	}
	d.add(f)
}

// hashSuffix is what kustomize puts behind the names of ConfigMaps that it generates.
var hashSuffix = regexp.MustCompile(`^-[a-z0-9]{10}$`)

// hintAt returns what may be meant by a ConfigMap that is not there.
func (d *definitionCheck) hintAt(name types.NamespacedName) string {
	for _, other := range d.set.ConfigMaps() {
		suffix, ok := strings.CutPrefix(other.Name, name.Name)
		switch {
		case ok && other.Namespace == name.Namespace && hashSuffix.MatchString(suffix):
			return fmt.Sprintf("kustomize calls it %s: give its generator the option disableNameSuffixHash: true, "+
				"or add Libretto's component manifests/component, which carries that name into definitions", other.Name)
		case other.Name == name.Name:
			return fmt.Sprintf("there is ConfigMap %s: correct the namespace (one that has none is in that of -n)", other)
		}
	}
	return fmt.Sprintf("give it with -f, or lay a directory in its place with --scripts %s=DIRECTORY", name)
}
