package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Hook names a behaviour that each engine is given in its own language.
type Hook string

// Name returns what the hook is called in a definition, "sync" for most.
func (h Hook) Name() string {
	switch h {
	case Finalize, Customize, Map:
		return strings.ToLower(string(h))
	default:
		return "sync"
	}
}

const (
	// Echo answers the request's "value".
	Echo Hook = "Echo"
	// Numbers answers numbers that it makes itself, and the product of the request's "a" and "b".
	Numbers Hook = "Numbers"
	// Change writes to the request where its language can, and answers its
	// "labels" with a: "changed" added and "list" sorted.
	Change Hook = "Change"
	// Count counts its calls where its language lets it, and answers {"calls": 1} if none left a trace.
	Count Hook = "Count"
	// Never does not answer. Its far side, if there is one, ends when the caller hangs up.
	Never Hook = "Never"
	// Fail throws an error with the message "boom".
	Fail Hook = "Fail"
	// Invalid does not load.
	Invalid Hook = "Invalid"
	// Clock answers {"now": the time of the call in any notation}.
	Clock Hook = "Clock"
	// StatefulSet answers as the function of that name does.
	StatefulSet Hook = "StatefulSet"
	// Decorator, Finalize, Customize and Map are what there is beside a composite's
	// sync; see kinds.go.
	Decorator Hook = "Decorator"
	Finalize  Hook = "Finalize"
	Customize Hook = "Customize"
	Map       Hook = "Map"
)

// Reference returns what a hook does, for hooks that answer. Servers can be made of it.
func Reference(hook Hook, request map[string]any) (any, error) {
	switch hook {
	case Echo:
		return request["value"], nil
	case Numbers:
		return numbers(request), nil
	case Change:
		return change(request), nil
	case Count:
		return map[string]any{"calls": int64(1)}, nil
	case Clock:
		return map[string]any{"now": "2026-10-03T12:00:00Z"}, nil
	case Fail:
		return nil, errors.New("boom")
	case StatefulSet:
		return statefulSet(request), nil
	case Decorator:
		return decorator(request), nil
	case Finalize:
		return finalize(request), nil
	case Customize:
		return customize(request), nil
	case Map:
		return mapped(request), nil
	default:
		return nil, fmt.Errorf("the hook %s does not answer", hook)
	}
}

func numbers(request map[string]any) map[string]any {
	return map[string]any{
		"one":      int64(1),
		"half":     1.5,
		"negative": int64(-3),
		"large":    int64(1<<53 - 1),
		"product":  request["a"].(int64) * request["b"].(int64),
	}
}

func change(request map[string]any) map[string]any {
	copied := runtime.DeepCopyJSON(request)
	labels, list := copied["labels"].(map[string]any), copied["list"].([]any)
	labels["a"] = "changed"
	slices.SortFunc(list, func(x, y any) int { return int(x.(int64) - y.(int64)) })
	return map[string]any{"labels": labels, "list": list}
}
