package javascript

import "github.com/dop251/goja"

// cloner makes the copies of structuredClone. It remembers the copies, so
// that shared parts stay shared, and cycles end.
type cloner struct {
	i     *isolate
	made  map[*goja.Object]*goja.Object
	depth int
}

func (i *isolate) structuredClone(call goja.FunctionCall) goja.Value {
	c := &cloner{i: i, made: map[*goja.Object]*goja.Object{}}
	return c.value(call.Argument(0))
}

func (c *cloner) value(v goja.Value) goja.Value {
	switch v := v.(type) {
	case nil:
		return goja.Undefined()
	case *goja.Symbol:
		panic(c.i.rt.NewTypeError("structuredClone: a symbol can't be cloned"))
	case *goja.Object:
		if made, ok := c.made[v]; ok {
			return made
		}
		c.enter()
		defer func() { c.depth-- }()
		return c.object(v)
	default:
		return v
	}
}

func (c *cloner) enter() {
	if c.depth++; c.depth > maxAnswerNesting {
		panic(c.i.rt.NewTypeError("structuredClone: the value is nested more than %d deep", maxAnswerNesting))
	}
}

func (c *cloner) object(o *goja.Object) goja.Value {
	if _, callable := goja.AssertFunction(o); callable {
		panic(c.i.rt.NewTypeError("structuredClone: a function can't be cloned"))
	}
	if fresh := c.view(o); fresh != nil {
		return c.remember(o, fresh)
	}
	switch classOf(o) {
	case "Array":
		return c.array(o)
	case "Map":
		return c.collection(o, "Map", "set")
	case "Set":
		return c.collection(o, "Set", "add")
	case "Date":
		return c.remember(o, c.construct("Date", c.call(o, "getTime")))
	case "RegExp":
		return c.remember(o, c.construct("RegExp", o.Get("source"), o.Get("flags")))
	case "Error":
		return c.properties(o, c.construct("Error", o.Get("message")), []string{"name", "stack"})
	case "Number", "String", "Boolean":
		return c.remember(o, c.construct(classOf(o), c.call(o, "valueOf")))
	default:
		return c.properties(o, c.i.rt.NewObject(), o.Keys())
	}
}

// view returns a new view of the same Go value if o is an unchanged view, or nil.
func (c *cloner) view(o *goja.Object) *goja.Object {
	switch o.ExportType() {
	case objectType:
		if v := o.Export().(*object); !v.changed {
			return c.i.toValue(v.source, nil, v.reads).(*goja.Object)
		}
	case arrayType:
		if v := o.Export().(*array); !v.changed {
			return c.i.toValue(v.source, nil, nil).(*goja.Object)
		}
	}
	return nil
}

func (c *cloner) array(o *goja.Object) goja.Value {
	out := c.remember(o, c.i.rt.NewArray())
	c.throw(out.Set("length", o.Get("length")))
	return c.properties(o, out, o.Keys())
}

func (c *cloner) properties(o, out *goja.Object, keys []string) goja.Value {
	c.remember(o, out)
	for _, key := range keys {
		c.throw(out.Set(key, c.value(o.Get(key))))
	}
	return out
}

// collection copies a Map or a Set. It gives the script no function of its own, which could be kept.
func (c *cloner) collection(o *goja.Object, class, add string) goja.Value {
	out := c.remember(o, c.construct(class))
	c.i.rt.ForOf(o, func(item goja.Value) bool {
		if entry, ok := item.(*goja.Object); ok && class == "Map" {
			c.call(out, add, c.value(entry.Get("0")), c.value(entry.Get("1")))
		} else {
			c.call(out, add, c.value(item))
		}
		return true
	})
	return out
}

func (c *cloner) construct(class string, args ...goja.Value) *goja.Object {
	made, err := c.i.rt.New(c.i.rt.Get(class), args...)
	c.throw(err)
	return made
}

func (c *cloner) call(o *goja.Object, method string, args ...goja.Value) goja.Value {
	function, ok := goja.AssertFunction(o.Get(method))
	if !ok {
		panic(c.i.rt.NewTypeError("structuredClone: %s is not a function", method))
	}
	v, err := function(o, args...)
	c.throw(err)
	return v
}

// throw passes an error of script code to the script that called.
func (c *cloner) throw(err error) {
	if err != nil {
		panic(err)
	}
}

func (c *cloner) remember(o, copied *goja.Object) *goja.Object {
	c.made[o] = copied
	return copied
}
