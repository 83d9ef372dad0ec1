package check

import (
	"context"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/scriptcheck"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// schemasOf returns a checker with the schemas of the CustomResourceDefinitions of a set.
func schemasOf(set *manifest.Set) *scriptcheck.Checker { return scriptcheck.New(CRDs(set)...) }

// CRDs returns the CustomResourceDefinitions of a set.
func CRDs(set *manifest.Set) []*apiextensionsv1.CustomResourceDefinition {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, object := range set.CRDs {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object.Object, crd) == nil { // What does not fit is reported elsewhere.
			crds = append(crds, crd)
		}
	}
	return crds
}

// checkSchemas checks the scripts of a definition against the schemas of its objects.
func (d *definitionCheck) checkSchemas(spec scripts.Spec, compiled *scripts.Compiled) {
	h, inNamespaces := scriptcheck.Hook{Definition: d.object.GetKind()}, false
	for _, rule := range manifest.ResourceRules(d.object) {
		kind := schema.FromAPIVersionAndKind(rule.APIVersion, "")
		found, known, err := d.resources.Find(rule.APIVersion, rule.Resource)
		if err == nil && known {
			kind = found.Kind
		}
		switch field := rule.Field; {
		case field == "spec.parentResource", strings.HasPrefix(field, "spec.resources["):
			h.Parents, inNamespaces = append(h.Parents, kind), inNamespaces || !known || found.Namespaced
		case strings.HasPrefix(field, "spec.inputResources["):
			h.Inputs, inNamespaces = append(h.Inputs, kind), true // An output without a namespace is put into that of its input.
		default:
			h.Children = append(h.Children, kind)
			if known && found.Namespaced {
				h.Placed = append(h.Placed, kind)
			}
		}
	}
	if inNamespaces {
		h.Placed = nil
	}
	if d.hasProblem(d.object) {
		h.Children = append(h.Children, schema.GroupVersionKind{}) // What it lists may be what is wrong.
	}
	locate := func(at engines.Location) (engines.Location, bool) {
		origin, known := compiled.Origins[at.File]
		return d.set.Locate(d.object, spec, origin, at), known && !scripts.IsLibrary(at.File)
	}
	for name, program := range compiled.Programs {
		h.Name, h.Signature = name, spec.Hooks[name].Signature
		d.schemas.Check(h, program.Outline(), locate)
	}
}

// reportSchemas reports what no definition can mean.
func (r *run) reportSchemas() {
	for _, f := range r.schemas.Findings() {
		severity := Error
		if f.IsDoubtful {
			severity = Warning
		}
		r.add(Finding{Severity: severity, Reason: reasonSchemaMismatch, Location: f.Location, Message: f.Message})
	}
}

// Watch calls watch with the fields that the scripts of a set name. What else is wrong with them does not matter, as long as they load.
func Watch(ctx context.Context, set *manifest.Set, registry *engines.Registry, watch func(scriptcheck.Member)) {
	r := &run{set: set, registry: registry, resources: set.Known(), schemas: schemasOf(set)}
	r.schemas.Watch = watch
	for _, object := range set.Definitions {
		spec, err := Scripts(set, object)
		if err != nil || len(spec.Hooks) == 0 {
			continue
		}
		spec.Outline = true
		if compiled, err := scripts.Compile(ctx, registry, spec, set.Contents); err == nil {
			d := &definitionCheck{run: r, object: object, name: manifest.Name(object)}
			d.checkSchemas(spec, compiled)
		}
	}
}
