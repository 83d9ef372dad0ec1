package cel

import (
	"errors"
	"fmt"
	"slices"

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
	{"findChild", []*cel.Type{cel.DynType, cel.DynType, cel.DynType}, 0, cel.DynType},
	{"inOrder", []*cel.Type{cel.DynType, cel.DynType, cel.DynType}, 0, cel.ListType(cel.DynType)},
	{"tearDown", []*cel.Type{cel.DynType, cel.DynType, cel.DynType}, 0, anyObject},
	{"readyCondition", []*cel.Type{cel.DynType, cel.DynType, cel.DynType, cel.StringType}, 1, anyObject},
	{"waiting", []*cel.Type{cel.StringType, cel.StringType}, 0, anyObject},
	{"needs", []*cel.Type{cel.DynType, cel.StringType}, 0, cel.DynType},
	{"isReady", []*cel.Type{cel.DynType}, 0, cel.BoolType},
	{"ordinalOf", []*cel.Type{cel.StringType, cel.StringType}, 0, cel.DynType},
	{"hash", []*cel.Type{cel.DynType}, 0, cel.StringType},
	{"childName", []*cel.Type{cel.StringType, cel.DynType, cel.IntType}, 2, cel.StringType},
	{"hashedName", []*cel.Type{cel.StringType, cel.DynType}, 0, cel.StringType},
	{"encodeBase64", []*cel.Type{cel.StringType}, 0, cel.StringType},
	{"decodeBase64", []*cel.Type{cel.StringType}, 0, cel.StringType},
	{"sha256", []*cel.Type{cel.StringType}, 0, cel.StringType},
	{"canonicalJSON", []*cel.Type{cel.DynType}, 0, cel.StringType},
	{"seededRandom", []*cel.Type{cel.DynType}, 0, cel.DoubleType},
	{"parseYAML", []*cel.Type{cel.StringType}, 0, cel.DynType},
	{"formatYAML", []*cel.Type{cel.DynType}, 0, cel.StringType},
	{"compareVersions", []*cel.Type{cel.StringType, cel.StringType}, 0, cel.IntType},
	{"satisfiesVersion", []*cel.Type{cel.StringType, cel.StringType}, 0, cel.BoolType},
	{"nextTime", []*cel.Type{cel.StringType, cel.StringType}, 0, cel.DynType},
	{"parseURL", []*cel.Type{cel.StringType}, 0, cel.MapType(cel.StringType, cel.DynType)},
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

// maxHashed bounds a value that is hashed or parsed, because only what comes of it is charged.
const maxHashed = 1 << 20

var (
	hashing = []string{"hash", "hashedName", "sha256", "seededRandom", "parseYAML", "parseURL"}
	// finding are functions that look for children of a parent, of which they read the namespace.
	finding = []string{"findChild", "inOrder", "tearDown", "readyCondition"}
)

func callAuthoring(name string, parameters int, given []ref.Val) ref.Val {
	args := make([]any, parameters)
	for i, value := range given {
		arg, err := argument(name, value)
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

// argument returns the JSON of an argument to a function. Parts of the request are not copied.
func argument(function string, value ref.Val) (any, error) {
	budget := engines.Budget(engines.MaxResponseBytes)
	part, ok := value.(*object)
	switch {
	case slices.Contains(hashing, function):
		budget = maxHashed
	case ok && part.reads != nil && (function == "findCondition" || function == "isConditionTrue"):
		part.reads.Field("status", part.fields["status"]) // They look at no other field.
		return part.fields, nil
	case ok && part.reads != nil && slices.Contains(finding, function):
		return part.namespaced(), nil
	case ok:
		return part.all(), nil
	}
	a := answer{Budget: budget}
	arg, _, err := a.value(value)
	if failed := new(engines.Error); errors.As(err, &failed) && failed.Kind == engines.Exhausted {
		return nil, fmt.Errorf("an argument is larger than %d MiB", budget>>20)
	}
	return arg, err
}

// namespaced returns an object with the namespace of o, if it has one.
func (o *object) namespaced() map[string]any {
	metadata, _ := o.Find(types.String("metadata"))
	if fields, ok := metadata.(*object); ok {
		if namespace, found := fields.Find(types.String("namespace")); found {
			return map[string]any{"metadata": map[string]any{"namespace": namespace.Value()}}
		}
	}
	return map[string]any{}
}
