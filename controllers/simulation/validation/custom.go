package validation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Custom is the schema of one version of a CustomResourceDefinition. It is safe for concurrent use.
type Custom struct {
	kind       schema.GroupVersionKind
	namespaced bool
	hasStatus  bool
	scale      *apiextensionsv1.CustomResourceSubresourceScale
	structural *structural.Structural
	props      *apiextensions.JSONSchemaProps

	// compiled and types are made when they are first needed.
	compiled   func() (*validators, error)
	isCompiled atomic.Bool
	types      func() (managedfields.TypeConverter, error)
}

// Beside returns the names of the fields that there are beside one that was dropped, by its path.
func (c *Custom) Beside(dropped string) []string {
	s, parts := c.structural, strings.Split(dropped, ".")
	for _, part := range parts[:len(parts)-1] {
		name, index, _ := strings.Cut(part, "[")
		next, ok := s.Properties[name]
		if s = &next; !ok {
			return nil
		}
		for range strings.Count(index, "]") {
			if s = s.Items; s == nil {
				return nil
			}
		}
	}
	return slices.Collect(maps.Keys(s.Properties))
}

// validators are the compiled rules of a schema.
type validators struct {
	object, status validation.SchemaValidator
	cel            *cel.Validator // Nil without rules.
}

func newCustom(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) (*Custom, error) {
	props, err := internalSchema(version)
	if err != nil {
		return nil, err
	}
	ss, err := structural.NewStructural(props)
	if err != nil {
		return nil, fmt.Errorf("schema.openAPIV3Schema: %w", err)
	}
	ss = ss.DeepCopy()
	if err := defaulting.PruneDefaults(ss); err != nil {
		return nil, fmt.Errorf("schema.openAPIV3Schema: %w", err)
	}
	c := &Custom{
		kind:       schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind},
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		structural: ss, props: props,
	}
	if version.Subresources != nil {
		c.hasStatus, c.scale = version.Subresources.Status != nil, version.Subresources.Scale
	}
	c.compiled = sync.OnceValues(c.compile)
	c.types = sync.OnceValues(func() (managedfields.TypeConverter, error) {
		return managedfields.NewTypeConverter(map[string]*spec.Schema{modelName(c.kind): c.openAPI()}, false)
	})
	return c, nil
}

// compile returns the validators of the schema.
func (c *Custom) compile() (*validators, error) {
	v := &validators{}
	var err error
	if v.object, _, err = validation.NewSchemaValidator(c.props); err != nil {
		return nil, err
	}
	if status, ok := c.props.Properties["status"]; ok && c.hasStatus {
		if v.status, _, err = validation.NewSchemaValidator(&status); err != nil {
			return nil, err
		}
	}
	v.cel = cel.NewValidator(c.structural, true, celconfig.PerCallLimit)
	c.isCompiled.Store(true)
	return v, nil
}

// validateSchema returns what is wrong with the schema itself.
func (c *Custom) validateSchema(at *field.Path) field.ErrorList {
	if errs := structural.ValidateStructural(at, c.structural); len(errs) > 0 {
		return errs
	}
	errs, err := defaulting.ValidateDefaults(context.Background(), at, c.structural, true, true)
	if err != nil {
		errs = append(errs, field.InternalError(at, err))
	}
	return errs
}

// Decode drops the fields that the schema does not have, and fills in defaults. It returns the paths of the
// dropped fields.
func (c *Custom) Decode(object map[string]any) (dropped []string, err error) {
	u := &unstructured.Unstructured{Object: object}
	apiVersion, kind := u.GetAPIVersion(), u.GetKind()
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	tracked := structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	dropped = append(unknown, pruning.PruneWithOptions(object, c.structural, true, tracked)...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, c.structural)
	invalid, paths := objectmeta.CoerceWithOptions(nil, object, c.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if invalid != nil {
		return nil, invalid
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	if found {
		if err := objectmeta.SetObjectMeta(object, meta); err != nil {
			return nil, err
		}
	}
	defaulting.Default(object, c.structural)
	return append(dropped, paths...), nil
}

// TypeConverter returns the types for server-side apply.
func (c *Custom) TypeConverter() (managedfields.TypeConverter, error) { return c.types() }
