package cel

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// adapter shows Go values to expressions. Maps it shows so that their keys come
// sorted: the order of Go's maps, which differs from call to call, would leak into
// the lists that expressions make of them.
type adapter struct{}

// NativeToValue implements types.Adapter. The result shares v and does not change it.
func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case string:
		return types.String(v)
	case map[string]any:
		return &object{fields: v}
	case []any:
		return &array{Lister: types.NewDynamicList(a, v), elements: v}
	case []ref.Val:
		return types.NewRefValList(a, v)
	case map[ref.Val]ref.Val:
		return newDictionary(v)
	case ref.Val:
		return v
	default:
		return types.DefaultTypeAdapter.NativeToValue(v)
	}
}

// array is a list of the request.
type array struct {
	traits.Lister
	elements []any
}

// dictionary is a map that an expression made.
type dictionary struct {
	traits.Mapper
	entries map[ref.Val]ref.Val
}

func newDictionary(entries map[ref.Val]ref.Val) *dictionary {
	return &dictionary{Mapper: types.NewRefValMap(adapter{}, entries), entries: entries}
}

func (d *dictionary) Iterator() traits.Iterator {
	keys := make([]ref.Val, 0, len(d.entries))
	for key := range d.entries {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(adapter{}, keys).Iterator()
}

// compareKeys orders keys: strings as bytes, other types by their own order, and keys of
// different types by the types' names.
func compareKeys(a, b ref.Val) int {
	if x, ok := a.(types.String); ok {
		if y, ok := b.(types.String); ok {
			return cmp.Compare(x, y)
		}
	}
	if a.Type() != b.Type() {
		return cmp.Compare(a.Type().TypeName(), b.Type().TypeName())
	}
	if comparer, ok := a.(traits.Comparer); ok {
		if order, ok := comparer.Compare(b).(types.Int); ok {
			return int(order)
		}
	}
	return 0
}

// sortedInsertion replaces how transformMap and transformMapEntry add entries to
// what they make: cel-go's own maps would come unsorted.
func sortedInsertion() cel.EnvOption {
	key, value := cel.TypeParamType("K"), cel.TypeParamType("V")
	made := cel.MapType(key, value)
	return cel.Function("cel.@mapInsert",
		cel.Overload("@mapInsert_map_key_value", []*cel.Type{made, key, value}, made,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				return insert(args[0].(traits.Mapper), args[1], args[2])
			})),
		cel.Overload("@mapInsert_map_map", []*cel.Type{made, made}, made,
			cel.BinaryBinding(func(target, entries ref.Val) ref.Val {
				return insertAll(target.(traits.Mapper), entries.(traits.Mapper))
			})))
}

func insertAll(target, entries traits.Mapper) ref.Val {
	for it := entries.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		inserted := insert(target, key, entries.Get(key))
		grown, ok := inserted.(traits.Mapper)
		if !ok {
			return inserted
		}
		target = grown
	}
	return target
}

// insert adds an entry in place. The target has no other user: it is the empty
// map that a comprehension starts with, or what this function made of it.
func insert(target traits.Mapper, key, value ref.Val) ref.Val {
	if _, taken := target.Find(key); taken {
		return types.NewErr("insert failed: key %v already exists", key)
	}
	made, ok := target.(*dictionary)
	if !ok {
		made = newDictionary(map[ref.Val]ref.Val{})
	}
	made.entries[key] = value
	made.Mapper = types.NewRefValMap(adapter{}, made.entries)
	return made
}
