package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// libraryFunctions are those of the module for authors that CEL has too, with the types of their arguments and results,
// and with how many of the arguments may be left out.
var libraryFunctions = []struct {
	name      string
	arguments []*cel.Type
	optional  int
	result    *cel.Type
}{
	{"objectsOf", []*cel.Type{cel.DynType, cel.StringType, cel.StringType}, 0, cel.ListType(cel.DynType)},
	{"findCondition", []*cel.Type{cel.DynType, cel.StringType}, 0, cel.DynType},
	{"isConditionTrue", []*cel.Type{cel.DynType, cel.StringType}, 0, cel.BoolType},
	{"setCondition", []*cel.Type{cel.DynType, cel.DynType, cel.StringType}, 1, cel.ListType(cel.DynType)},
	{"isReady", []*cel.Type{cel.DynType}, 0, cel.BoolType},
	{"ordinalOf", []*cel.Type{cel.StringType, cel.StringType}, 0, cel.DynType},
	{"hash", []*cel.Type{cel.DynType}, 0, cel.StringType},
	{"childName", []*cel.Type{cel.StringType, cel.DynType, cel.IntType}, 2, cel.StringType},
	{"hashedName", []*cel.Type{cel.StringType, cel.DynType}, 0, cel.StringType},
}

// libraryForAuthors declares libraryFunctions. An argument may be an optional, which is null without a value.
func libraryForAuthors(env *cel.Env) (*cel.Env, error) {
	var err error
	for _, f := range libraryFunctions {
		for left := range f.optional + 1 {
			overload := f.name + "_" + string(rune('0'+len(f.arguments)-left))
			option := cel.Function(f.name, cel.Overload(overload, f.arguments[:len(f.arguments)-left], f.result,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val { return callAuthoring(f.name, len(f.arguments), args) })))
			if env, err = option(env); err != nil {
				return nil, err
			}
		}
	}
	return env, nil
}

func callAuthoring(name string, parameters int, given []ref.Val) ref.Val {
	args := make([]any, parameters)
	for i, value := range given {
		a := answer{Budget: engines.MaxResponseBytes}
		arg, _, err := a.value(value)
		if err != nil {
			return types.NewErr("%s: %v", name, err)
		}
		args[i] = arg
	}
	result, err := authoring.Call(name, args)
	if err != nil {
		return types.NewErr("%v", err)
	}
	return adapter{}.NativeToValue(result)
}
