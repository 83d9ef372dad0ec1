package apply

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// dice throw the parts of an object. Two throws of an object have about half of their
// parts in common: those for which both dice have the same seed.
type dice struct{ seed, other uint64 }

// of returns what decides about a part.
func (d dice) of(part string) *rand.Rand {
	sum := uint64(14695981039346656037)
	for _, c := range []byte(part) {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	if rand.New(rand.NewPCG(d.seed^d.other, sum)).IntN(2) == 0 {
		return rand.New(rand.NewPCG(d.seed, sum))
	}
	return rand.New(rand.NewPCG(min(d.seed, d.other), sum))
}

// pick returns one of the texts.
func (d dice) pick(part string, texts ...string) string {
	return texts[d.of(part).IntN(len(texts))]
}

// some returns some of the texts, in their order, as the items of a list or an object.
func (d dice) some(part string, texts ...string) string {
	r := d.of(part)
	var some []string
	for _, text := range texts {
		if r.IntN(2) == 0 {
			some = append(some, text)
		}
	}
	return strings.Join(some, ", ")
}

// shapes make all but the metadata of objects, by kind, in flow style.
var shapes = map[string]func(d dice) string{
	"ConfigMap": func(d dice) string {
		return "data: {" + d.some("data", `a: "1"`, `b: ""`, `c: "x\ny"`, "d: null") + "}"
	},
	"Service": func(d dice) string {
		return "spec: {" + d.pick("type", "", "type: ClusterIP, ", "type: NodePort, ") +
			d.pick("affinity", "", "sessionAffinity: ClientIP, ",
				"sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 9}}, ") +
			"selector: {app: a, " + d.some("selector", "tier: b", "zone: c") + "}, " +
			"ports: [{name: a, port: 80" + d.pick("target", "", ", targetPort: 8080", ", targetPort: http") + "}, " +
			d.some("ports", "{name: b, port: 81, protocol: UDP}", "{name: c, port: 82, protocol: TCP}",
				"{name: d, port: 83, appProtocol: http}") + "]}"
	},
	"NetworkPolicy": func(d dice) string {
		return "spec: {podSelector: {matchLabels: {" + d.some("selector", "app: a", "tier: b") + "}}, ingress: [" +
			d.some("ingress", "{}", "{ports: [{port: 80}]}", "{from: [{podSelector: {}}], ports: [{port: dns, protocol: UDP}]}") + "]}"
	},
	"Ingress": func(d dice) string {
		path := "{path: /%s, pathType: Prefix, backend: {service: {name: a, port: {%s}}}}"
		return "spec: {" + d.pick("class", "", "ingressClassName: a, ") + "rules: [{host: a.example.com, http: {paths: [" +
			fmt.Sprintf(path, "", d.pick("port", "number: 80", "name: http")) + ", " + d.some("paths", fmt.Sprintf(path, "a", "number: 81"),
			fmt.Sprintf(path, "b", "number: 82")) + "]}}]}"
	},
	"CronJob": func(d dice) string {
		return "spec: {suspend: true, schedule: " + d.pick("schedule", `"0 0 1 1 *"`, `"0 1 1 1 *"`) + d.pick("history", "",
			", successfulJobsHistoryLimit: 1", ", failedJobsHistoryLimit: null") +
			d.pick("policy", "", ", concurrencyPolicy: Forbid") + ", jobTemplate: {spec: {template: {spec: {restartPolicy: OnFailure, " + podOf(d) + "}}}}}"
	},
	"Deployment": func(d dice) string {
		return "spec: {replicas: 0, selector: {matchLabels: {app: a}}" +
			d.pick("strategy", "", ", strategy: {}", ", strategy: {type: Recreate}", ", strategy: {rollingUpdate: {maxSurge: 2}}",
				", strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 10%}}") +
			d.pick("ready", "", ", minReadySeconds: 0", ", minReadySeconds: 5") + d.pick("history", "", ", revisionHistoryLimit: 3",
			", revisionHistoryLimit: null") +
			", template: {metadata: {labels: {app: a, " + d.some("labels", "tier: b", "zone: c") + "}}, spec: {" + podOf(d) + "}}}"
	},
}

// podOf makes what is in a Pod's spec.
func podOf(d dice) string {
	return d.pick("grace", "", "terminationGracePeriodSeconds: 5, ") + d.pick("dns", "", "dnsPolicy: Default, ") +
		"nodeSelector: {" + d.some("node", "disk: fast", "zone: a") + "}, " +
		"hostAliases: [" + d.some("aliases", "{ip: 10.0.0.1, hostnames: [a, b]}",
		"{ip: 10.0.0.2, hostnames: ["+d.pick("alias", "c", "d")+"]}") + "], " +
		"imagePullSecrets: [" + d.some("pull", "{name: a}", "{name: b}") + "], " +
		"tolerations: [" + d.some("tolerations", "{key: a, operator: Exists}", "{key: b, operator: Exists, effect: NoSchedule}") + "], " +
		"topologySpreadConstraints: [" + d.some("spread", "{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: "+d.pick("skew", "1", "2")+"}", "{topologyKey: host, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1}") + "], " +
		"securityContext: {" + d.some("context", "runAsNonRoot: true", "fsGroup: 5", "supplementalGroups: [1, 2]") + "}, " +
		"volumes: [{name: v, " + d.pick("v", "emptyDir: {}", "configMap: {name: m}", "secret: {secretName: s, defaultMode: 256}") + "}, " +
		d.some("volumes", "{name: w, emptyDir: {medium: Memory, sizeLimit: 1024Mi}}",
			"{name: p, projected: {sources: [{serviceAccountToken: {path: t}}, {configMap: {name: m}}]}}") + "], " +
		"containers: [" + container(d, "main", ", volumeMounts: [{name: v, mountPath: /v}, "+d.some("mounts", "{name: v, mountPath: /x, subPath: x}", "{name: v, mountPath: /z, readOnly: true}")+"]") + ", " + d.some("containers", container(d, "side", ""), container(d, "log", "")) + "]"
}

// container makes one of a name, with more fields.
func container(d dice, name, more string) string {
	at := func(part string) string { return name + "/" + part }
	return "{name: " + name + ", image: " + d.pick(at("image"), `"a:1"`, `"a:2"`) +
		", env: [" + d.some(at("env"), `{name: A, value: ""}`, "{name: B, value: "+d.pick(at("b"), "b", "c")+"}", "{name: C, valueFrom: {fieldRef: {fieldPath: "+d.pick(at("c"), "metadata.name", "metadata.namespace")+"}}}", "{name: D, valueFrom: {configMapKeyRef: {name: m, key: k}}}") + "]" +
		", ports: [" + d.some(at("ports"), "{containerPort: 80}", "{containerPort: 81, protocol: UDP}", "{containerPort: 82, name: http}") + "]" +
		d.pick(at("args"), "", ", args: []", ", args: [a, b]", ", args: [b]") +
		", resources: {" + d.some(at("resources"), "requests: {cpu: "+d.pick(at("cpu"), "1", "1000m", `"0.5"`)+", memory: 1Mi}",
		"limits: {cpu: 2, memory: "+d.pick(at("memory"), "1Gi", "1024Mi")+"}") + "}" +
		d.pick(at("probe"), "", ", readinessProbe: {httpGet: {path: /, port: 80}}",
			", readinessProbe: {httpGet: {path: /, port: 80, scheme: HTTP}, periodSeconds: 3}", ", readinessProbe: {exec: {command: [x]}}") +
		d.pick(at("context"), "", ", securityContext: {capabilities: {drop: [ALL]}}",
			", securityContext: {privileged: false, capabilities: {add: [A], drop: [B]}}") +
		d.pick(at("policy"), "", ", imagePullPolicy: Always") + more + "}"
}

// meddling is what another writer may do to an object of a kind, as a strategic merge patch.
var meddling = map[string][]string{
	"ConfigMap":     {`data: {x: "1"}`, `data: {a: "7"}`},
	"Service":       {"spec: {ports: [{name: x, port: 90}]}", "spec: {publishNotReadyAddresses: true}", "spec: {selector: {x: x}}"},
	"NetworkPolicy": {"spec: {egress: [{}]}", "metadata: {labels: {x: x}}"},
	"Ingress":       {"spec: {tls: [{hosts: [a.example.com]}]}", "spec: {defaultBackend: {service: {name: x, port: {number: 1}}}}"},
	"CronJob":       {"spec: {startingDeadlineSeconds: 100}", "spec: {timeZone: Etc/UTC}"},
	"Deployment": {
		"spec: {replicas: 1, paused: true}", "metadata: {labels: {x: x}, annotations: {x: x}}",
		"spec: {template: {spec: {containers: [{name: x, image: x}]}}}",
		"spec: {template: {spec: {containers: [{name: main, env: [{name: X, value: x}]}]}}}",
		"spec: {template: {spec: {containers: [{name: main, image: x, env: [{name: B, value: x}]}]}}}",
		"spec: {template: {spec: {volumes: [{name: x, emptyDir: {}}]}}}",
		"spec: {template: {spec: {tolerations: [{key: x, operator: Exists}]}}}", "spec: {template: {spec: {nodeSelector: {x: x}}}}",
		"spec: {template: {spec: {imagePullSecrets: [{name: x}], hostAliases: [{ip: 10.0.0.9, hostnames: [x]}]}}}",
		"spec: {template: {metadata: {labels: {x: x}}, spec: {priorityClassName: system-node-critical}}}",
	},
}

var apiVersions = map[string]string{
	"ConfigMap": "v1", "Service": "v1", "NetworkPolicy": "networking.k8s.io/v1", "Ingress": "networking.k8s.io/v1", "CronJob": "batch/v1",
	"Deployment": "apps/v1",
}

// throw makes an object of a kind.
func throw(kind string, d dice) (*unstructured.Unstructured, error) {
	text := "apiVersion: " + apiVersions[kind] + "\nkind: " + kind + "\n" +
		"metadata: {labels: {" + d.some("own labels", "a: a", "b: "+d.pick("label", "b", "c")) + "}, annotations: {" + d.some("annotations",
		"a: a", "b: b") + "}}\n" + shapes[kind](d)
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, text)
	}
	object := &unstructured.Unstructured{}
	return object, json.Unmarshal(data, &object.Object)
}
