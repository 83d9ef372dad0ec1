package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// definition is what is read of an OpenAPI schema.
type definition struct {
	Ref                  string                `json:"$ref"`
	AllOf                []definition          `json:"allOf"`
	Type                 string                `json:"type"`
	Format               string                `json:"format"`
	Properties           map[string]definition `json:"properties"`
	AdditionalProperties *additional           `json:"additionalProperties"`
	Items                *definition           `json:"items"`
	Default              any                   `json:"default"`
	Nullable             bool                  `json:"nullable"`
	ListType             string                `json:"x-kubernetes-list-type"`
	ListKeys             []string              `json:"x-kubernetes-list-map-keys"`
	MergeKey             string                `json:"x-kubernetes-patch-merge-key"`
	Strategy             string                `json:"x-kubernetes-patch-strategy"`
	MapType              string                `json:"x-kubernetes-map-type"`
	Preserve             bool                  `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString          bool                  `json:"x-kubernetes-int-or-string"`
	Embedded             bool                  `json:"x-kubernetes-embedded-resource"`
	Kinds                []kindName            `json:"x-kubernetes-group-version-kind"`
}

// kindName is where a definition lists the kinds that it is the schema of.
type kindName struct{ Group, Version, Kind string }

// additional is a schema, or true if there may be fields of any type.
type additional struct {
	schema *definition
	allows bool
}

func (a *additional) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &a.allows) == nil {
		return nil
	}
	return json.Unmarshal(text, &a.schema)
}

// ref returns the name of the definition that this one stands for, or "". A reference
// that has something to add is written as the only one of allOf.
func (d *definition) ref() string {
	ref := d.Ref
	if ref == "" && len(d.AllOf) == 1 {
		ref = d.AllOf[0].Ref
	}
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// relation returns how a list's items belong together. Kinds older than list types say
// it by the strategic merge patch.
func (d *definition) relation() (Relation, []string) {
	switch {
	case d.ListType == "atomic":
		return Atomic, nil
	case d.ListType == "set":
		return Set, nil
	case d.ListType == "map" && len(d.ListKeys) > 0:
		return Map, d.ListKeys
	case d.ListType != "" || !d.strategy("merge"):
		return Unknown, nil
	case d.MergeKey == "":
		return Set, nil
	default:
		return Map, []string{d.MergeKey}
	}
}

func (d *definition) strategy(name string) bool {
	return slices.Contains(strings.Split(d.Strategy, ","), name)
}

// prunes reports whether the API server drops what is not among the properties. An object
// without any may be one that is kept as it is.
func (d *definition) prunes() bool {
	return d.Type == "object" && len(d.Properties) > 0 && d.AdditionalProperties == nil && !d.Preserve && !d.Embedded
}

// defaults returns the scalars among the defaults of the properties.
func (d *definition) defaults() map[string]any {
	var out map[string]any
	for name, property := range d.Properties {
		value := property.Default
		switch v := value.(type) {
		case nil, map[string]any, []any:
			continue
		case float64:
			if whole := int64(v); float64(whole) == v {
				value = whole // As unstructured objects hold it.
			}
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = value
	}
	return out
}

// form returns the form in which a string is kept.
func (d *definition) form() Form {
	switch d.Format {
	case "quantity":
		return Quantity
	case "date-time":
		return Time
	case "byte":
		return Bytes
	}
	return AsGiven
}
