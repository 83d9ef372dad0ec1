package javascript

import (
	"errors"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// hash implements the hash function of the host's own module: JavaScript in goja would take a
// thousand times as long.
func (i *isolate) hash(call goja.FunctionCall) goja.Value {
	x := &exporter{i: i, Budget: engines.MaxResponseBytes}
	value, kept, err := x.value(call.Argument(0))
	if err != nil {
		panic(i.hashError(err))
	}
	if !kept {
		panic(i.rt.NewTypeError("hash: the value is %s", kindOf(call.Argument(0))))
	}
	sum, err := authoring.Hash(value)
	if err != nil {
		panic(i.rt.NewTypeError("hash: %v", err))
	}
	return i.rt.ToValue(sum)
}

// hashError returns what hash throws for an error of the exporter: an exception if the
// value is wrong, and otherwise the error of script code that the exporter ran.
func (i *isolate) hashError(err error) any {
	var wrong *engines.Error
	if errors.As(err, &wrong) {
		return i.rt.NewTypeError("hash: %s", wrong.Message)
	}
	return err
}
