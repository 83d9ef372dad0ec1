package javascript

import (
	"reflect"

	"github.com/dop251/goja"
)

var (
	objectType  = reflect.TypeFor[*object]()
	arrayType   = reflect.TypeFor[*array]()
	promiseType = reflect.TypeFor[*goja.Promise]()
	proxyType   = reflect.TypeFor[goja.Proxy]()
	mapType     = reflect.TypeFor[[][2]any]()
	setType     = reflect.TypeFor[[]any]()
)

// classOf returns the class of an object, which its script can't influence. goja has
// the class name Object for several classes, whose export types differ.
func classOf(o *goja.Object) string {
	class := o.ClassName()
	switch t := o.ExportType(); {
	case t == mapType:
		return "Map"
	case t == setType && class != "Array":
		return "Set"
	case t == promiseType:
		return "Promise"
	case t.Kind() == reflect.Slice && class != "Array":
		return "TypedArray"
	case t == proxyType:
		return classOfProxy(o)
	default:
		return class
	}
}

func classOfProxy(o *goja.Object) string {
	if target := o.Export().(goja.Proxy).Target(); target != nil {
		return classOf(target)
	}
	return "Object"
}
