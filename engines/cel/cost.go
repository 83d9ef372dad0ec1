package cel

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// cel-go's own tracker of costs is not used, because the time that it takes itself
// grows with the square of a comprehension's steps (15 seconds for a map of 100,000
// elements), and because it counts for each expression by itself. What counts here
// is what makes an evaluation long: steps of comprehensions and calls of functions,
// with the length of what they give.

// metering makes calls of functions count.
func metering(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	if called, ok := i.(interpreter.InterpretableCall); ok {
		return &metered{InterpretableCall: called}, nil
	}
	return i, nil
}

type metered struct{ interpreter.InterpretableCall }

// Eval implements interpreter.Interpretable.
func (m *metered) Eval(vars interpreter.Activation) ref.Val {
	v := markTwice(m.InterpretableCall.Eval(vars))
	if c := callOf(vars); c != nil {
		c.spend(weight(v))
	}
	return v
}

// callOf returns the call that an evaluation belongs to: below it are the variables of
// comprehensions. There is none while constants are computed at load.
func callOf(vars interpreter.Activation) *call {
	for ; vars != nil; vars = vars.Parent() {
		if c, ok := vars.(*call); ok {
			return c
		}
	}
	return nil
}

// weight returns what it costs to have made a value: one for each ten bytes of a text,
// which is CEL's own measure, and one for each element of a list: sums of lists are
// not copied, so that a few could double one beyond all bounds.
func weight(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))/10 + 1
	case types.Bytes:
		return uint64(len(v))/10 + 1
	case traits.MutableLister:
		return 1 // The accumulator of a comprehension, which grows in place.
	case traits.Lister:
		if n, ok := v.Size().(types.Int); ok {
			return uint64(n) + 1
		}
	}
	return 1
}
