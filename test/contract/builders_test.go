package contract

import (
	"bytes"
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

const (
	plainPods = `"podSpec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}`
	// safe are the defaults of a Pod's spec, around its containers.
	safe      = `"automountServiceAccountToken": false, "enableServiceLinks": false, "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}`
	contained = `"securityContext": {"allowPrivilegeEscalation": false}`
	plainSpec = `{` + safe + `, "containers": [{"name": "web", "image": "nginx:1.29", ` + contained + `}]}`
	oneJob    = `"automountServiceAccountToken": false, "enableServiceLinks": false, "restartPolicy": "Never", "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}, "containers": [{"name": "web", "image": "nginx:1.29", ` + contained + `}]`
)

// builderCases make objects.
var builderCases = map[string]moduleCase{
	"PodSpec":           {reason: "defaults that any image can run with", name: "podSpec", args: `[{"containers": [{"name": "web", "image": "nginx:1.29"}]}]`, want: plainSpec},
	"PodSpecToken":      {reason: "who names an account wants its token", name: "podSpec", args: `[{"serviceAccountName": "web", "containers": [{"name": "web", "image": "a"}]}]`, want: `{"serviceAccountName": "web", "automountServiceAccountToken": true, "enableServiceLinks": false, "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}, "containers": [{"name": "web", "image": "a", ` + contained + `}]}`},
	"PodSpecOwn":        {reason: "what is given takes the place of a default", name: "podSpec", args: `[{"automountServiceAccountToken": true, "enableServiceLinks": true, "securityContext": {"runAsUser": 5}, "containers": [{"name": "web", "image": "a", "securityContext": {"privileged": true}}]}]`, want: `{"automountServiceAccountToken": true, "enableServiceLinks": true, "securityContext": {"runAsUser": 5}, "containers": [{"name": "web", "image": "a", "securityContext": {"privileged": true}}]}`},
	"PodSpecShort":      {reason: "ports and variables have short forms", name: "podSpec", args: `[{"containers": [{"name": "web", "image": "a", "ports": [80, {"containerPort": 443, "name": "https"}], "env": {"B": "b", "A": 1, "D": true, "C": {"secretKeyRef": {"name": "s", "key": "k"}}, "E": null}}]}]`, want: `{` + safe + `, "containers": [{"name": "web", "image": "a", ` + contained + `, "ports": [{"containerPort": 80}, {"containerPort": 443, "name": "https"}], "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "b"}, {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, {"name": "D", "value": "true"}]}]}`},
	"PodSpecLong":       {reason: "and Kubernetes' own", name: "podSpec", args: `[{"containers": [{"name": "web", "image": "a", "env": [{"name": "A", "value": "1"}]}]}]`, want: `{` + safe + `, "containers": [{"name": "web", "image": "a", ` + contained + `, "env": [{"name": "A", "value": "1"}]}]}`},
	"PodSpecInit":       {reason: "init containers are containers", name: "podSpec", args: `[{"containers": [{"name": "web", "image": "a"}], "initContainers": [{"name": "init", "image": "b", "ports": [80]}]}]`, want: `{` + safe + `, "containers": [{"name": "web", "image": "a", ` + contained + `}], "initContainers": [{"name": "init", "image": "b", ` + contained + `, "ports": [{"containerPort": 80}]}]}`},
	"PodSpecNone":       {reason: "a Pod has containers", name: "podSpec", args: `[{"volumes": []}]`, fails: `podSpec: containers is null, want a list`},
	"PodSpecNull":       {reason: "an undefined spec is none", name: "podSpec", args: `[null]`, fails: `podSpec: spec is null, want an object`},
	"PodSpecNoImage":    {reason: "the container is named", name: "podSpec", args: `[{"containers": [{"name": "a", "image": "b"}, {"name": "web"}]}]`, fails: `podSpec: containers[1] is {"name":"web"}, want an object with name and image`},
	"PodSpecOddPort":    {reason: "a port is a number", name: "podSpec", args: `[{"containers": [{"name": "web", "image": "a", "ports": [80, "443"]}]}]`, fails: `podSpec: containers[0].ports[1] is "443", want a number from 1 to 65535 or an object`},
	"PodSpecOddEnv":     {reason: "numbers that are not whole have many texts", name: "podSpec", args: `[{"containers": [{"name": "web", "image": "a", "env": {"A": 0.1}}]}]`, fails: `podSpec: containers[0].env.A is 0.1, want a string, a whole number, true, false or an object such as {secretKeyRef: {...}}`},
	"PodSpecOddInit":    {reason: "also here", name: "podSpec", args: `[{"containers": [{"name": "web", "image": "a"}], "initContainers": {"name": "a"}}]`, fails: `podSpec: initContainers is {"name":"a"}, want a list`},
	"Pod":               {reason: "no more than a name", name: "pod", args: `[{"name": "web-0", ` + plainPods + `}]`, want: `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"}, "spec": ` + plainSpec + `}`},
	"PodAll":            {reason: "all that there is", name: "pod", args: `[{"name": "web-0", "namespace": "shop", "labels": {"a": "1"}, "annotations": {"b": "2"}, ` + plainPods + `}]`, want: `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop", "labels": {"a": "1"}, "annotations": {"b": "2"}}, "spec": ` + plainSpec + `}`},
	"PodNoSpec":         {reason: "it says what is missing", name: "pod", args: `[{"name": "web-0"}]`, fails: `pod: podSpec is null, want an object`},
	"PodOddOption":      {reason: "a slip is reported", name: "pod", args: `[{"name": "web-0", "spec": {}, ` + plainPods + `}]`, fails: `pod: there is no option spec, only [annotations, labels, name, namespace, podSpec]`},
	"Deployment":        {reason: "the selector is the name", name: "deployment", args: `[{"name": "web", ` + plainPods + `}]`, want: `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": ` + plainSpec + `}}}`},
	"DeploymentAll":     {reason: "all options", name: "deployment", args: `[{"name": "web", "namespace": "shop", "labels": {"v": "1"}, "annotations": {"x": "1"}, "selector": {"s": "2"}, "replicas": 0, "podAnnotations": {"y": "2"}, "spec": {"minReadySeconds": 5, "template": {"spec": {"nodeName": "n"}}}, ` + plainPods + `}]`, want: `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "labels": {"v": "1", "s": "2"}, "annotations": {"x": "1"}}, "spec": {"replicas": 0, "minReadySeconds": 5, "selector": {"matchLabels": {"s": "2"}}, "template": {"metadata": {"labels": {"v": "1", "s": "2"}, "annotations": {"y": "2"}}, "spec": {"nodeName": "n", ` + safe + `, "containers": [{"name": "web", "image": "nginx:1.29", ` + contained + `}]}}}}`},
	"DeploymentApp":     {reason: "a label app is the one to select by", name: "deployment", args: `[{"name": "web-blue", "labels": {"app": "web", "color": "blue"}, ` + plainPods + `}]`, want: `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web-blue", "labels": {"app": "web", "color": "blue"}}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web", "color": "blue"}}, "spec": ` + plainSpec + `}}}`},
	"DeploymentLong":    {reason: "a label is shorter than a name may be", name: "deployment", args: `[{"name": ` + longName + `, ` + plainPods + `}]`, want: `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": ` + longName + `, "labels": {"app": "a-name-that-is-much-longer-than-any-label-or-pod-of-ku-ed3ec4f9"}}, "spec": {"selector": {"matchLabels": {"app": "a-name-that-is-much-longer-than-any-label-or-pod-of-ku-ed3ec4f9"}}, "template": {"metadata": {"labels": {"app": "a-name-that-is-much-longer-than-any-label-or-pod-of-ku-ed3ec4f9"}}, "spec": ` + plainSpec + `}}}`},
	"DeploymentNoName":  {reason: "a name is needed", name: "deployment", args: `[{` + plainPods + `}]`, fails: `deployment: name is null, want a non-empty string`},
	"DeploymentLabel":   {reason: "labels are texts", name: "deployment", args: `[{"name": "web", "labels": {"v": 1}, ` + plainPods + `}]`, fails: `deployment: labels["v"] is 1, want a string`},
	"DeploymentCount":   {reason: "a number in quotes is none", name: "deployment", args: `[{"name": "web", "replicas": "2", ` + plainPods + `}]`, fails: `deployment: replicas is "2", want a whole number from 0`},
	"DeploymentSpec":    {reason: "a spec is an object", name: "deployment", args: `[{"name": "web", "spec": [], ` + plainPods + `}]`, fails: `deployment: spec is [], want an object`},
	"StatefulSet":       {reason: "its Service has its name", name: "statefulSet", args: `[{"name": "db", "replicas": 3, ` + plainPods + `}]`, want: `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "labels": {"app": "db"}}, "spec": {"replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": {"metadata": {"labels": {"app": "db"}}, "spec": ` + plainSpec + `}}}`},
	"StatefulSetAll":    {reason: "or another", name: "statefulSet", args: `[{"name": "db", "serviceName": "dbs", "spec": {"podManagementPolicy": "Parallel"}, ` + plainPods + `}]`, want: `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "labels": {"app": "db"}}, "spec": {"serviceName": "dbs", "podManagementPolicy": "Parallel", "selector": {"matchLabels": {"app": "db"}}, "template": {"metadata": {"labels": {"app": "db"}}, "spec": ` + plainSpec + `}}}`},
	"StatefulSetOdd":    {reason: "a slip is reported", name: "statefulSet", args: `[{"name": "db", "service": "db", ` + plainPods + `}]`, fails: `statefulSet: there is no option service, only [annotations, labels, name, namespace, podAnnotations, podSpec, replicas, selector, serviceName, spec]`},
	"Job":               {reason: "its Pods end", name: "job", args: `[{"name": "init", ` + plainPods + `}]`, want: `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "init"}, "spec": {"template": {"spec": {` + oneJob + `}}}}`},
	"JobAll":            {reason: "unless they are to be restarted", name: "job", args: `[{"name": "init", "labels": {"a": "1"}, "spec": {"backoffLimit": 1}, "podAnnotations": {"b": "2"}, "podSpec": {"restartPolicy": "OnFailure", "containers": [{"name": "a", "image": "b"}]}}]`, want: `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "init", "labels": {"a": "1"}}, "spec": {"backoffLimit": 1, "template": {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}, "spec": {` + safe + `, "restartPolicy": "OnFailure", "containers": [{"name": "a", "image": "b", ` + contained + `}]}}}}`},
	"JobOdd":            {reason: "Jobs have no replicas", name: "job", args: `[{"name": "init", "replicas": 1, ` + plainPods + `}]`, fails: `job: there is no option replicas, only [annotations, labels, name, namespace, podAnnotations, podSpec, spec]`},
	"Service":           {reason: "it selects the Deployment of its name", name: "service", args: `[{"name": "web", "ports": [80]}]`, want: `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"name": "port-80", "port": 80}]}}`},
	"ServiceAll":        {reason: "all options", name: "service", args: `[{"name": "web", "namespace": "shop", "labels": {"app": "all"}, "ports": [80, {"name": "dns", "port": 53, "protocol": "UDP"}], "spec": {"clusterIP": "None"}}]`, want: `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "all"}}, "spec": {"clusterIP": "None", "selector": {"app": "all"}, "ports": [{"name": "port-80", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]}}`},
	"ServiceSelector":   {reason: "or another", name: "service", args: `[{"name": "web", "selector": {"a": "b"}}]`, want: `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"a": "b"}}}`},
	"ServiceOddPort":    {reason: "a port is a number", name: "service", args: `[{"name": "web", "ports": ["http"]}]`, fails: `service: ports[0] is "http", want a number from 1 to 65535 or an object`},
	"ServiceNoPorts":    {reason: "ports are a list", name: "service", args: `[{"name": "web", "ports": 80}]`, fails: `service: ports is 80, want a list`},
	"ConfigMap":         {reason: "texts by keys", name: "configMap", args: `[{"name": "web", "data": {"a": "b"}, "binaryData": {"c": "AA=="}, "immutable": true}]`, want: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": "b"}, "binaryData": {"c": "AA=="}, "immutable": true}`},
	"ConfigMapMutable":  {reason: "false is given", name: "configMap", args: `[{"name": "web", "immutable": false}]`, want: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "immutable": false}`},
	"ConfigMapNumber":   {reason: "the API server would refuse it", name: "configMap", args: `[{"name": "web", "data": {"a.b": 3}}]`, fails: `configMap: data["a.b"] is 3, want a string`},
	"ConfigMapEmpty":    {reason: "an empty name is none", name: "configMap", args: `[{"name": ""}]`, fails: `configMap: name is "", want a non-empty string`},
	"ConfigMapNothing":  {reason: "options are an object", name: "configMap", args: `["web"]`, fails: `configMap: options is "web", want an object with name, namespace, labels, annotations, data, binaryData, immutable`},
	"ConfigMapLongText": {reason: "errors stay short", name: "configMap", args: `[{"name": "web", "data": "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"}]`, fails: `configMap: data is "0123456789012345678901234567890123456789012345678901234567890123456789012345678..., want an object`},
}

// TestBuilders makes objects in each language, and checks that Kubernetes' types know their fields.
func TestBuilders(t *testing.T) {
	runModuleCases(t, builderCases)
	for name, c := range builderCases {
		if c.fails != "" {
			continue
		}
		var into any
		switch c.name {
		case "podSpec":
			into = &corev1.PodSpec{}
		case "pod":
			into = &corev1.Pod{}
		case "deployment":
			into = &appsv1.Deployment{}
		case "statefulSet":
			into = &appsv1.StatefulSet{}
		case "job":
			into = &batchv1.Job{}
		case "service":
			into = &corev1.Service{}
		case "configMap":
			into = &corev1.ConfigMap{}
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(c.want)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
