package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/test/env"
)

// refusalCase is an object that is created, or a merge patch of one that is there.
type refusalCase struct{ object, patch string }

const (
	bareContainers  = `containers: [{name: a, image: b}]`
	bareTemplate    = `template: {metadata: {labels: {a: b}}, spec: {` + bareContainers + `}}`
	bareDeployment  = `replicas: 0, selector: {matchLabels: {a: b}}, ` + bareTemplate
	bareClaim       = `accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}`
	bareStatefulSet = bareDeployment + `, serviceName: s, volumeClaimTemplates: [{metadata: {name: w}, spec: {` + bareClaim + `}}]`
	bareJob         = `template: {spec: {restartPolicy: Never, ` + bareContainers + `}}`
)

func configMapOf(rest string) string {
	return `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}` + rest + `}`
}
func serviceOf(spec string) string {
	return `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {` + spec + `}}`
}
func podWith(spec string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {automountServiceAccountToken: false, ` + spec + `}}`
}
func appOf(kind, spec string) string {
	return `{apiVersion: apps/v1, kind: ` + kind + `, metadata: {name: x}, spec: {` + spec + `}}`
}
func claimWith(spec string) string {
	return `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {` + spec + `}}`
}
func jobWith(spec string) string {
	return `{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {` + spec + `}}`
}
func kindNamed(apiVersion, kind, name, rest string) string {
	return `{apiVersion: ` + apiVersion + `, kind: ` + kind + `, metadata: {name: "` + name + `"}` + rest + `}`
}

const (
	storageClass  = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NAMESPACE}, provisioner: a.b/c, parameters: {a: b, c: d}}`
	priorityClass = `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAMESPACE}, value: 10}`
	roleBinding   = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: a, namespace: default}]}`
	ingressClass = `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: NAMESPACE}, spec: {controller: a.b/c}}`
)

// refusedCases are refused by the API server.
var refusedCases = map[string]refusalCase{
	"name":                   {object: kindNamed("v1", "ConfigMap", "a_b", "")},
	"name, a slash":          {object: kindNamed("rbac.authorization.k8s.io/v1", "Role", "a/b", "")},
	"name, Namespace":        {object: kindNamed("v1", "Namespace", "a.b", "")},
	"name, Service":          {object: kindNamed("v1", "Service", "a.b", ", spec: {ports: [{port: 80}]}")},
	"name, StatefulSet":      {object: kindNamed("apps/v1", "StatefulSet", "a.b", ", spec: {"+bareDeployment+"}")},
	"name, CronJob":          {object: kindNamed("batch/v1", "CronJob", strings.Repeat("a", 53), `, spec: {schedule: "* * * * *", jobTemplate: {spec: {`+bareJob+`}}}`)},
	"label key":              {object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {"a b": c}}}`},
	"label value":            {object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {a: "b c"}}}`},
	"label value, changed":   {object: configMapOf(""), patch: `{metadata: {labels: {a: "b c"}}}`},
	"annotation key":         {object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {"a b": c}}}`},
	"annotations, too much":  {object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {a: ` + strings.Repeat("x", 256<<10) + `}}}`},
	"finalizer":              {object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: ["a b"]}}`},
	"type":                   {object: configMapOf(", data: {a: 1}")},
	"type, changed":          {object: appOf("Deployment", bareDeployment), patch: `{spec: {replicas: "2"}}`},
	"type, a list":           {object: podWith(`containers: {name: a, image: b}`)},
	"type, quantity":         {object: podWith(`containers: [{name: a, image: b, resources: {requests: {cpu: lots}}}]`)},
	"type, time":             {object: configMapOf(", immutable: yes-please")},
	"ConfigMap, key":         {object: configMapOf(`, data: {"a b": c}`)},
	"ConfigMap, twice":       {object: configMapOf(`, data: {a: c}, binaryData: {a: YQ==}`)},
	"ConfigMap, base64":      {object: configMapOf(`, binaryData: {a: "***"}`)},
	"ConfigMap, size":        {object: configMapOf(`, data: {a: ` + strings.Repeat("x", 1<<20) + `, b: x}`)},
	"ConfigMap, frozen":      {object: configMapOf(`, data: {a: b}, immutable: true`), patch: `{data: {a: c}}`},
	"ConfigMap, frozen, key": {object: configMapOf(`, data: {a: b, c: d}, immutable: true`), patch: `{data: {a: null}}`},
	"ConfigMap, thawed":      {object: configMapOf(`, immutable: true`), patch: `{immutable: false}`},
	"ConfigMap, binary":      {object: configMapOf(`, immutable: true`), patch: `{binaryData: {a: YQ==}}`},
	"Secret, type":           {object: kindNamed("v1", "Secret", "x", ""), patch: `{type: other}`},
	"Secret, key":            {object: kindNamed("v1", "Secret", "x", `, stringData: {"a b": c}`)},
	"Secret, size":           {object: kindNamed("v1", "Secret", "x", `, stringData: {a: `+strings.Repeat("x", 1<<20)+`, b: x}`)},
	"Service, ports":         {object: serviceOf(`selector: {a: b}`)},
	"Service, port":          {object: serviceOf(`ports: [{port: 70000}]`)},
	"Service, no port":       {object: serviceOf(`ports: [{name: a}]`)},
	"Service, port names":    {object: serviceOf(`ports: [{port: 80}, {port: 81}]`)},
	"Service, same names":    {object: serviceOf(`ports: [{port: 80, name: a}, {port: 81, name: a}]`)},
	"Service, port name":     {object: serviceOf(`ports: [{port: 80, name: A_b}]`)},
	"Service, protocol":      {object: serviceOf(`ports: [{port: 80, protocol: HTTP}]`)},
	"Service, type":          {object: serviceOf(`type: Other, ports: [{port: 80}]`)},
	"Service, selector":      {object: serviceOf(`selector: {a: "b c"}, ports: [{port: 80}]`)},
	"Service, address":       {object: serviceOf(`ports: [{port: 80}]`), patch: `{spec: {clusterIP: 10.0.0.77, clusterIPs: [10.0.0.77]}}`},
	"Service, headless":      {object: serviceOf(`ports: [{port: 80}]`), patch: `{spec: {clusterIP: None, clusterIPs: [None]}}`},
	"Pod, containers":        {object: podWith(``)},
	"Pod, image":             {object: podWith(`containers: [{name: a}]`)},
	"Pod, container name":    {object: podWith(`containers: [{name: A_b, image: b}]`)},
	"Pod, init container":    {object: podWith(bareContainers + `, initContainers: [{name: a, image: b}]`)},
	"Pod, volume":            {object: podWith(bareContainers + `, volumes: [{name: A_b, emptyDir: {}}]`)},
	"Pod, volumes":           {object: podWith(bareContainers + `, volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]`)},
	"Pod, mount":             {object: podWith(`containers: [{name: a, image: b, volumeMounts: [{name: v, mountPath: /v}]}]`)},
	"Pod, mount path":        {object: podWith(`containers: [{name: a, image: b, volumeMounts: [{name: v}]}], volumes: [{name: v, emptyDir: {}}]`)},
	"Pod, mount paths": {object: podWith(`volumes: [{name: v, emptyDir: {}}],
		containers: [{name: a, image: b, volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /v}]}]`)},
	"Pod, env":                   {object: podWith(`containers: [{name: a, image: b, env: [{value: c}]}]`)},
	"Pod, env name":              {object: podWith(`containers: [{name: a, image: b, env: [{name: "a=b", value: c}]}]`)},
	"Pod, port":                  {object: podWith(`containers: [{name: a, image: b, ports: [{containerPort: 70000}]}]`)},
	"Pod, no port":               {object: podWith(`containers: [{name: a, image: b, ports: [{name: c}]}]`)},
	"Pod, port name":             {object: podWith(`containers: [{name: a, image: b, ports: [{containerPort: 80, name: a-name-of-16-chars}]}]`)},
	"Pod, restartPolicy":         {object: podWith(bareContainers + `, restartPolicy: Sometimes`)},
	"Pod, imagePullPolicy":       {object: podWith(`containers: [{name: a, image: b, imagePullPolicy: Sometimes}]`)},
	"Pod, requests":              {object: podWith(`containers: [{name: a, image: b, resources: {requests: {cpu: "2"}, limits: {cpu: 1500m}}}]`)},
	"Pod, negative":              {object: podWith(`containers: [{name: a, image: b, resources: {requests: {cpu: "-2"}}}]`)},
	"Pod, field":                 {object: podWith(bareContainers), patch: `{spec: {hostname: other}}`},
	"Pod, field removed":         {object: podWith(`hostname: h, ` + bareContainers), patch: `{spec: {hostname: null}}`},
	"Pod, command":               {object: podWith(`containers: [{name: a, image: b, command: [c]}]`), patch: `{spec: {containers: [{name: a, image: b}]}}`},
	"Pod, one container more":    {object: podWith(bareContainers), patch: `{spec: {containers: [{name: a, image: b}, {name: c, image: d}]}}`},
	"Pod, resources":             {object: podWith(bareContainers), patch: `{spec: {containers: [{name: a, image: b, resources: {requests: {cpu: "1"}}}]}}`},
	"Pod, grace":                 {object: podWith(bareContainers), patch: `{spec: {terminationGracePeriodSeconds: 7}}`},
	"Pod, node":                  {object: podWith(bareContainers), patch: `{spec: {nodeSelector: {a: b}}}`},
	"Deployment, selector":       {object: appOf("Deployment", bareDeployment), patch: `{spec: {selector: {matchLabels: {a: c}}, template: {metadata: {labels: {a: c}}}}}`},
	"Deployment, less":           {object: appOf("Deployment", `selector: {matchLabels: {a: b, c: d}}, template: {metadata: {labels: {a: b, c: d}}, spec: {`+bareContainers+`}}`), patch: `{spec: {selector: {matchLabels: {c: null}}}}`},
	"Deployment, labels":         {object: appOf("Deployment", bareDeployment), patch: `{spec: {template: {metadata: {labels: {a: c}}}}}`},
	"Deployment, label":          {object: appOf("Deployment", bareDeployment), patch: `{spec: {template: {metadata: {labels: {c: "d e"}}}}}`},
	"Deployment, image":          {object: appOf("Deployment", bareDeployment), patch: `{spec: {template: {spec: {containers: [{name: a}]}}}}`},
	"Deployment, policy":         {object: appOf("Deployment", bareDeployment), patch: `{spec: {template: {spec: {restartPolicy: Never}}}}`},
	"Deployment, replicas":       {object: appOf("Deployment", bareDeployment), patch: `{spec: {replicas: -1}}`},
	"DaemonSet, selector":        {object: appOf("DaemonSet", `selector: {matchLabels: {a: b}}, `+bareTemplate), patch: `{spec: {selector: {matchLabels: {a: c}}, template: {metadata: {labels: {a: c}}}}}`},
	"ReplicaSet, selector":       {object: appOf("ReplicaSet", bareDeployment), patch: `{spec: {selector: {matchLabels: {a: c}}, template: {metadata: {labels: {a: c}}}}}`},
	"StatefulSet, service":       {object: appOf("StatefulSet", bareStatefulSet), patch: `{spec: {serviceName: other}}`},
	"StatefulSet, claim":         {object: appOf("StatefulSet", bareStatefulSet), patch: `{spec: {volumeClaimTemplates: [{metadata: {name: w}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}]}}`},
	"StatefulSet, no claim":      {object: appOf("StatefulSet", bareStatefulSet), patch: `{spec: {volumeClaimTemplates: null}}`},
	"StatefulSet, policy":        {object: appOf("StatefulSet", bareStatefulSet), patch: `{spec: {podManagementPolicy: Parallel}}`},
	"Job, policy":                {object: jobWith(`template: {spec: {` + bareContainers + `}}`)},
	"Job, template":              {object: jobWith(bareJob), patch: `{spec: {template: {spec: {containers: [{name: a, image: c}]}}}}`},
	"Job, mode":                  {object: jobWith(bareJob), patch: `{spec: {completionMode: Indexed, completions: 2}}`},
	"Job, completions":           {object: jobWith(bareJob + `, completions: 2`), patch: `{spec: {completions: 3}}`},
	"Job, negative":              {object: jobWith(bareJob + `, parallelism: -1`)},
	"CronJob, schedule":          {object: kindNamed("batch/v1", "CronJob", "x", `, spec: {jobTemplate: {spec: {`+bareJob+`}}}`)},
	"claim, modes":               {object: claimWith(`resources: {requests: {storage: 1Gi}}`)},
	"claim, storage":             {object: claimWith(`accessModes: [ReadWriteOnce]`)},
	"claim, other modes":         {object: claimWith(bareClaim), patch: `{spec: {accessModes: [ReadWriteMany]}}`},
	"claim, other class":         {object: claimWith(bareClaim + `, storageClassName: a`), patch: `{spec: {storageClassName: b}}`},
	"claim, other volume":        {object: claimWith(bareClaim + `, volumeName: a`), patch: `{spec: {volumeName: b}}`},
	"RoleBinding, role":          {object: roleBinding, patch: `{roleRef: {name: edit}}`},
	"PriorityClass, value":       {object: priorityClass, patch: `{value: 11}`},
	"StorageClass, provisioner":  {object: storageClass, patch: `{provisioner: a.b/d}`},
	"StorageClass, parameter":    {object: storageClass, patch: `{parameters: {a: null}}`},
	"StorageClass, policy":       {object: storageClass, patch: `{reclaimPolicy: Retain}`},
	"IngressClass, controller":   {object: ingressClass, patch: `{spec: {controller: a.b/d}}`},
	"ControllerRevision, data":   {object: kindNamed("apps/v1", "ControllerRevision", "x", ", revision: 1, data: {a: b}"), patch: `{data: {a: c}}`},
	"EndpointSlice, addressType": {object: kindNamed("discovery.k8s.io/v1", "EndpointSlice", "x", ", addressType: IPv4, endpoints: []"), patch: `{addressType: IPv6}`},
}

