package javascript

import "github.com/dop251/goja"

// array is the view of a slice. It implements goja.DynamicArray.
type array struct {
	node
	source []any
	// values holds the objects made for parts of source, and has its length. If copied
	// is true, because the script has written to the array, it holds all elements.
	values []goja.Value
	copied bool
}

func (a *array) Len() int {
	if a.copied {
		return len(a.values)
	}
	return len(a.source)
}

func (a *array) Get(index int) goja.Value {
	if index < 0 || index >= a.Len() {
		return nil
	}
	if a.values != nil && a.values[index] != nil {
		return a.values[index]
	}
	v := a.i.toValue(a.source[index], &a.node, nil)
	if isContainer(a.source[index]) {
		if a.values == nil {
			a.values = make([]goja.Value, len(a.source))
		}
		a.values[index] = v
	}
	return v
}

func (a *array) Set(index int, v goja.Value) bool {
	if index < 0 || index >= a.Len() && !a.SetLen(index+1) {
		return false
	}
	a.copyElements()
	if v == nil {
		v = goja.Undefined()
	}
	a.values[index] = v
	return true
}

func (a *array) SetLen(length int) bool {
	if length < 0 || length > a.Len()+maxArrayGrowth {
		return false
	}
	a.copyElements()
	for len(a.values) < length {
		a.values = append(a.values, goja.Undefined())
	}
	clear(a.values[length:])
	a.values = a.values[:length]
	return true
}

// copyElements copies the elements before the script writes to one.
func (a *array) copyElements() {
	a.markChanged()
	if a.copied {
		return
	}
	elements := make([]goja.Value, len(a.source))
	for i := range elements {
		elements[i] = a.Get(i)
	}
	a.values, a.copied = elements, true
}
