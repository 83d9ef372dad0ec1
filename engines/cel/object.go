package cel

import (
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/libretto-k8s/libretto/engines"
)

// object is a map of the request. It implements traits.Mapper.
type object struct {
	fields map[string]any
	// reads notes what expressions see of fields. It is nil but for the request, the parent and its metadata.
	reads *engines.Reads
}

// all returns the fields, all of which are read.
func (o *object) all() map[string]any {
	o.reads.All()
	return o.fields
}

// mapper returns cel-go's own map of all fields.
func (o *object) mapper() traits.Mapper { return types.NewStringInterfaceMap(adapter{}, o.all()) }

// Find implements traits.Mapper.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, found := o.fields[string(name)]
	part := o.reads.Field(string(name), v)
	switch {
	case !found:
		return nil, false
	case part != nil:
		return &object{fields: v.(map[string]any), reads: part}, true
	default:
		return adapter{}.NativeToValue(v), true
	}
}

// Get implements traits.Indexer.
func (o *object) Get(key ref.Val) ref.Val {
	v, found := o.Find(key)
	if !found {
		return types.ValOrErr(v, "no such key: %v", key)
	}
	return v
}

// Contains implements traits.Container.
func (o *object) Contains(key ref.Val) ref.Val {
	_, found := o.Find(key)
	return types.Bool(found)
}

// Iterator implements traits.Iterable. The keys are sorted.
func (o *object) Iterator() traits.Iterator {
	keys := make([]ref.Val, 0, len(o.fields))
	for _, key := range slices.Sorted(maps.Keys(o.all())) {
		keys = append(keys, types.String(key))
	}
	return types.NewRefValList(adapter{}, keys).Iterator()
}

// Size implements traits.Sizer.
func (o *object) Size() ref.Val { return types.Int(len(o.all())) }

// Equal implements ref.Val.
func (o *object) Equal(other ref.Val) ref.Val { return o.mapper().Equal(other) }

// ConvertToNative implements ref.Val.
func (o *object) ConvertToNative(t reflect.Type) (any, error) { return o.mapper().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (o *object) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return o
	case types.TypeType:
		return types.MapType
	default:
		return o.mapper().ConvertToType(t)
	}
}

// Type implements ref.Val.
func (o *object) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (o *object) Value() any { return o.all() }
