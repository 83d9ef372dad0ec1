package javascript

import (
	"errors"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// callAuthoring implements the functions of the host's own module that are written in Go: the first
// argument is the name. A hash in goja would take a thousand times as long, and rules such as that
// for when an object is ready are the host's.
func (i *isolate) callAuthoring(call goja.FunctionCall) goja.Value {
	name := call.Argument(0).String()
	x := &exporter{i: i, Budget: engines.MaxResponseBytes}
	args := make([]any, 0, len(call.Arguments))
	for _, argument := range call.Arguments[1:] {
		value, kept, err := x.value(argument)
		if err != nil {
			panic(i.argumentError(name, err))
		}
		if !kept {
			panic(i.rt.NewTypeError("%s: the value is undefined", name))
		}
		args = append(args, value)
	}
	result, err := authoring.Call(name, args)
	if err != nil {
		panic(i.rt.NewTypeError("%v", err))
	}
	return i.toValue(result, nil, nil)
}

// argumentError returns what a function throws for an error of the exporter: an exception if the
// value is wrong, and otherwise the error of script code that the exporter ran.
func (i *isolate) argumentError(name string, err error) any {
	var wrong *engines.Error
	if errors.As(err, &wrong) && wrong.Kind == engines.Exhausted {
		return i.rt.NewTypeError("%s: an argument is larger than %d MiB", name, engines.MaxResponseBytes>>20)
	}
	if wrong != nil {
		return i.rt.NewTypeError("%s: %s", name, wrong.Message)
	}
	return err
}
