package cel

import (
	"encoding/base64"
	"fmt"
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/libretto-k8s/libretto/engines"
)

// answer turns values of expressions into JSON, as package unstructured has it.
type answer struct {
	engines.Budget
	path  engines.Path
	depth int
}

// value returns the JSON of v, and false for an optional without a value, which is left out.
// Durations and times become what string() makes of them, bytes base64, and Kubernetes'
// types (quantities, addresses, URLs, versions) their usual text.
func (a *answer) value(v ref.Val) (any, bool, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, true, a.Spend(4)
	case types.Bool:
		return bool(v), true, a.Spend(5)
	case types.Int:
		return int64(v), true, a.Spend(8)
	case types.Uint, types.Double:
		n, err := a.number(v)
		return n, true, err
	case types.String:
		return string(v), true, a.Spend(len(v) + 2)
	case types.Bytes:
		return a.text(base64.StdEncoding.EncodeToString(v))
	case *types.Optional:
		if !v.HasValue() {
			return nil, false, nil
		}
		return a.value(v.GetValue())
	case traits.Mapper, traits.Lister:
		return a.container(v)
	default:
		return a.other(v)
	}
}

// number makes whole numbers int64, as decoding the same JSON would.
func (a *answer) number(v ref.Val) (any, error) {
	if n, ok := v.(types.Uint); ok {
		if n > math.MaxInt64 {
			return nil, a.path.Errorf("is %d, more than the largest whole number that Kubernetes stores", uint64(n))
		}
		return int64(n), a.Spend(8)
	}
	f := float64(v.(types.Double))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, a.path.Errorf("is %v, which is no number in JSON", f)
	}
	return engines.Number(f), a.Spend(8)
}

func (a *answer) other(v ref.Val) (any, bool, error) {
	switch v := v.(type) {
	case types.Duration, types.Timestamp:
		return a.text(string(v.ConvertToType(types.StringType).(types.String)))
	case *types.Type:
		return nil, true, a.path.Errorf("is the type %s, which JSON does not have", v.TypeName())
	}
	if written, ok := v.Value().(fmt.Stringer); ok {
		return a.text(written.String())
	}
	return nil, true, a.path.Errorf("is of type %s, which JSON does not have", v.Type().TypeName())
}

func (a *answer) text(s string) (any, bool, error) { return s, true, a.Spend(len(s) + 2) }

// enter goes one container deeper.
func (a *answer) enter() error {
	if a.depth++; a.depth > maxAnswerNesting {
		return a.path.Errorf("is nested more than %d deep", maxAnswerNesting)
	}
	return a.Spend(2)
}
