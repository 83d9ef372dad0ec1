package javascript

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
)

// console keeps the lines that a script writes, up to a limit on their bytes.
type console struct {
	engines.Log
	// object is the script's console. It is nil until it is used.
	object *goja.Object
}

// lazyConsole makes the console on first use.
func (i *isolate) lazyConsole(goja.FunctionCall) goja.Value {
	if i.console.object == nil {
		i.console.object = i.rt.NewObject()
		for _, level := range []string{"log", "info", "warn", "error", "debug", "trace"} {
			must(i.console.object.Set(level, i.print))
		}
		i.held = append(i.held, i.console.object)
	}
	return i.console.object
}

// print writes its arguments as one text. The level is dropped.
func (i *isolate) print(call goja.FunctionCall) goja.Value {
	if i.console.Full() {
		return goja.Undefined()
	}
	shown := make([]string, len(call.Arguments))
	for n, argument := range call.Arguments {
		shown[n] = i.format(argument, engines.MaxLogBytes)
	}
	i.console.Append(strings.Join(shown, " "))
	return goja.Undefined()
}
