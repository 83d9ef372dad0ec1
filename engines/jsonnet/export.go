package jsonnet

import (
	"github.com/libretto-k8s/libretto/engines"
)

// exporter converts the VM's copy of an answer to the types of package unstructured, in place.
type exporter struct {
	engines.Budget
	rounded *engines.Rounded
	// path is where an error is, the last part first.
	path engines.Path
}

// value may return an error of kind Exhausted. What is no JSON, and what is nested
// too deep, the VM has refused by now.
func (x *exporter) value(v any) (any, error) {
	switch v := v.(type) {
	case float64:
		n, ok := x.rounded.Number(v)
		if !ok {
			return nil, engines.Path{}.Errorf(engines.SeveralIntegers, v, "Jsonnet", "leave the field out, or write the hook in CEL or JavaScript")
		}
		return n, x.Spend(8)
	case string:
		return v, x.Spend(len(v) + 2)
	case []any:
		return v, x.array(v)
	case map[string]any:
		return v, x.object(v)
	default:
		return v, x.Spend(4)
	}
}

func (x *exporter) array(elements []any) (err error) {
	for i := range elements {
		if elements[i], err = x.value(elements[i]); err != nil {
			x.path = append(x.path, i)
			return err
		}
	}
	return x.Spend(2)
}

func (x *exporter) object(fields map[string]any) (err error) {
	for name, v := range fields {
		if err := x.Spend(len(name) + 4); err != nil {
			return err
		}
		if fields[name], err = x.value(v); err != nil {
			x.path = append(x.path, name)
			return err
		}
	}
	return x.Spend(2)
}
