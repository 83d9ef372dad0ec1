package validation

import (
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// ValidateOnce returns what Validate returns for objects that are created. It compiles only the rules of fields that some of them have,
// which is faster unless it is called for many objects, one after another. If all rules are compiled already, it takes those.
func (c *Custom) ValidateOnce(objects ...*unstructured.Unstructured) []field.ErrorList {
	all := make([]field.ErrorList, len(objects))
	v, err := c.compiledFor(objects)
	for i, object := range objects {
		if err != nil {
			all[i] = field.ErrorList{field.InternalError(nil, err)}
		} else {
			all[i] = c.validateCreation(v, object)
		}
	}
	return all
}

// compiledFor returns validators with the rules that some objects can meet, and maybe more.
func (c *Custom) compiledFor(objects []*unstructured.Unstructured) (*validators, error) {
	if c.isCompiled.Load() {
		return c.compiled()
	}
	var values []any
	for _, object := range objects {
		values = append(values, object.Object)
	}
	object, _, err := validation.NewSchemaValidator(c.props)
	return &validators{object: object, cel: cel.NewValidator(withRulesFor(c.structural, values), true, celconfig.PerCallLimit)}, err
}

// withRulesFor returns a schema without the rules that none of the values can meet. Types stay: rules look at fields that are absent too.
func withRulesFor(s *structural.Structural, values []any) *structural.Structural {
	next := *s
	if len(values) == 0 {
		next.XValidations = nil
	}
	if s.Items != nil {
		next.Items = withRulesFor(s.Items, itemsOf(values))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		of := withRulesFor(s.AdditionalProperties.Structural, additionalOf(s, values))
		next.AdditionalProperties = &structural.StructuralOrBool{Structural: of, Bool: s.AdditionalProperties.Bool}
	}
	if len(s.Properties) > 0 {
		next.Properties = make(map[string]structural.Structural, len(s.Properties))
		for name := range s.Properties {
			property := s.Properties[name]
			next.Properties[name] = *withRulesFor(&property, fieldsOf(values, name))
		}
	}
	return &next
}

// itemsOf returns the items of the values that are lists.
func itemsOf(values []any) []any {
	var all []any
	for _, value := range values {
		items, _ := value.([]any)
		all = append(all, items...)
	}
	return all
}

// fieldsOf returns a field of the values that have it.
func fieldsOf(values []any, name string) []any {
	var all []any
	for _, value := range values {
		fields, _ := value.(map[string]any)
		if field, has := fields[name]; has {
			all = append(all, field)
		}
	}
	return all
}

// additionalOf returns the fields of values that are no properties of the schema.
func additionalOf(s *structural.Structural, values []any) []any {
	var all []any
	for _, value := range values {
		fields, _ := value.(map[string]any)
		for name, field := range fields {
			if _, isProperty := s.Properties[name]; !isProperty {
				all = append(all, field)
			}
		}
	}
	return all
}
