package authoring

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// objectsOf, findCondition, isConditionTrue, setCondition and ordinalOf are for CEL: the modules have them in their own
// languages.

// objectsOf returns the objects of a group by their keys.
func objectsOf(groups, apiVersion, kind any) (any, error) {
	group, err := groupOf(groups, apiVersion, kind)
	objects := make([]any, 0, len(group))
	for _, key := range slices.Sorted(maps.Keys(group)) {
		objects = append(objects, group[key])
	}
	return objects, err
}

// groupOf returns the objects of a kind by their keys.
func groupOf(groups, apiVersion, kind any) (map[string]any, error) {
	given, ok := groups.(map[string]any)
	switch {
	case kind == "":
		return nil, wrong("kind", kind, "a non-empty string")
	case apiVersion == "":
		return nil, wrong("apiVersion", apiVersion, "a non-empty string")
	case !ok:
		return nil, wrong("groups", groups, "children, attachments, outputs or related")
	}
	wanted := fmt.Sprintf("%s.%s", kind, apiVersion)
	value, ok := given[wanted]
	if !ok {
		return nil, fmt.Errorf("there is no group %s, only [%s]", wanted, strings.Join(slices.Sorted(maps.Keys(given)), ", "))
	}
	group, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(fmt.Sprintf("groups[%q]", wanted), value, "an object")
	}
	return group, nil
}

// findCondition returns the condition of a type, or nil.
func findCondition(object, conditionType any) (any, error) {
	fields, ok := object.(map[string]any)
	if object != nil && !ok {
		return nil, wrong("object", object, "an object or null")
	}
	status, _ := fields["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	if i := indexOf(conditions, conditionType); i >= 0 {
		return conditions[i], nil
	}
	return nil, nil
}

func indexOf(conditions []any, conditionType any) int {
	return slices.IndexFunc(conditions, func(c any) bool {
		fields, ok := c.(map[string]any)
		return ok && fields["type"] == conditionType
	})
}

func isConditionTrue(object, conditionType any) (any, error) {
	found, err := findCondition(object, conditionType)
	condition, _ := found.(map[string]any)
	return condition["status"] == "True", err
}

// setCondition returns a list with the condition in its place or at the end.
func setCondition(conditions, condition, now any) (any, error) {
	list, ok := conditions.([]any)
	if conditions != nil && !ok {
		return nil, wrong("conditions", conditions, "a list or null")
	}
	given, ok := condition.(map[string]any)
	conditionType, _ := given["type"].(string)
	if _, isText := given["status"].(string); !ok || !isText || conditionType == "" {
		return nil, wrong("condition", condition, "an object with type and status, which are strings")
	}
	changed, time := maps.Clone(given), now
	delete(changed, "lastTransitionTime")
	i := indexOf(list, conditionType)
	if i >= 0 {
		old := list[i].(map[string]any)
		if kept, _ := old["lastTransitionTime"].(string); kept != "" && old["status"] == given["status"] {
			time = kept
		}
	}
	if time != nil && time != "" {
		changed["lastTransitionTime"] = time
	}
	if i < 0 {
		return append(slices.Clone(list), changed), nil
	}
	list = slices.Clone(list)
	list[i] = changed
	return list, nil
}

// ordinalOf returns n of base-n, or nil.
func ordinalOf(name, base any) (any, error) {
	whole, ok := name.(string)
	if !ok {
		return nil, wrong("name", name, "a string")
	}
	prefix, ok := base.(string)
	if !ok {
		return nil, wrong("base", base, "a string")
	}
	digits, found := strings.CutPrefix(whole, prefix+"-")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !found || err != nil || strconv.FormatUint(n, 10) != digits || len(digits) > 10 {
		return nil, nil
	}
	return int64(n), nil
}
