package scripttest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts"
)

// prepare reads what cases run on, once.
func (r *run) prepare(ctx context.Context) error {
	if r.prepared {
		return nil
	}
	resources, err := r.readResources(ctx)
	r.resources, r.prepared = resources, err == nil
	return err
}

// subject returns what the cases of a file run on.
func (r *run) subject(file string) *controllertest.Subject {
	return &controllertest.Subject{
		Definition: r.text.Definition, Programs: r.inBackground(r.text.Programs),
		Resources: r.resources, Compile: r.compile, MaxBytes: maxCaseBytes,
		ReadFile: func(name string) ([]byte, error) { return r.readFile(file, name) },
	}
}

// compile returns the programs of a definition that a case has changed.
func (r *run) compile(ctx context.Context, object *unstructured.Unstructured) (map[string]engines.Program, error) {
	plan, err := r.plan(object)
	if err != nil {
		return nil, err
	}
	spec, err := plan.Scripts()
	if err != nil {
		return nil, err
	}
	spec.Definition += " (tests)" // Its loads take turns with those of the definition itself.
	for name, hook := range spec.Hooks {
		hook.MemoryBytes = min(hook.MemoryBytes, r.mostMemory()) // Who writes the scripts may not be who bounds them.
		spec.Hooks[name] = hook
	}
	programs, err := scripts.CompileText(ctx, r.Scripts, spec, r.text)
	// As for the hooks of a definition, which are loaded again then.
	if kind := engines.KindOf(err); kind == engines.Timeout || kind == engines.Busy {
		r.starved.Store(true)
	}
	return r.inBackground(programs), err
}

// mostMemory returns the most that a hook of the definition in the cluster may use.
func (r *run) mostMemory() int64 {
	var most int64
	for _, hook := range r.text.Spec.Hooks {
		most = max(most, hook.MemoryBytes)
	}
	return cmp.Or(most, v1alpha1.DefaultScriptMemory)
}

// plan resolves a definition.
func (r *run) plan(object *unstructured.Unstructured) (*plan.Plan, error) {
	planner := plan.Planner{Find: r.Find, RevisionNamespace: r.Namespace, FieldManager: "libretto"}
	plan, refusal := planner.Plan(object)
	if refusal != nil {
		return nil, refusal.Err
	}
	return plan, nil
}

// readResources returns the resources that the definition names and that are not built in, with the schemas of their
// CustomResourceDefinitions.
func (r *run) readResources(ctx context.Context) ([]memcluster.Resource, error) {
	plan, err := r.plan(r.text.Definition)
	if err != nil {
		return nil, err
	}
	named := plan.Resources()
	for _, rule := range plan.Settings.RelatedResources {
		// A resource that is not served is a warning, and no object of it can be in a case.
		if found, err := r.Find(rule.APIVersion, rule.Resource); err == nil {
			named = append(named, found)
		}
	}
	builtIn, read := memcluster.BuiltIn(), map[gvk.GroupResource]bool{}
	var resources []memcluster.Resource
	for _, resource := range named {
		known := slices.ContainsFunc(builtIn, func(b memcluster.Resource) bool { return b.Kind == resource.Kind })
		if known || read[resource.GroupResource()] {
			continue
		}
		read[resource.GroupResource()] = true
		found, err := r.read(ctx, resource)
		if err != nil {
			return nil, err
		}
		resources = append(resources, found...)
	}
	return resources, nil
}

// read returns a resource in all of its versions, with schemas. A resource that no CustomResourceDefinition defines has none.
func (r *run) read(ctx context.Context, resource discovery.Resource) ([]memcluster.Resource, error) {
	plain := memcluster.Resource{Resource: resource, Generation: true}
	if !resource.Custom {
		return []memcluster.Resource{plain}, nil
	}
	crd, err := discovery.ReadDefinition(ctx, r.Client, resource.GroupResource())
	if err == nil && crd == nil {
		err = fmt.Errorf("CustomResourceDefinition %s is gone", resource.GroupResource())
	}
	if err != nil {
		return nil, err
	}
	found, err := validation.Read(crd)
	if err != nil {
		// An earlier API server has taken what this library refuses.
		r.skipf("schemas", "objects of %s are not validated: %v", resource.GroupResource(), err)
		return []memcluster.Resource{plain}, nil
	}
	return found, nil
}