// acceptedCases look as if they could be refused, and are accepted by the API server.
var acceptedCases = map[string]refusalCase{
	"name, subdomain":            {object: kindNamed("v1", "ConfigMap", "a.b", "")},
	"name, Role":                 {object: kindNamed("rbac.authorization.k8s.io/v1", "Role", "system:A_b", "")},
	"name, PDB":                  {object: kindNamed("policy/v1", "PodDisruptionBudget", "A_b", ", spec: {minAvailable: 1, selector: {}}")},
	"name, Pod":                  {object: kindNamed("v1", "Pod", "a.b", ", spec: {"+bareContainers+"}")},
	"name, Job":                  {object: kindNamed("batch/v1", "Job", "a.b", ", spec: {"+bareJob+"}")},
	"annotations, large":         {object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {a/B_c: ` + strings.Repeat("x", 255<<10) + `}}}`},
	"unknown field":              {object: configMapOf(", other: 1")},
	"null":                       {object: configMapOf(", data: {a: null}, binaryData: null")},
	"ConfigMap, size":            {object: configMapOf(`, data: {a: ` + strings.Repeat("x", 1<<20) + `}`)},
	"ConfigMap, frozen":          {object: configMapOf(`, data: {a: b}, immutable: true`), patch: `{metadata: {labels: {a: b}}}`},
	"ConfigMap, freeze":          {object: configMapOf(`, data: {a: b}`), patch: `{data: {a: c}, immutable: true}`},
	"Secret, type":               {object: kindNamed("v1", "Secret", "x", ""), patch: `{type: Opaque}`},
	"Secret, type removed":       {object: kindNamed("v1", "Secret", "x", ""), patch: `{type: null}`},
	"Secret, size":               {object: kindNamed("v1", "Secret", "x", `, stringData: {a: `+strings.Repeat("x", 1<<20)+`}`)},
	"Secret, frozen":             {object: kindNamed("v1", "Secret", "x", `, data: {a: YQ==}, immutable: true`), patch: `{stringData: {a: a}}`},
	"Service, headless":          {object: serviceOf(`clusterIP: None, selector: {a: b}`)},
	"Service, another":           {object: serviceOf(`type: ExternalName, externalName: a.b`)},
	"Service, name":              {object: serviceOf(`ports: [{port: 80, name: 8-a}]`)},
	"Service, no address":        {object: serviceOf(`ports: [{port: 80}]`), patch: `{spec: {clusterIP: null, clusterIPs: null}}`},
	"Service, ports":             {object: serviceOf(`ports: [{port: 80}]`), patch: `{spec: {ports: [{port: 81, targetPort: b}]}}`},
	"Service, becomes another":   {object: serviceOf(`ports: [{port: 80}]`), patch: `{spec: {type: ExternalName, externalName: a.b, clusterIP: null, clusterIPs: null, ipFamilies: null, ipFamilyPolicy: null, internalTrafficPolicy: null}}`},
	"Pod, whole":                 {object: podWith(`volumes: [{name: v}], restartPolicy: Never, initContainers: [{name: i, image: b}], containers: [{name: a, image: b, env: [{name: a.b-c}], ports: [{containerPort: 80, name: a}, {containerPort: 80, protocol: UDP}], volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /w}]}]`)},
	"Pod, numbers":               {object: podWith(`containers: [{name: a, image: b, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1.5}}}]`)},
	"Pod, image":                 {object: podWith(bareContainers), patch: `{spec: {containers: [{name: a, image: c}]}}`},
	"Pod, bare containers":       {object: podWith(`containers: [{name: a, image: b, ports: [{containerPort: 80}], livenessProbe: {tcpSocket: {port: 80}}}]`), patch: `{spec: {containers: [{name: a, image: c, ports: [{containerPort: 80}], livenessProbe: {tcpSocket: {port: 80}}}]}}`},
	"Pod, bare volumes":          {object: podWith(bareContainers + `, volumes: [{name: v, configMap: {name: c}}, {name: w, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]`), patch: `{metadata: {labels: {a: b}}, spec: {volumes: [{name: v, configMap: {name: c}}, {name: w, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]}}`},
	"Pod, quantities":            {object: podWith(`containers: [{name: a, image: b, resources: {requests: {cpu: 1000m, memory: 1024Mi}}}]`), patch: `{metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, resources: {requests: {cpu: 1000m, memory: 1024Mi}}}]}}`},
	"Pod, zero":                  {object: podWith(bareContainers), patch: `{spec: {hostNetwork: false, hostname: "", nodeSelector: {}}}`},
	"Pod, toleration":            {object: podWith(bareContainers), patch: `{spec: {tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: a, operator: Exists}]}}`},
	"Pod, gated":                 {object: podWith(bareContainers + `, schedulingGates: [{name: a.b/c}]`), patch: `{spec: {nodeSelector: {a: b}, schedulingGates: []}}`},
	"Pod, deadline":              {object: podWith(bareContainers), patch: `{spec: {activeDeadlineSeconds: 100}}`},
	"Deployment, bare":           {object: appOf("Deployment", bareDeployment), patch: `{spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}}, spec: {containers: [{name: c, image: d}]}}}}`},
	"Deployment, defaults":       {object: appOf("Deployment", bareDeployment), patch: `{spec: {strategy: null, revisionHistoryLimit: null, template: {spec: {restartPolicy: null, dnsPolicy: null}}}}`},
	"StatefulSet, bare claims":   {object: appOf("StatefulSet", bareStatefulSet), patch: `{spec: {replicas: 0, volumeClaimTemplates: [{metadata: {name: w}, spec: {` + bareClaim + `}}]}}`},
	"StatefulSet, quantity":      {object: appOf("StatefulSet", bareStatefulSet), patch: `{spec: {volumeClaimTemplates: [{metadata: {name: w}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}]}}`},
	"StatefulSet, template":      {object: appOf("StatefulSet", bareStatefulSet), patch: `{spec: {template: {spec: {containers: [{name: c, image: d}]}}, podManagementPolicy: null}}`},
	"StatefulSet, mounts claims": {object: appOf("StatefulSet", `selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, volumeMounts: [{name: w, mountPath: /w}]}]}}, volumeClaimTemplates: [{metadata: {name: w}, spec: {`+bareClaim+`}}]`)},
	"Job, bare":                  {object: jobWith(bareJob + `, suspend: false`), patch: `{spec: {suspend: true, parallelism: 3, backoffLimit: 2, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}`},
	"Job, suspended":             {object: jobWith(bareJob + `, suspend: true`), patch: `{spec: {template: {metadata: {labels: {c: d}}, spec: {nodeSelector: {a: b}}}}}`},
	"Job, indexed":               {object: jobWith(bareJob + `, completionMode: Indexed, completions: 2, parallelism: 2`), patch: `{spec: {completions: 3, parallelism: 3}}`},
	"claim, bare":                {object: claimWith(bareClaim), patch: `{metadata: {labels: {a: b}}, spec: {volumeMode: null, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}`},
	"claim, volume":              {object: claimWith(bareClaim + `, storageClassName: ""`), patch: `{spec: {volumeName: v}}`},
	"claim, class":               {object: claimWith(bareClaim), patch: `{spec: {storageClassName: a}}`},
	"RoleBinding, subjects":      {object: roleBinding, patch: `{subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: a}], roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}`},
	"PriorityClass, text":        {object: priorityClass, patch: `{description: a, value: 10, preemptionPolicy: null}`},
	"StorageClass, expansion":    {object: storageClass, patch: `{allowVolumeExpansion: true, reclaimPolicy: null, volumeBindingMode: null}`},
	"ControllerRevision, number": {object: kindNamed("apps/v1", "ControllerRevision", "x", ", revision: 1, data: {a: b}"), patch: `{revision: 2}`},
}

// TestRefusals makes the same writes on the real API server and on those in memory, of a host and of commands: nothing may be refused in
// memory that the API server accepts, and what the rules there are for is refused by all.
func TestRefusals(t *testing.T) {
	e := env.New(t)
	builtIn, err := validation.BuiltIn()
	env.NoError(t, err)
	hosted := memcluster.BuiltIn()
	for i := range hosted {
		hosted[i].Rules = validation.Rules(hosted[i].Resource)
	}
	for refused, cases := range map[bool]map[string]refusalCase{true: refusedCases, false: acceptedCases} {
		for i, name := range slices.Sorted(maps.Keys(cases)) {
			t.Run(fmt.Sprintf("refused=%t/%s", refused, name), func(t *testing.T) {
				w := cases[name].on(t, e, fmt.Sprintf("-%t-%d", refused, i))
				want := w.send(t, e.Cluster.Dynamic(), metav1.DryRunAll)
				if isRefused := apierrors.IsInvalid(want) || apierrors.IsBadRequest(want); isRefused != refused || !refused && want != nil {
					t.Errorf("the API server answers %.500v", want)
				}
				for kind, resources := range map[string][]memcluster.Resource{"a host": hosted, "commands": builtIn} {
					memory := memcluster.New(clock.RealClock{}, resources...)
					if w.before != nil {
						env.NoError(t, memory.Store(w.before.DeepCopy()))
					}
					if got := w.send(t, memory.Client(nil)); (got != nil) != refused {
						t.Errorf("the memory of %s answers %.500v, the API server %.500v", kind, got, want)
					}
				}
			})
		}
	}
}

// refusalWrite is the write of a case.
type refusalWrite struct {
	resource  discovery.Resource
	namespace string
	object    *unstructured.Unstructured
	before    *unstructured.Unstructured // Nil for one that is created.
	patch     []byte
}

// on returns the write of a case. What it changes is there, under a name of its own.
func (c refusalCase) on(t *testing.T, e *env.Env, suffix string) refusalWrite {
	t.Helper()
	fields := func(text string) map[string]any {
		return parse(t, strings.ReplaceAll(text, "NAMESPACE", e.Namespace)).(map[string]any)
	}
	w := refusalWrite{object: &unstructured.Unstructured{Object: fields(c.object)}}
	known, err := memcluster.New(clock.RealClock{}, memcluster.BuiltIn()...).ResourceOf(w.object.GroupVersionKind())
	env.NoError(t, err)
	if w.resource = known.Resource; w.resource.Namespaced {
		w.namespace = e.Namespace
	}
	if c.patch == "" {
		return w
	}
	w.object.SetName(w.object.GetName() + suffix)
	w.patch, err = json.Marshal(fields(c.patch))
	env.NoError(t, err)
	w.before, err = w.at(e.Cluster.Dynamic()).Create(t.Context(), w.object, metav1.CreateOptions{})
	env.NoError(t, err)
	w.before.SetManagedFields(nil) // As in the caches of a host.
	if w.namespace == "" {
		t.Cleanup(func() { e.Delete(w.resource.GroupVersionResource, "", w.object.GetName()) })
	}
	return w
}

func (w refusalWrite) at(client dynamic.Interface) dynamic.ResourceInterface {
	if w.namespace == "" {
		return client.Resource(w.resource.GroupVersionResource)
	}
	return client.Resource(w.resource.GroupVersionResource).Namespace(w.namespace)
}

// send makes the write.
func (w refusalWrite) send(t *testing.T, client dynamic.Interface, dry ...string) error {
	t.Helper()
	if w.before == nil {
		_, err := w.at(client).Create(t.Context(), w.object, metav1.CreateOptions{DryRun: dry})
		return err
	}
	_, err := w.at(client).Patch(t.Context(), w.object.GetName(), types.MergePatchType, w.patch, metav1.PatchOptions{DryRun: dry})
	return err
}
