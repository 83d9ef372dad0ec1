package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// statefulSet is the composite hook that the engines are compared with: ordered
// pods with a claim each, of which the next one is made when those before are
// ready. Claims are never given up.
func statefulSet(request map[string]any) map[string]any {
	parent := request["parent"].(map[string]any)
	spec := parent["spec"].(map[string]any)
	name := parent["metadata"].(map[string]any)["name"].(string)
	pods := observed(request, "Pod.v1")
	claims := observed(request, "PersistentVolumeClaim.v1")

	children, ready, wanted := []any{}, int64(0), map[string]any{}
	for ordinal := range spec["replicas"].(int64) {
		podName := fmt.Sprintf("%s-%d", name, ordinal)
		children = append(children, pod(spec, podName))
		wanted["data-"+podName] = claim(spec, "data-"+podName)
		if !isReady(pods[podName]) {
			break
		}
		ready++
	}
	maps.Copy(wanted, claims)
	for _, claimName := range slices.Sorted(maps.Keys(wanted)) {
		children = append(children, wanted[claimName])
	}
	return map[string]any{
		"status":   map[string]any{"replicas": int64(len(pods)), "readyReplicas": ready},
		"children": children,
	}
}

func observed(request map[string]any, group string) map[string]any {
	return request["children"].(map[string]any)[group].(map[string]any)
}

func isReady(pod any) bool {
	if pod == nil {
		return false
	}
	conditions := pod.(map[string]any)["status"].(map[string]any)["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition := c.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True"
	})
}

func pod(spec map[string]any, name string) map[string]any {
	template := spec["template"].(map[string]any)
	podSpec := maps.Clone(template["spec"].(map[string]any))
	podSpec["hostname"] = name
	podSpec["subdomain"] = spec["serviceName"]
	podSpec["volumes"] = []any{map[string]any{
		"name":                  "data",
		"persistentVolumeClaim": map[string]any{"claimName": "data-" + name},
	}}
	labels := maps.Clone(template["metadata"].(map[string]any)["labels"].(map[string]any))
	labels["pod-name"] = name
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Pod",
		"metadata":   map[string]any{"name": name, "labels": labels},
		"spec":       podSpec,
	}
}

func claim(spec map[string]any, name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "PersistentVolumeClaim",
		"metadata":   map[string]any{"name": name},
		"spec":       spec["claim"],
	}
}

// StatefulSetRequest returns a request with so many pods and claims observed, of
// about 5 KB for each pair. The pods from the ready-th on are not ready.
func StatefulSetRequest(replicas, existing, ready int) map[string]any {
	pods, claims := map[string]any{}, map[string]any{}
	spec := map[string]any{
		"replicas":    int64(replicas),
		"serviceName": "web",
		"claim": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web", "tier": "größe"}},
			"spec":     map[string]any{"containers": []any{container()}, "terminationGracePeriodSeconds": int64(10)},
		},
	}
	for i := range existing {
		name := fmt.Sprintf("web-%d", i)
		pods[name] = live(pod(spec, name), map[string]any{"phase": "Running", "conditions": []any{
			map[string]any{"type": "PodScheduled", "status": "True"},
			map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[i < ready]},
		}})
		claims["data-"+name] = live(claim(spec, "data-"+name), map[string]any{"phase": "Bound"})
	}
	parent := map[string]any{
		"apiVersion": "ctl.example.com/v1", "kind": "CatSet",
		"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "5d0f6a0e", "generation": int64(3)}, "spec": spec,
	}
	return map[string]any{
		"controller": map[string]any{"kind": "CompositeController"},
		"parent":     parent,
		"children":   map[string]any{"Pod.v1": pods, "PersistentVolumeClaim.v1": claims},
		"related":    map[string]any{},
		"finalizing": false,
	}
}

func container() map[string]any {
	env := []any{}
	for i := range 10 {
		env = append(env, map[string]any{"name": fmt.Sprintf("SETTING_%d", i), "value": strings.Repeat("v", 20)})
	}
	return map[string]any{
		"name": "web", "image": "registry.example.com/web:1.27", "env": env,
		"ports":     []any{map[string]any{"containerPort": int64(80), "name": "http"}},
		"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}},
	}
}

// live adds to an object what the API server adds.
func live(object, status map[string]any) map[string]any {
	metadata := maps.Clone(object["metadata"].(map[string]any))
	metadata["uid"] = "a0a0a0a0-" + metadata["name"].(string)
	metadata["resourceVersion"] = "123456"
	fields := map[string]any{}
	for i := range 47 {
		fields[fmt.Sprintf("f:field%02d", i)] = map[string]any{"f:value": map[string]any{}, ".": map[string]any{}}
	}
	metadata["managedFields"] = []any{map[string]any{
		"manager": "kubelet", "operation": "Update", "fieldsV1": map[string]any{"f:status": fields},
	}}
	out := maps.Clone(object)
	out["metadata"], out["status"] = metadata, status
	return out
}
