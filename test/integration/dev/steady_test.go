package dev

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unmade are kinds and names of objects that only a real cluster has: what its controllers make of Services and Deployments, and for itself.
// The host makes libretto-finalizers once it has looked for finalizers, which is at a time of its own.
var unmade = map[string]bool{
	"APIService": true, "EndpointSlice": true, "IPAddress": true, "ReplicaSet": true, "kube-root-ca.crt": true, "libretto-finalizers": true,
}

// serverField is a field with a value that the API server and the controllers of a real cluster set. The words of its path are names of
// fields, and a * for all items of a list.
type serverField struct {
	path  string
	value any
}

// anything stands for all values.
var anything = &struct{}{}

// serverFields are those of built-in kinds, which the cluster in memory does not set. Of these kinds it is compared who has written, but not
// which fields.
var serverFields = map[string][]serverField{
	"Pod": append([]serverField{
		{"spec nodeName", "stand-in"},
		{"spec preemptionPolicy", "PreemptLowerPriority"},
		{"spec priority", int64(0)},
		{"spec serviceAccount", "default"},
		{"spec serviceAccountName", "default"},
		{"spec tolerations", []any{
			map[string]any{"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": int64(300)},
			map[string]any{"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": int64(300)},
		}},
	}, podDefaults("spec ")...),
	"Deployment": append([]serverField{
		{"metadata annotations deployment.kubernetes.io/revision", "1"},
		{"spec progressDeadlineSeconds", int64(600)},
		{"spec revisionHistoryLimit", int64(10)},
		{"spec strategy", map[string]any{
			"rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate",
		}},
		{"spec template spec terminationGracePeriodSeconds", int64(30)},
		{"status conditions * lastUpdateTime", "TIME"},
		{"status conditions * message", anything}, // It names a ReplicaSet.
	}, podDefaults("spec template spec ")...),
	"PersistentVolumeClaim": {
		{"metadata finalizers", []any{"kubernetes.io/pvc-protection"}},
		{"spec volumeMode", "Filesystem"},
	},
	"Service": {
		{"spec clusterIP", "IP"},
		{"spec clusterIPs", []any{"IP"}},
		{"spec clusterIPs", []any{"None"}},
		{"spec internalTrafficPolicy", "Cluster"},
		{"spec ipFamilies", []any{"IPv4"}},
		{"spec ipFamilyPolicy", "SingleStack"},
		{"spec ports * protocol", "TCP"},
		{"spec sessionAffinity", "None"},
		{"spec type", "ClusterIP"},
		{"status", map[string]any{"loadBalancer": map[string]any{}}},
	},
	"Namespace":                {},
	"CustomResourceDefinition": {},
}

// podDefaults returns the defaults below the spec of a Pod.
func podDefaults(spec string) []serverField {
	return []serverField{
		{spec + "containers * imagePullPolicy", "IfNotPresent"},
		{spec + "containers * ports * protocol", "TCP"},
		{spec + "containers * resources", map[string]any{}},
		{spec + "containers * terminationMessagePath", "/dev/termination-log"},
		{spec + "containers * terminationMessagePolicy", "File"},
		{spec + "dnsPolicy", "ClusterFirst"},
		{spec + "enableServiceLinks", true},
		{spec + "restartPolicy", "Always"},
		{spec + "schedulerName", "default-scheduler"},
	}
}

// dropField removes the fields at a path that have a value.
func dropField(value any, path []string, dropped any) {
	switch v := value.(type) {
	case map[string]any:
		if len(path) > 1 {
			dropField(v[path[0]], path[1:], dropped)
		} else if dropped == anything || reflect.DeepEqual(v[path[0]], dropped) {
			delete(v, path[0])
		}
	case []any:
		for _, item := range v {
			dropField(item, path[1:], dropped)
		}
	}
}

