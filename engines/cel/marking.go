package cel

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// cel-go marks an error with the expression that it came from, and loses the mark
// again: in the branches of ?:, and in all steps of a comprehension but the last.
// What it loses is the outermost mark, so errors are marked twice here.

// marking makes variables, selections and conditions mark their errors.
func marking(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	attribute, ok := i.(interpreter.InterpretableAttribute)
	if _, already := i.(*marked); !ok || already {
		return i, nil
	}
	return &marked{InterpretableAttribute: attribute}, nil
}

type marked struct {
	interpreter.InterpretableAttribute
}

// Eval implements interpreter.Interpretable.
func (m *marked) Eval(vars interpreter.Activation) ref.Val {
	return markTwice(m.InterpretableAttribute.Eval(vars))
}

// Attr implements interpreter.InterpretableAttribute. It is what ?: has of its branches.
func (m *marked) Attr() interpreter.Attribute {
	return &branch{Attribute: m.InterpretableAttribute.Attr()}
}

type branch struct{ interpreter.Attribute }

// Resolve implements interpreter.Attribute.
func (b *branch) Resolve(vars interpreter.Activation) (any, error) {
	v, err := b.Attribute.Resolve(vars)
	if _, already := err.(*types.Err); err != nil && !already {
		err = types.LabelErrNode(b.ID(), types.WrapErr(err)).(*types.Err)
	}
	return v, err
}

func markTwice(v ref.Val) ref.Val {
	failed, ok := v.(*types.Err)
	if !ok {
		return v
	}
	if _, already := failed.Unwrap().(*types.Err); already {
		return v
	}
	return types.LabelErrNode(failed.NodeID(), types.WrapErr(failed))
}
