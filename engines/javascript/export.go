package javascript

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
)

// exporter turns a script's value into Go values, as JSON.stringify would.
type exporter struct {
	i *isolate
	engines.Budget
	// lenient leaves out what JSON.stringify leaves out, for people. Otherwise that is an error, except for fields that are undefined.
	lenient      bool
	path         engines.Path
	ancestors    []*goja.Object
	measurements map[*node]measurement
}

// export converts an answer. It may run script code: getters, toJSON, proxies.
func (i *isolate) export(v goja.Value) (any, error) {
	x := &exporter{i: i, Budget: engines.MaxResponseBytes}
	answer, kept, err := x.value(v)
	if err != nil {
		return nil, err
	}
	if !kept {
		return nil, x.path.Errorf("the function gave back undefined, not a response: is a return missing?")
	}
	return answer, nil
}

// value returns the Go value, and false for undefined, and for what else JSON leaves out if that is no error.
func (x *exporter) value(v goja.Value) (any, bool, error) {
	switch v := v.(type) {
	case nil:
		return nil, false, nil
	case *goja.Symbol:
		return nil, false, x.refuse("is a symbol: write its description, or leave it out")
	case *goja.Object:
		return x.object(v)
	}
	if goja.IsUndefined(v) {
		return nil, false, nil
	}
	return x.primitive(v.Export())
}

func (x *exporter) primitive(v any) (any, bool, error) {
	switch v := v.(type) {
	case float64:
		n, err := x.number(v)
		return n, true, err
	case int64: // The runtime's integers end where float64 begins to round.
		n, err := x.number(float64(v))
		return n, true, err
	case *big.Int:
		if !v.IsInt64() {
			return nil, true, x.path.Errorf("is a BigInt of more than 64 bits, which no integer of an object has")
		}
		return v.Int64(), true, x.Spend(8)
	default:
		return v, true, x.Spend(size(v))
	}
}

// number makes whole numbers int64, as decoding the same JSON would. One that was given is the integer that it was before it was rounded.
func (x *exporter) number(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, x.path.Errorf("is %v, which is no number in JSON", f)
	}
	n, ok := x.i.rounded.Number(f)
	if !ok {
		return nil, x.path.Errorf(engines.SeveralIntegers, f, "JavaScript",
			"return the object that has it as it is, change it in place, or return a BigInt, such as 9007199254740993n")
	}
	return n, x.Spend(8)
}

func (x *exporter) object(o *goja.Object) (any, bool, error) {
	if err := x.enter(o); err != nil {
		return nil, true, err
	}
	defer func() { x.ancestors = x.ancestors[:len(x.ancestors)-1] }()
	switch o.ExportType() {
	case objectType:
		v, err := x.objectView(o.Export().(*object))
		return v, true, err
	case arrayType:
		v, err := x.arrayView(o.Export().(*array))
		return v, true, err
	}
	if v, replaced, err := x.toJSON(o); err != nil || replaced {
		return x.replacement(o, v, err)
	}
	return x.ordinary(o)
}

func (x *exporter) replacement(o *goja.Object, v goja.Value, err error) (any, bool, error) {
	if err == nil && goja.IsNull(v) && classOf(o) == "Date" {
		err = x.refuse("is an invalid Date: look at what it was made of")
	}
	if err != nil {
		return nil, true, err
	}
	return x.value(v)
}

// refuse returns an error about what JSON leaves out, or has nothing of.
func (x *exporter) refuse(message string) error {
	if x.lenient {
		return nil
	}
	if len(x.path) == 0 {
		message = "the value " + message
	}
	return x.path.Errorf("%s", message)
}

// toJSON returns the result of an object's method toJSON, if it has one.
func (x *exporter) toJSON(o *goja.Object) (goja.Value, bool, error) {
	call, ok := goja.AssertFunction(o.Get("toJSON"))
	if !ok {
		return nil, false, nil
	}
	v, err := call(o, x.i.rt.ToValue(x.key()))
	return v, err == nil, err
}

// key returns the argument of toJSON, which is the last part of the path as text.
func (x *exporter) key() string {
	if len(x.path) == 0 {
		return ""
	}
	return fmt.Sprint(x.path[len(x.path)-1])
}

func (x *exporter) ordinary(o *goja.Object) (any, bool, error) {
	if _, callable := goja.AssertFunction(o); callable {
		return nil, false, x.refuse("is a function: call it, or leave it out")
	}
	var err error
	switch class := classOf(o); class {
	case "Array":
		v, err := x.array(o)
		return v, true, err
	case "String":
		return x.primitive(o.String())
	case "Number", "Boolean":
		return x.primitive(o.Export())
	case "Map":
		err = x.path.Errorf("is a Map: use Object.fromEntries(map)")
	case "Set":
		err = x.path.Errorf("is a Set: use [...set]")
	case "Promise":
		err = x.path.Errorf("is a Promise: use await")
	case "Error":
		err = x.refuse("is an Error: use its message")
	case "RegExp":
		err = x.refuse("is a RegExp: use its source")
	case "TypedArray":
		err = x.refuse("is a typed array: use [...array], or array.toBase64()")
	}
	if err != nil {
		return nil, true, err
	}
	fields, err := x.properties(o)
	if err == nil && len(fields) == 0 {
		err = x.refuseEmpty(o)
	}
	return fields, true, err
}

// refuseEmpty returns an error for an object of which JSON has nothing, though it is no empty one.
func (x *exporter) refuseEmpty(o *goja.Object) error {
	class := o.Prototype()
	if class == nil || class == x.i.rt.NewObject().Prototype() || len(o.Keys()) > 0 {
		return nil
	}
	if _, ok := goja.AssertFunction(o.Get("next")); ok {
		return x.refuse("is an iterator: use [...iterator]")
	}
	return x.refuse("is of a class, and has no fields of its own: give it fields, or a method toJSON")
}

func (x *exporter) array(o *goja.Object) (any, error) {
	length := o.Get("length").ToInteger()
	elements := []any{}
	for n := range length {
		v, err := x.element(int(n), o.Get(strconv.FormatInt(n, 10)))
		if err != nil {
			return nil, err
		}
		elements = append(elements, v)
	}
	return elements, nil
}

// element converts an element of an array. What JSON leaves out becomes null if it is no error.
func (x *exporter) element(index int, v goja.Value) (any, error) {
	x.path = append(x.path, index)
	defer x.up()
	out, kept, err := x.value(v)
	if err == nil && !kept {
		if err = x.refuse("is undefined: filter it out of the list, or write null"); err == nil {
			err = x.Spend(4)
		}
	}
	return out, err
}

func (x *exporter) properties(o *goja.Object) (map[string]any, error) {
	keys := o.Keys()
	out := make(map[string]any, len(keys))
	for _, key := range keys {
		if err := x.property(out, key, o.Get(key)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (x *exporter) property(out map[string]any, key string, v goja.Value) error {
	x.path = append(x.path, key)
	defer x.up()
	converted, kept, err := x.value(v)
	if err != nil || !kept {
		return err
	}
	out[key] = converted
	return x.Spend(len(key) + 4)
}

func (x *exporter) up() { x.path = x.path[:len(x.path)-1] }

// enter goes one object deeper.
func (x *exporter) enter(o *goja.Object) error {
	if slices.Contains(x.ancestors, o) {
		return x.path.Errorf("holds itself")
	}
	if len(x.ancestors) >= maxAnswerNesting {
		return x.path.Errorf("is nested more than %d deep", maxAnswerNesting)
	}
	x.ancestors = append(x.ancestors, o)
	return x.Spend(2)
}