// steadyFields returns an object without what depends on its cluster.
func steadyFields(object *unstructured.Unstructured, uids *strings.Replacer) map[string]any {
	kind := object.GetKind()
	metadata, _ := object.Object["metadata"].(map[string]any)
	if managers := managersOf(object); len(managers) > 0 {
		metadata["managedFields"] = managers
	}
	delete(metadata, "resourceVersion")
	if kind == "Pod" {
		dropToken(object)
		object.Object["status"] = podStatus(object)
	}
	steady := steadyValue(object.Object, uids).(map[string]any)
	if kind == "Deployment" { // The condition that was written last is the last one.
		conditions, _, _ := unstructured.NestedFieldNoCopy(steady, "status", "conditions")
		list, _ := conditions.([]any)
		slices.SortFunc(list, func(a, b any) int {
			return strings.Compare(fmt.Sprint(a.(map[string]any)["type"]), fmt.Sprint(b.(map[string]any)["type"]))
		})
	}
	for _, field := range serverFields[kind] {
		dropField(steady, strings.Fields(field.path), field.value)
	}
	return steady
}

// managersOf returns who has written which fields. Of built-in kinds that are incomplete in memory they are not compared.
func managersOf(object *unstructured.Unstructured) map[string]any {
	managers := map[string]any{}
	for _, entry := range object.GetManagedFields() {
		name := strings.TrimSpace(clusters.Replace(entry.Manager) + " " + string(entry.Operation) + " " + entry.Subresource)
		isCluster := strings.HasPrefix(name, "cluster ")
		if object.GetKind() == "Namespace" && isCluster {
			continue // The API server sets at the creation what a controller in memory sets after it.
		}
		managers[name] = true
		if entry.FieldsV1 != nil && serverFields[object.GetKind()] == nil && !isCluster {
			managers[name] = entry.FieldsV1.GetRawString()
		}
	}
	return managers
}

// dropToken removes the volume of the service account's token, which the API server adds.
func dropToken(pod *unstructured.Unstructured) {
	drop := func(fields any, name string) {
		from, _ := fields.(map[string]any)
		list, found := from[name].([]any)
		if !found {
			return
		}
		from[name] = slices.DeleteFunc(list, func(item any) bool {
			volume, _ := item.(map[string]any)["name"].(string)
			return strings.HasPrefix(volume, "kube-api-access-")
		})
	}
	drop(pod.Object["spec"], "volumes")
	containers, _, _ := unstructured.NestedFieldNoCopy(pod.Object, "spec", "containers")
	for _, container := range containers.([]any) {
		drop(container, "volumeMounts")
	}
}

// podStatus returns of the status of a Pod what both stand-ins for a kubelet mean: the rest is their own.
func podStatus(pod *unstructured.Unstructured) map[string]any {
	status, _ := pod.Object["status"].(map[string]any)
	shown := map[string]any{"phase": status["phase"], "observedGeneration": status["observedGeneration"], "qosClass": status["qosClass"]}
	conditions, _ := status["conditions"].([]any)
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		shown[fmt.Sprint(condition["type"])] = condition["status"]
	}
	containers, _ := status["containerStatuses"].([]any)
	for _, item := range containers {
		container, _ := item.(map[string]any)
		shown[fmt.Sprint(container["name"], " of ", container["image"])] = container["ready"]
	}
	return shown
}

// clusters replaces the names of a cluster's own parts. The real one is a process that has several of them.
var clusters = strings.NewReplacer("controlplane", "cluster", "kubelet", "cluster", "kube-controller-manager", "cluster")

var (
	timeText  = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:.]+Z\b`)
	clusterIP = regexp.MustCompile(`\b10\.96\.\d+\.\d+\b`)
)

// steadyValue returns a value with the same text for each time and address, and with owners in the place of UIDs. It changes the value.
func steadyValue(value any, uids *strings.Replacer) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = steadyValue(v[name], uids)
		}
	case []any:
		for i := range v {
			v[i] = steadyValue(v[i], uids)
		}
	case string:
		return uids.Replace(clusterIP.ReplaceAllString(timeText.ReplaceAllString(v, "TIME"), "IP"))
	}
	return value
}
