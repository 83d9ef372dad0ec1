package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decorator attaches a Service to each pod of an object that is annotated with ports.
func decorator(request map[string]any) map[string]any {
	object := request["object"].(map[string]any)
	metadata, spec := object["metadata"].(map[string]any), object["spec"].(map[string]any)
	ports := []any{}
	for text := range strings.SplitSeq(metadata["annotations"].(map[string]any)["ctl.example.com/pod-services"].(string), ",") {
		port, _ := strconv.ParseInt(text, 10, 64)
		ports = append(ports, map[string]any{"name": "port-" + text, "port": port})
	}
	ordinals, _ := spec["ordinals"].(map[string]any)
	first, _ := ordinals["start"].(int64)
	attachments := []any{}
	for i := range spec["replicas"].(int64) {
		name := fmt.Sprintf("%s-%d", metadata["name"], first+i)
		attachments = append(attachments, map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"selector": map[string]any{"statefulset.kubernetes.io/pod-name": name}, "ports": ports},
		})
	}
	return map[string]any{"labels": map[string]any{"pod-services": strconv.Itoa(len(ports)), "old": nil}, "attachments": attachments}
}

// finalize waits until nothing is attached any more.
func finalize(request map[string]any) map[string]any {
	left := 0
	for _, group := range request["attachments"].(map[string]any) {
		left += len(group.(map[string]any))
	}
	return map[string]any{"attachments": []any{}, "finalized": left == 0, "resyncAfterSeconds": 2.5}
}

// customize selects by label and by name.
func customize(request map[string]any) map[string]any {
	parent := request["parent"].(map[string]any)
	metadata := parent["metadata"].(map[string]any)
	names := []any{}
	for _, secret := range parent["spec"].(map[string]any)["secrets"].([]any) {
		names = append(names, fmt.Sprintf("%s.%s", metadata["name"], secret))
	}
	return map[string]any{"relatedResources": []any{
		map[string]any{
			"apiVersion": "v1", "resource": "configmaps",
			"labelSelector": map[string]any{"matchLabels": map[string]any{"app": metadata["name"]}},
		},
		map[string]any{"apiVersion": "v1", "resource": "secrets", "namespace": metadata["namespace"], "names": names},
	}}
}

// mapped reports the keys and the size of a ConfigMap in another one.
func mapped(request map[string]any) map[string]any {
	input, parent := request["input"].(map[string]any), request["parent"].(map[string]any)
	name := input["metadata"].(map[string]any)["name"]
	data, _ := input["data"].(map[string]any)
	characters := 0
	for _, text := range data {
		characters += utf8.RuneCountInString(text.(string))
	}
	return map[string]any{"outputs": []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": fmt.Sprintf("%s-%s", parent["metadata"].(map[string]any)["name"], name)},
		"data": map[string]any{
			"of": name, "keys": strings.Join(slices.Sorted(maps.Keys(data)), " "), "characters": strconv.Itoa(characters),
		},
	}}}
}
