package merge

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// Without a schema, the name of a field is all that is known. What follows is
// what the names mean throughout the Kubernetes API.

// mergeKeys are the fields that may identify the items of a list, the strongest
// first. Lists are merged by the first that all their items have, as metacontroller does.
var mergeKeys = []string{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"}

// allocated are the fields in which a zero asks the cluster to choose a value.
var allocated = map[string]bool{
	"clusterIP": true, "healthCheckNodePort": true, "nodeName": true, "nodePort": true, "volumeName": true,
}

// growing are the lists without merge key, and the objects that are one value, to which
// admission may add.
var growing = map[string]bool{"nodeSelector": true, "tolerations": true}

// quantityFields hold a quantity, and the fields within quantityObjects do. The API
// server writes 1000m down as 1.
var (
	quantityFields = map[string]bool{
		"averageValue": true, "divisor": true, "sizeLimit": true, "storage": true,
	}
	quantityObjects = map[string]bool{
		"allocatable": true, "capacity": true, "default": true, "defaultRequest": true, "hard": true, "limits": true,
		"max": true, "maxLimitRequestRatio": true, "min": true, "podFixed": true, "requests": true,
	}
)

// quantified reports whether a quantity stands at a place. A schema tells strings from
// quantities, but for those of custom resources, which look like ports.
func quantified(at place) bool {
	if at.schema != nil && !at.schema.IntOrString {
		return at.schema.Form == openapi.Quantity
	}
	return IsQuantity(at.parent, at.field)
}

// IsQuantity reports whether a field of an object, which is in the field parent, holds a quantity by what the names mean.
func IsQuantity(parent, field string) bool { return quantityObjects[parent] || quantityFields[field] }

// sameQuantity reports whether a and b are quantities, and the same.
func sameQuantity(a, b any) bool {
	x, ok := quantity(a)
	if !ok {
		return false
	}
	y, ok := quantity(b)
	return ok && x.Cmp(y) == 0
}

func quantity(v any) (resource.Quantity, bool) {
	text, ok := v.(string)
	switch n := v.(type) {
	case int64:
		text, ok = strconv.FormatInt(n, 10), true
	case float64:
		text, ok = strconv.FormatFloat(n, 'f', -1, 64), true
	}
	if !ok {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
