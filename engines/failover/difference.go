package failover

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a path at which two answers differ.
type Difference struct {
	// Path is such as children[v1/ConfigMap/default/a].data.key.
	Path string
	// Served and Shadow are what is there; absent stands for nothing.
	Served, Shadow any
	// Secret is true if they are parts of a Secret.
	Secret bool
}

// absent is the value of a field that is not there.
type absent struct{}

// differences returns the semantic differences of two answers, sorted. The order of objects
// does not matter, 1 and 1.0 are equal, a null field of the answer itself is absent, and a
// null list is empty.
func differences(served, shadow any) []Difference {
	var c comparison
	one, ok := served.(map[string]any)
	other, also := shadow.(map[string]any)
	if ok && also {
		c.fields("", withoutNulls(one), withoutNulls(other))
	} else {
		c.values("", served, shadow)
	}
	return c.found
}

// lists are the fields of answers that list objects or rules.
var lists = []string{"children", "attachments", "outputs", "relatedResources"}

func withoutNulls(answer map[string]any) map[string]any {
	kept := make(map[string]any, len(answer))
	for field, value := range answer {
		switch {
		case value != nil:
			kept[field] = value
		case slices.Contains(lists, field):
			kept[field] = []any{}
		}
	}
	return kept
}

type comparison struct {
	found  []Difference
	secret bool // what is compared now is part of a Secret
}

func (c *comparison) differ(path string, served, shadow any) {
	c.found = append(c.found, Difference{Path: strings.TrimPrefix(path, "."), Served: served, Shadow: shadow, Secret: c.secret})
}

func (c *comparison) values(path string, served, shadow any) {
	switch one := served.(type) {
	case map[string]any:
		if other, ok := shadow.(map[string]any); ok {
			c.fields(path, one, other)
			return
		}
	case []any:
		if other, ok := shadow.([]any); ok {
			c.items(path, one, other)
			return
		}
	default:
		if equalScalars(served, shadow) {
			return
		}
	}
	c.differ(path, served, shadow)
}

// equalScalars compares values that are neither object nor list.
func equalScalars(a, b any) bool {
	x, isNumber := number(a)
	y, too := number(b)
	if isNumber && too {
		return x == y
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	default:
		return 0, false
	}
}

func (c *comparison) fields(path string, served, shadow map[string]any) {
	defer func(outer bool) { c.secret = outer }(c.secret)
	c.secret = c.secret || isSecret(served) || isSecret(shadow)
	for _, key := range slices.Sorted(maps.Keys(keysOf(served, shadow))) {
		c.entry(path+"."+key, served, shadow, key)
	}
}

// entry compares what two maps have at one key, if anything.
func (c *comparison) entry(path string, served, shadow map[string]any, key string) {
	one, ok := served[key]
	other, also := shadow[key]
	switch {
	case !ok:
		c.differ(path, absent{}, other)
	case !also:
		c.differ(path, one, absent{})
	default:
		c.values(path, one, other)
	}
}

func keysOf(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return all
}

func (c *comparison) items(path string, served, shadow []any) {
	one, ok := byIdentity(served)
	other, also := byIdentity(shadow)
	if ok && also {
		for _, name := range slices.Sorted(maps.Keys(keysOf(one, other))) {
			c.entry(path+"["+name+"]", one, other, name)
		}
		return
	}
	for i := range max(len(served), len(shadow)) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= len(served):
			c.differ(at, absent{}, shadow[i])
		case i >= len(shadow):
			c.differ(at, served[i], absent{})
		default:
			c.values(at, served[i], shadow[i])
		}
	}
}

// byIdentity returns the objects of a list by apiVersion, kind, namespace and name. It
// returns false if the list has other elements, or an object twice.
func byIdentity(list []any) (map[string]any, bool) {
	all := make(map[string]any, len(list))
	for _, item := range list {
		object, _ := item.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		name, ok := metadata["name"].(string)
		if !ok {
			return nil, false
		}
		var parts []string
		for _, part := range []any{object["apiVersion"], object["kind"], metadata["namespace"], name} {
			if text, _ := part.(string); text != "" {
				parts = append(parts, text)
			}
		}
		all[strings.Join(parts, "/")] = object
	}
	return all, len(all) == len(list)
}
