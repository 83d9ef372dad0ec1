package mapping

import "maps"

// inNamespace gives an answer in which the outputs that have no namespace are in
// that of their input, which is the default where the parent is in none. What is
// no proper answer, and the answer itself, stay as they are.
func inNamespace(namespace string, body any) any {
	fields, _ := body.(map[string]any)
	items, _ := fields["outputs"].([]any)
	if namespace == "" || len(items) == 0 {
		return body
	}
	placed := make([]any, len(items))
	for i, item := range items {
		placed[i] = placedIn(namespace, item)
	}
	return with(fields, map[string]any{"outputs": placed})
}

func placedIn(namespace string, item any) any {
	fields, _ := item.(map[string]any)
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok || metadata["namespace"] != nil && metadata["namespace"] != "" {
		return item
	}
	placed := maps.Clone(fields)
	placed["metadata"] = with(metadata, map[string]any{"namespace": namespace})
	return placed
}
