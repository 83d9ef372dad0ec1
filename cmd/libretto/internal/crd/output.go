package crd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// columnMarkers are what may be said of a printer column.
var columnMarkers = []string{"description", "format", "priority", "type"}

// columns reads the printer columns: names with their JSONPath.
func (r *reader) columns(version *apiextensionsv1.CustomResourceDefinitionVersion) {
	for _, e := range r.entries(r.given["additionalPrinterColumns"].value, "additionalPrinterColumns") {
		path, assignments, err := split(e.value.Value)
		if err != nil {
			r.failf(e.path, "%w", err)
			continue
		}
		column := apiextensionsv1.CustomResourceColumnDefinition{Name: e.name, JSONPath: path}
		for _, a := range assignments {
			switch a.name {
			case "description":
				column.Description = a.value
			case "format":
				column.Format = a.value
			case "type":
				column.Type = a.value
			case "priority":
				priority, err := strconv.ParseInt(a.value, 10, 32)
				if err != nil {
					r.failf(e.path, "priority=%s: must be a whole number", a.value)
				}
				column.Priority = int32(priority)
			default:
				r.failf(e.path, "there is no marker %s of columns: %s", a.name, spelling.Hint(a.name, columnMarkers))
			}
		}
		found, err := typeAt(version.Schema.OpenAPIV3Schema, path)
		if err != nil {
			r.failf(e.path, "%w", err)
		}
		if types := []string{"boolean", "date", "integer", "number", "string"}; column.Type != "" && !slices.Contains(types, column.Type) {
			r.failf(e.path, "type=%s: %s", column.Type, spelling.List(types))
		} else if column.Type == "" {
			column.Type = found
		}
		version.AdditionalPrinterColumns = append(version.AdditionalPrinterColumns, column)
	}
}

var plainPath = regexp.MustCompile(`^(\.[A-Za-z_][A-Za-z0-9_-]*)+$`)

// typeAt returns the type of a column for a JSONPath, and an error if there is no such field. Where the schema does not tell it, it is
// string.
func typeAt(s *apiextensionsv1.JSONSchemaProps, path string) (string, error) {
	if !strings.HasPrefix(path, ".") {
		return "", fmt.Errorf("%s is no JSONPath: one begins with a dot, such as .spec.replicas", path)
	}
	if !plainPath.MatchString(path) {
		return "string", nil
	}
	if rest, is := strings.CutPrefix(path, ".metadata."); is {
		if strings.HasSuffix(rest, "Timestamp") {
			return "date", nil
		}
		return "string", nil
	}
	for name := range strings.SplitSeq(path[1:], ".") {
		next, is := s.Properties[name]
		switch {
		case is:
			s = &next
		case s.AdditionalProperties != nil:
			s = s.AdditionalProperties.Schema
		case s.XPreserveUnknownFields != nil:
			return "string", nil
		default:
			hint := spelling.Hint(name, slices.Collect(maps.Keys(s.Properties)))
			return "", fmt.Errorf("%s: the schema has no field %s there: %s", path, name, cmp.Or(hint, "add it"))
		}
	}
	switch s.Type {
	case "integer", "number", "boolean":
		return s.Type, nil
	default:
		return "string", nil
	}
}

// scale reads the scale subresource, whose paths have defaults.
func (r *reader) scale(version *apiextensionsv1.CustomResourceDefinitionVersion) {
	e, is := r.given["scale"]
	if !is {
		return
	}
	scale := &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"}
	for _, path := range r.entries(e.value, e.path) {
		switch path.name {
		case "specReplicasPath":
			scale.SpecReplicasPath = path.value.Value
		case "statusReplicasPath":
			scale.StatusReplicasPath = path.value.Value
		case "labelSelectorPath":
			scale.LabelSelectorPath = &path.value.Value
		default:
			known := []string{"specReplicasPath", "statusReplicasPath", "labelSelectorPath"}
			r.failf(path.path, "there is no such key: %s", spelling.Hint(path.name, known))
		}
	}
	paths := map[string]string{scale.SpecReplicasPath: "integer", scale.StatusReplicasPath: "integer"}
	if scale.LabelSelectorPath != nil {
		paths[*scale.LabelSelectorPath] = "string"
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if found, err := typeAt(version.Schema.OpenAPIV3Schema, path); err != nil {
			r.failf("scale", "%w", err)
		} else if found != paths[path] {
			r.failf("scale", "%s is %s: must be %s", path, found, paths[path])
		}
	}
	version.Subresources.Scale = scale
}

// write returns a definition as YAML, if the API server accepts it.
func (r *reader) write(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	text, err := yaml.Marshal(struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       any               `json:"spec"`
	}{
		apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition",
		map[string]string{"name": crd.Spec.Names.Plural + "." + crd.Spec.Group}, crd.Spec,
	})
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &object.Object); err != nil {
		return nil, err
	}
	_, err = validation.Read(object)
	var several utilerrors.Aggregate
	if err != nil && !errors.As(err, &several) {
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	if several != nil {
		for _, problem := range several.Errors() {
			if !strings.Contains(problem.Error(), "rule compile error") { // It is about a default, and said of the rule below.
				r.refused(problem)
			}
		}
	}
	if len(r.errs) == 0 {
		problems, err := validation.CheckSchemas(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file, err)
		}
		for _, problem := range problems {
			r.refused(problem)
		}
	}
	return text, errors.Join(r.errs...)
}

// refused adds what the API server would say, at the place of the field in the schema.
func (r *reader) refused(problem error) {
	var about *field.Error
	if !errors.As(problem, &about) {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", r.file, problem))
		return
	}
	path := inSchema.ReplaceAllString(about.Field, "")
	path = inProperties.ReplaceAllString(path, ".$1")
	path = inItems.ReplaceAllString(path, "")
	r.failf(strings.TrimPrefix(path, "."), "%s", validation.SayType(about.ErrorBody()))
}

// What the paths of a definition have besides those of the fields.
var (
	inSchema     = regexp.MustCompile(`^spec\.versions\[0\]\.schema\.openAPIV3Schema`)
	inProperties = regexp.MustCompile(`\.properties[.\[]([^.\[\]]+)\]?`)
	inItems      = regexp.MustCompile(`\.(items|additionalProperties)\b`)
)
