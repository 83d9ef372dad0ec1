package jsonnet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// natives are the functions that every script has through std.native. They read their
// arguments and nothing else. Their names, and those of their parameters, are
// jsonnetd's for the first two, and otherwise Tanka's and kubecfg's.
var natives = []*vm.NativeFunction{
	native("jsonUnmarshal", parseJSON, "jsonStr"),
	{Name: "parseInt", Params: ast.Identifiers{"intStr", "base"}, Func: parseInt},
	native("parseJson", parseJSON, "json"),
	native("parseYaml", parseYAML, "yaml"),
	{Name: "manifestJsonFromJson", Params: ast.Identifiers{"json", "indent"}, Func: manifestJSON},
	native("manifestYamlFromJson", manifestYAML, "json"),
	native("escapeStringRegex", escapeRegex, "str"),
	native("regexMatch", regexMatch, "regex", "string"),
	native("regexSubst", regexSubst, "regex", "src", "repl"),
	native("sha256", sha256Of, "str"),
	{Name: "$formatCount", Params: ast.Identifiers{"str"}, Func: formatCount},
	{Name: "$formatKeys", Params: ast.Identifiers{"str"}, Func: formatKeys},
	{Name: "$formatValues", Params: ast.Identifiers{"str", "values"}, Func: formatValues},
	{Name: "$formatNumber", Params: ast.Identifiers{"code", "number"}, Func: formatNumber},
	{Name: authoring.NativeName, Params: ast.Identifiers{"name", "args"}, Func: callAuthoring},
}

// callAuthoring implements the functions of the host's own module that are written in Go.
func callAuthoring(given []any) (any, error) {
	name, _ := given[0].(string)
	args, ok := given[1].([]any)
	if !ok {
		return nil, fmt.Errorf("args must be an array, and is of type %s", typeOf(given[1]))
	}
	x := &exporter{Budget: engines.MaxResponseBytes, rounded: &engines.Rounded{}}
	if err := x.array(args); err != nil {
		return nil, fmt.Errorf("%s: an argument is larger than %d MiB", name, engines.MaxResponseBytes>>20)
	}
	return authoring.Call(name, args)
}

// native returns a function of strings alone.
func native(name string, f func([]string) (any, error), parameters ...ast.Identifier) *vm.NativeFunction {
	return &vm.NativeFunction{Name: name, Params: parameters, Func: func(args []any) (any, error) {
		texts := make([]string, len(args))
		for i := range args {
			text, ok := args[i].(string)
			if !ok {
				return nil, fmt.Errorf("%s: %s must be a string, and is of type %s", name, parameters[i], typeOf(args[i]))
			}
			texts[i] = text
		}
		result, err := f(texts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return result, nil
	}}
}

// typeOf returns the type as std.type names it.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func parseInt(args []any) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("parseInt: intStr must be a string, and is of type %s", typeOf(args[0]))
	}
	base, ok := args[1].(float64)
	if !ok {
		return nil, fmt.Errorf("parseInt: base must be a number, and is of type %s", typeOf(args[1]))
	}
	n, err := strconv.ParseInt(text, int(base), 64)
	if err != nil {
		return nil, fmt.Errorf("parseInt: %w", err)
	}
	return float64(n), nil
}

func escapeRegex(args []string) (any, error) { return regexp.QuoteMeta(args[0]), nil }

func regexMatch(args []string) (any, error) {
	pattern, err := regexp.Compile(args[0])
	if err != nil {
		return nil, err
	}
	return pattern.MatchString(args[1]), nil
}

func regexSubst(args []string) (any, error) {
	pattern, err := regexp.Compile(args[0])
	if err != nil {
		return nil, err
	}
	return pattern.ReplaceAllString(args[1], args[2]), nil
}

func sha256Of(args []string) (any, error) {
	sum := sha256.Sum256([]byte(args[0]))
	return hex.EncodeToString(sum[:]), nil
}
