package jsonnet

import (
	"fmt"
	"math"

	"github.com/libretto-k8s/libretto/engines"
)

// exporter makes the VM's copy of an answer what package unstructured knows, in place.
type exporter struct {
	left int
}

// value may return an error of kind Exhausted. What is no JSON, and what is nested
// too deep, the VM has refused by now.
func (x *exporter) value(v any) (any, error) {
	switch v := v.(type) {
	case float64:
		return number(v), x.spend(8)
	case string:
		return v, x.spend(len(v) + 2)
	case []any:
		return v, x.array(v)
	case map[string]any:
		return v, x.object(v)
	default:
		return v, x.spend(4)
	}
}

func (x *exporter) array(elements []any) (err error) {
	for i := range elements {
		if elements[i], err = x.value(elements[i]); err != nil {
			return err
		}
	}
	return x.spend(2)
}

func (x *exporter) object(fields map[string]any) (err error) {
	for name, v := range fields {
		if err := x.spend(len(name) + 4); err != nil {
			return err
		}
		if fields[name], err = x.value(v); err != nil {
			return err
		}
	}
	return x.spend(2)
}

// number makes whole numbers int64, as decoding the same JSON would. Beyond 2^53
// Jsonnet has no exact numbers, so that the last digits may not be the author's.
func number(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return f
}

func (x *exporter) spend(bytes int) error {
	if x.left -= bytes; x.left < 0 {
		return &engines.Error{Kind: engines.Exhausted,
			Message: fmt.Sprintf("the response is larger than %d MiB", maxAnswerBytes>>20)}
	}
	return nil
}
