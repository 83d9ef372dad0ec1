package javascript

import "github.com/dop251/goja"

// array is the view of a slice. It implements goja.DynamicArray.
type array struct {
	node
	from []any
	// shown holds the objects made for parts of from, and is as long. Once the
	// script has written to the array it holds all elements, and from none.
	shown []goja.Value
	own   bool
}

func (a *array) Len() int {
	if a.own {
		return len(a.shown)
	}
	return len(a.from)
}

func (a *array) Get(index int) goja.Value {
	if index < 0 || index >= a.Len() {
		return nil
	}
	if a.shown != nil && a.shown[index] != nil {
		return a.shown[index]
	}
	v := a.i.wrap(a.from[index], &a.node)
	if container(a.from[index]) {
		if a.shown == nil {
			a.shown = make([]goja.Value, len(a.from))
		}
		a.shown[index] = v
	}
	return v
}

func (a *array) Set(index int, v goja.Value) bool {
	if index < 0 || index >= a.Len() && !a.SetLen(index+1) {
		return false
	}
	a.take()
	if v == nil {
		v = goja.Undefined()
	}
	a.shown[index] = v
	return true
}

func (a *array) SetLen(length int) bool {
	if length < 0 || length > a.Len()+maxArrayGrowth {
		return false
	}
	a.take()
	for len(a.shown) < length {
		a.shown = append(a.shown, goja.Undefined())
	}
	clear(a.shown[length:])
	a.shown = a.shown[:length]
	return true
}

// take makes the elements the script's own, before it writes to any.
func (a *array) take() {
	a.change()
	if a.own {
		return
	}
	elements := make([]goja.Value, len(a.from))
	for i := range elements {
		elements[i] = a.Get(i)
	}
	a.shown, a.own = elements, true
}
