package javascript

import (
	"fmt"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
)

// A view shows a Go map or slice to the script as an object or array of its own.
// It converts only the values that the script reads, remembers the objects that it made for
// parts (so that o.a === o.a) and keeps what the script writes. The Go values are only
// read, by many calls at once.

// node is what both kinds of view have in common.
type node struct {
	i      *isolate
	parent *node
	// changed is true if the script wrote to this view or to one made for a part
	// of it. Otherwise the Go value is still what the script sees.
	changed bool
}

func (n *node) markChanged() {
	for ; n != nil && !n.changed; n = n.parent {
		n.changed = true
	}
}

// toValue returns the JavaScript value of a JSON value, as part of parent unless that is nil. What is seen of an
// object is noted in reads unless that is nil.
func (i *isolate) toValue(v any, parent *node, reads *engines.Reads) goja.Value {
	switch v := v.(type) {
	case nil:
		return goja.Null()
	case map[string]any:
		return i.rt.NewDynamicObject(&object{node: node{i: i, parent: parent}, source: v, reads: reads})
	case []any:
		return i.rt.NewDynamicArray(&array{node: node{i: i, parent: parent}, source: v})
	case int64:
		i.rounded.Note(v)
		return i.rt.ToValue(v)
	case string, bool, float64, int, int32:
		return i.rt.ToValue(v)
	default:
		panic(i.rt.NewTypeError(fmt.Sprintf("the request holds a %T, which is not of JSON", v)))
	}
}

// requestView returns the view of the call's request, which notes what is read of it.
func (i *isolate) requestView(request map[string]any) goja.Value {
	i.request = &object{node: node{i: i}, source: request, reads: &engines.Reads{}}
	return i.rt.NewDynamicObject(i.request)
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}
