package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// merging declares merge(base, over): a map with the fields of both. Where both
// have a map, these are merged in turn; anything else of over, a list or null too,
// takes the place of what base has.
func merging() cel.EnvOption {
	fields := cel.MapType(cel.StringType, cel.DynType)
	return cel.Function("merge", cel.Overload("merge_map_map", []*cel.Type{fields, fields}, fields,
		cel.BinaryBinding(func(base, over ref.Val) ref.Val {
			return merge(base.(traits.Mapper), over.(traits.Mapper))
		})))
}

func merge(base, over traits.Mapper) ref.Val {
	merged := map[ref.Val]ref.Val{}
	for it := base.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		merged[key] = base.Get(key)
	}
	for it := over.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value := over.Get(key)
		below, ok := merged[key].(traits.Mapper)
		if above, both := value.(traits.Mapper); ok && both {
			value = merge(below, above)
		}
		merged[key] = value
	}
	return newDictionary(merged)
}

// failing declares fail(message), which has no value: the hook fails with the message.
func failing() cel.EnvOption {
	return cel.Function("fail", cel.Overload("fail_string", []*cel.Type{cel.StringType}, cel.DynType,
		cel.UnaryBinding(func(message ref.Val) ref.Val {
			return types.NewErr("%s", string(message.(types.String)))
		})))
}

// cappedRange replaces lists.range by one that does not make a list of any
// length before its cost is charged.
func cappedRange() cel.EnvOption {
	return cel.Function("lists.range", cel.Overload("lists_range", []*cel.Type{cel.IntType}, cel.ListType(cel.IntType),
		cel.UnaryBinding(func(n ref.Val) ref.Val {
			length := max(n.(types.Int), 0)
			if length > maxRange {
				return types.NewErr("lists.range(%d): at most %d", length, maxRange)
			}
			numbers := make([]ref.Val, length)
			for i := range numbers {
				numbers[i] = types.Int(i)
			}
			return types.NewRefValList(adapter{}, numbers)
		})))
}

// cappedDistinct replaces distinct, which compares each element with each before
// its cost is charged.
func cappedDistinct() cel.EnvOption {
	list := cel.ListType(cel.TypeParamType("T"))
	return cel.Function("distinct", cel.MemberOverload("list_distinct", []*cel.Type{list}, list,
		cel.UnaryBinding(func(list ref.Val) ref.Val {
			elements := list.(traits.Lister)
			if size := elements.Size().(types.Int); size > maxDistinct {
				return types.NewErr("distinct(): the list has %d elements, and may have %d", size, maxDistinct)
			}
			return distinct(elements)
		})))
}

func distinct(elements traits.Lister) ref.Val {
	kept := []ref.Val{}
	for it := elements.Iterator(); it.HasNext() == types.True; {
		if element := it.Next(); !contains(kept, element) {
			kept = append(kept, element)
		}
	}
	return types.NewRefValList(adapter{}, kept)
}

func contains(list []ref.Val, value ref.Val) bool {
	for _, element := range list {
		if types.Equal(element, value) == types.True {
			return true
		}
	}
	return false
}
