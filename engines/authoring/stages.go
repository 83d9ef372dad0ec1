package authoring

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/apply/readiness"
)

// findChild, readyCondition, inOrder, tearDown, waiting and needs are for CEL: the modules have them in their own languages.

// observed is a desired child, and the object that there is of it, or nil.
type observed struct {
	child  map[string]any
	object any
	readiness.Status
}

func findChild(groups, child, parent any) (any, error) {
	found, err := find("child", groups, child, parent)
	return found.object, err
}

// find finds a child that the caller has by that name.
func find(parameter string, groups, child, parent any) (observed, error) {
	fields, _ := child.(map[string]any)
	apiVersion, isVersion := fields["apiVersion"].(string)
	kind, isKind := fields["kind"].(string)
	metadata, _ := fields["metadata"].(map[string]any)
	name, isNamed := metadata["name"].(string)
	if !isVersion || !isKind || !isNamed {
		return observed{}, wrong(parameter, child, "an object with apiVersion, kind and metadata.name")
	}
	group, err := groupOf(groups, apiVersion, kind)
	if err != nil {
		return observed{}, err
	}
	above, ok := parent.(map[string]any)
	if parent != nil && !ok {
		return observed{}, wrong("parent", parent, "an object or null")
	}
	of, err := namespaceOf(above)
	if err != nil {
		return observed{}, err
	}
	namespace, err := namespaceOf(fields)
	if err != nil {
		return observed{}, err
	}
	if namespace == "" {
		namespace = of
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	object, ok := group[key]
	if !ok && of != "" {
		object = group[name] // Hooks of v1 have keys that are relative to the parent.
	}
	status, err := statusOf(object)
	return observed{fields, object, status}, err
}

func namespaceOf(object map[string]any) (string, error) {
	metadata, _ := object["metadata"].(map[string]any)
	namespace, ok := metadata["namespace"].(string)
	if value := metadata["namespace"]; value != nil && !ok {
		return "", wrong("metadata.namespace", value, "a string or null")
	}
	return namespace, nil
}

// findAll finds the children of a list.
func findAll(parameter string, groups, children, parent any) ([]observed, error) {
	return each(parameter, children, func(at string, child any) (observed, error) { return find(at, groups, child, parent) })
}

func stagesOf(groups, stages, parent any) ([][]observed, error) {
	return each("stages", stages, func(at string, stage any) ([]observed, error) { return findAll(at, groups, stage, parent) })
}

// each returns what a function makes of the items of a list.
func each[T any](parameter string, value any, of func(at string, item any) (T, error)) ([]T, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, wrong(parameter, value, "a list")
	}
	all := make([]T, len(list))
	for i, item := range list {
		var err error
		if all[i], err = of(fmt.Sprintf("%s[%d]", parameter, i), item); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// inOrder returns the children of the stages that are due, and those that exist.
func inOrder(groups, stages, parent any) (any, error) {
	all, err := stagesOf(groups, stages, parent)
	wanted, goOn := []any{}, true
	for _, stage := range all {
		ready := true
		for _, one := range stage {
			if goOn || one.object != nil {
				wanted = append(wanted, one.child)
			}
			ready = ready && one.State == readiness.Ready
		}
		goOn = goOn && ready
	}
	return wanted, err
}

// tearDown returns the children that exist but for those of the last stage that has some.
func tearDown(groups, stages, parent any) (any, error) {
	all, err := stagesOf(groups, stages, parent)
	kept, last := []any{}, []any{}
	for _, stage := range all {
		existing := []any{}
		for _, one := range stage {
			if one.object != nil {
				existing = append(existing, one.child)
			}
		}
		if len(existing) > 0 {
			kept, last = append(kept, last...), existing
		}
	}
	return map[string]any{"children": kept, "finalized": len(last) == 0}, err
}

// readyCondition returns a condition that is True if all children are there and ready.
func readyCondition(groups, desired, parent, conditionType any) (any, error) {
	const mostTold = 3
	children, err := findAll("desired", groups, desired, parent)
	if err != nil {
		return nil, err
	}
	var failed, unready []string
	for _, one := range children {
		message := fmt.Sprintf("%s %s: %s", one.child["kind"], one.child["metadata"].(map[string]any)["name"], one.Reason)
		switch one.State {
		case readiness.Ready:
		case readiness.Failed:
			failed = append(failed, message)
		default:
			unready = append(unready, message)
		}
	}
	status, reason, told := "False", "InProgress", append(failed, unready...)
	switch {
	case len(failed) > 0:
		reason = "Failed"
	case len(told) == 0:
		status, reason = "True", "Ready"
	}
	if conditionType == nil {
		conditionType = "Ready"
	}
	count := fmt.Sprintf("%d of %d ready", len(children)-len(told), len(children))
	message := strings.Join(append([]string{count}, told[:min(len(told), mostTold)]...), "; ")
	return map[string]any{"type": conditionType, "status": status, "reason": reason, "message": message}, nil
}

var reasonWord = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// waiting returns the answer of a hook that waits.
func waiting(reason, message any) (any, error) {
	if word, ok := reason.(string); !ok || !reasonWord.MatchString(word) {
		return nil, wrong("reason", reason, `a word such as "SecretMissing"`)
	}
	if text, ok := message.(string); !ok || text == "" {
		return nil, wrong("message", message, "a non-empty string")
	}
	return map[string]any{"waiting": map[string]any{"reason": reason, "message": message}}, nil
}

// needs returns the answer of a hook that waits for an object, or nil if it is ready.
func needs(object, what any) (any, error) {
	status, err := statusOf(object)
	text, ok := what.(string)
	switch {
	case err != nil:
		return nil, err
	case !ok || text == "":
		return nil, wrong("what", what, "a non-empty string")
	case status.State == readiness.Ready:
		return nil, nil
	}
	reason := "NotReady"
	if object == nil {
		reason = "NotFound"
	}
	return waiting(reason, fmt.Sprintf("waits for %s: %s", text, status.Reason))
}
