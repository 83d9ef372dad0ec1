package validation

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// CheckSchemas returns what the API server refuses in the schemas of a CustomResourceDefinition besides what Read finds: types that are
// none, and rules that do not compile, may cost too much, or compare values that it can't pair with those before.
func CheckSchemas(object *unstructured.Unstructured) (field.ErrorList, error) {
	crd, err := decode(object)
	if err != nil {
		return nil, err
	}
	c := &schemaCheck{}
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Schema == nil {
			continue
		}
		props, err := internalSchema(&crd.Spec.Versions[i])
		if err != nil {
			return nil, err
		}
		root, err := structural.NewStructural(props)
		if err != nil {
			return nil, err
		}
		at := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		c.check(root, position{path: at, isRoot: true, times: 1, bounded: true, paired: true})
	}
	return c.errs, nil
}

// schemaCheck collects what is wrong with schemas.
type schemaCheck struct {
	errs field.ErrorList
}

// position is where a schema is.
type position struct {
	path   *field.Path
	isRoot bool
	// times is how often the schema is in an object at most, if it is bounded.
	times   uint64
	bounded bool
	// paired is set where the API server knows the value that was there before.
	paired bool
}

// schemaTypes are the types of schemas. None is for values of any type.
var schemaTypes = []string{"", "array", "boolean", "integer", "number", "object", "string"}

// check checks a schema and those in it.
func (c *schemaCheck) check(s *structural.Structural, at position) {
	if !slices.Contains(schemaTypes, s.Type) {
		c.addf(at.path.Child("type"), s.Type, "there is no type %q: there are array, boolean, integer, number, object and string", s.Type)
		return
	}
	c.compileRules(s, at)
	if s.Items != nil {
		in := at.in("items", s.Items)
		in.repeat(s.ValueValidation, func(v *structural.ValueValidation) *int64 { return v.MaxItems })
		in.paired = in.paired && s.XListType != nil && *s.XListType == "map"
		c.check(s.Items, in)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		in := at.in("properties", &property)
		in.path = in.path.Child(name)
		in.paired = in.paired && (s.XMapType == nil || *s.XMapType != "atomic")
		c.check(&property, in)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		in := at.in("additionalProperties", s.AdditionalProperties.Structural)
		in.repeat(s.ValueValidation, func(v *structural.ValueValidation) *int64 { return v.MaxProperties })
		c.check(s.AdditionalProperties.Structural, in)
	}
}

// in returns the position of a schema in that of this position.
func (p position) in(name string, s *structural.Structural) position {
	p.path, p.isRoot = p.path.Child(name), s.XEmbeddedResource
	return p
}

// repeat makes it the position of a schema that is there for each item.
func (p *position) repeat(v *structural.ValueValidation, limit func(*structural.ValueValidation) *int64) {
	if v == nil || limit(v) == nil {
		p.bounded = false
		return
	}
	p.times = multiply(p.times, uint64(max(0, *limit(v))))
}

// maxRuleCost is what the API server lets one rule cost at most, as it estimates it.
const maxRuleCost = 10_000_000

const tooExpensive = "may cost more than the API server allows: bound what it reads, and the lists and maps that it is in, with maxLength, " +
	"maxItems or maxProperties"

// compileRules compiles the rules of a schema, without those in it.
func (c *schemaCheck) compileRules(s *structural.Structural, at position) {
	if len(s.XValidations) == 0 {
		return
	}
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	rules, err := cel.Compile(s, model.SchemaDeclType(s, at.isRoot), celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
	path := at.path.Child("x-kubernetes-validations")
	if err != nil {
		c.addf(path, "", "%v", err)
	}
	for i, rule := range rules {
		text := s.XValidations[i].Rule
		times := rule.MaxCardinality
		if at.bounded {
			times = at.times
		}
		switch {
		case rule.Error != nil:
			c.addf(path.Index(i).Child("rule"), text, "%s", rule.Error.Detail)
		case multiply(rule.MaxCost, times) > maxRuleCost:
			c.addf(path.Index(i).Child("rule"), text, "%s", tooExpensive)
		case rule.UsesOldSelf && !at.paired:
			c.addf(path.Index(i).Child("rule"), text, "oldSelf is not known in a list, unless its x-kubernetes-list-type is map")
		}
		if rule.MessageExpressionError != nil {
			c.addf(path.Index(i).Child("messageExpression"), text, "%s", rule.MessageExpressionError.Detail)
		}
	}
}

func (c *schemaCheck) addf(at *field.Path, value any, format string, args ...any) {
	c.errs = append(c.errs, field.Invalid(at, value, fmt.Sprintf(format, args...)))
}

// multiply returns the product, or the highest number if it is higher.
func multiply(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}
