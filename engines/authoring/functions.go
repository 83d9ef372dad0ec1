package authoring

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/readiness"
)

// functions are the rules that have one implementation, in Go, which the engines lend to the modules and to CEL. Their
// arguments and results are JSON values, as package unstructured represents them.
var functions = map[string]struct {
	parameters int
	call       func(args []any) (any, error)
}{
	"objectsOf":         {3, func(args []any) (any, error) { return objectsOf(args[0], args[1], args[2]) }},
	"findCondition":     {2, func(args []any) (any, error) { return findCondition(args[0], args[1]) }},
	"isConditionTrue":   {2, func(args []any) (any, error) { return isConditionTrue(args[0], args[1]) }},
	"setCondition":      {3, func(args []any) (any, error) { return setCondition(args[0], args[1], args[2]) }},
	"findChild":         {3, func(args []any) (any, error) { return findChild(args[0], args[1], args[2]) }},
	"inOrder":           {3, func(args []any) (any, error) { return inOrder(args[0], args[1], args[2]) }},
	"tearDown":          {3, func(args []any) (any, error) { return tearDown(args[0], args[1], args[2]) }},
	"readyCondition":    {4, func(args []any) (any, error) { return readyCondition(args[0], args[1], args[2], args[3]) }},
	"waiting":           {2, func(args []any) (any, error) { return waiting(args[0], args[1]) }},
	"needs":             {2, func(args []any) (any, error) { return needs(args[0], args[1]) }},
	"ordinalOf":         {2, func(args []any) (any, error) { return ordinalOf(args[0], args[1]) }},
	"hash":              {1, func(args []any) (any, error) { return Hash(args[0]) }},
	"childName":         {3, func(args []any) (any, error) { return childName(args[0], args[1], args[2]) }},
	"hashedName":        {2, func(args []any) (any, error) { return hashedName(args[0], args[1]) }},
	"isReady":           {1, func(args []any) (any, error) { return isReady(args[0]) }},
	"readiness":         {1, func(args []any) (any, error) { return readinessOf(args[0]) }},
	"parseQuantity":     {1, func(args []any) (any, error) { return parseQuantity(args[0]) }},
	"formatQuantity":    {2, func(args []any) (any, error) { return formatQuantity(args[0], args[1]) }},
	"compareQuantities": {2, func(args []any) (any, error) { return compareQuantities(args[0], args[1]) }},
	"addQuantities":     {2, func(args []any) (any, error) { return addQuantities(args[0], args[1]) }},
	"parseDuration":     {1, func(args []any) (any, error) { return parseDuration(args[0]) }},
	"formatDuration":    {1, func(args []any) (any, error) { return formatDuration(args[0]) }},
	"encodeBase64":      {1, func(args []any) (any, error) { return encodeBase64(args[0]) }},
	"decodeBase64":      {1, func(args []any) (any, error) { return decodeBase64(args[0]) }},
	"sha256":            {1, func(args []any) (any, error) { return sha256Of(args[0]) }},
	"canonicalJSON":     {1, func(args []any) (any, error) { return canonicalJSON(args[0]) }},
	"seededRandom":      {1, func(args []any) (any, error) { return seededRandom(args[0]) }},
	"parseYAML":         {1, func(args []any) (any, error) { return parseYAML(args[0]) }},
	"formatYAML":        {1, func(args []any) (any, error) { return formatYAML(args[0]) }},
	"parseURL":          {1, func(args []any) (any, error) { return parseURL(args[0]) }},
	"compareVersions":   {2, func(args []any) (any, error) { return compareVersions(args[0], args[1]) }},
	"satisfiesVersion":  {2, func(args []any) (any, error) { return satisfiesVersion(args[0], args[1]) }},
	"nextTime":          {2, func(args []any) (any, error) { return nextTime(args[0], args[1]) }},
	"show":              {1, func(args []any) (any, error) { return show(args[0]), nil }},
}

// Call calls the function of a name. An error starts with the name, and says which argument is wrong.
func Call(name string, args []any) (any, error) {
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	if len(args) != f.parameters {
		return nil, fmt.Errorf("%s: %d arguments, want %d", name, len(args), f.parameters)
	}
	value, err := f.call(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}

// isReady reports whether an object is ready, which null is not.
func isReady(object any) (any, error) {
	status, err := statusOf(object)
	return status.State == readiness.Ready, err
}

// readinessOf returns the state of an object, and the reason for it unless it is ready.
func readinessOf(object any) (any, error) {
	status, err := statusOf(object)
	return []any{string(status.State), status.Reason}, err
}

func statusOf(object any) (readiness.Status, error) {
	switch object := object.(type) {
	case nil:
		return readiness.Status{State: readiness.InProgress, Reason: "it does not exist"}, nil
	case map[string]any:
		return readiness.Of(&unstructured.Unstructured{Object: object}), nil
	default:
		return readiness.Status{}, wrong("object", object, "an object of the cluster or null")
	}
}

// Lengths of names: the most that a label value and most names may have, the least that leaves something of them, and of
// hashes in them.
const (
	maxNameLength   = 63
	minNameLength   = 24
	shortHashLength = 8
	nameHashLength  = 10
)

// childName returns base-suffix, or base without a suffix. If that is longer than maxLength, base is cut and its hash
// follows; a suffix that leaves no room for that is cut too.
func childName(base, suffix, maxLength any) (string, error) {
	prefix, ok := base.(string)
	if !ok || prefix == "" {
		return "", wrong("base", base, "a name")
	}
	end, err := suffixText(suffix)
	if err != nil {
		return "", err
	}
	longest := int64(maxNameLength)
	if maxLength != nil {
		if longest, ok = maxLength.(int64); !ok || longest < minNameLength || longest > 253 {
			return "", wrong("maxLength", maxLength, fmt.Sprintf("a whole number from %d to 253", minNameLength))
		}
	}
	whole := prefix + end
	if int64(len(whole)) <= longest {
		return whole, nil
	}
	if room := int(longest) - len(end) - shortHashLength - 1; room > 0 {
		return cut(prefix, room) + end, nil
	}
	return cut(whole, int(longest)-shortHashLength-1), nil
}

// suffixText returns the suffix with its dash.
func suffixText(suffix any) (string, error) {
	switch suffix := suffix.(type) {
	case nil:
		return "", nil
	case string:
		if suffix == "" {
			return "", nil
		}
		return "-" + suffix, nil
	case int64:
		return fmt.Sprintf("-%d", suffix), nil
	default:
		return "", wrong("suffix", suffix, "a string or a whole number")
	}
}

// cut returns the start of a name, without what may not stand before a dash, and the hash of the whole.
func cut(name string, length int) string {
	sum, _ := Hash(name) // A string has a hash.
	return strings.TrimRight(strings.ToValidUTF8(name[:min(length, len(name))], ""), "-._") + "-" + sum[:shortHashLength]
}

// hashedName returns base with the start of the hash of content, which changes with it.
func hashedName(base, content any) (string, error) {
	sum, err := Hash(content)
	if err != nil {
		return "", fmt.Errorf("content: %w", err)
	}
	return childName(base, sum[:nameHashLength], nil)
}

// wrong returns the error for an argument.
func wrong(parameter string, got any, want string) error {
	return fmt.Errorf("%s is %s, want %s", parameter, show(got), want)
}

// show returns a value as JSON, unless it is long.
func show(value any) string {
	const longest = 80
	text, err := minified(value)
	switch {
	case err != nil:
		return fmt.Sprintf("a %T", value)
	case len(text) <= longest:
		return text
	}
	switch value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	default:
		return strings.ToValidUTF8(text[:longest], "") + "..."
	}
}
