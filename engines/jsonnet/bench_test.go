package jsonnet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

func statefulSet(b *testing.B) string {
	script := source(b, enginetest.StatefulSet).Script
	return script.Files[script.Path]
}

// BenchmarkRun calls the StatefulSet hook with requests of about 16 and 146 KB.
func BenchmarkRun(b *testing.B) {
	for _, replicas := range []int{3, 30} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			benchmark(b, statefulSet(b), enginetest.StatefulSetRequest(replicas, replicas, replicas))
		})
	}
}

// BenchmarkPlus is BenchmarkRun of the same hook with + for every %.
func BenchmarkPlus(b *testing.B) {
	plus := strings.NewReplacer(
		`'data-%s' % name`, `'data-' + name`,
		`'%s-%d' % [request.parent.metadata.name, i]`, `request.parent.metadata.name + '-' + i`,
	).Replace(statefulSet(b))
	if strings.Contains(plus, "%") {
		b.Fatal("the hook has changed, and % is left in it")
	}
	for _, replicas := range []int{3, 30} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			benchmark(b, plus, enginetest.StatefulSetRequest(replicas, replicas, replicas))
		})
	}
}

// BenchmarkFormat compares % with + in hooks that do little else.
func BenchmarkFormat(b *testing.B) {
	const loop = `function(request) { children: [
  { metadata: { name: %s, namespace: %s, labels: { app: %s, image: %s } }, spec: { replicas: i } }
  for i in std.range(0, 99)
] }`
	hooks := map[string][]any{
		"plus": {`request.name + '-' + i`, `'ns-' + request.name`, `request.name + '/' + i`, `'registry.example.com/' + request.name + ':v' + i`},
		"list": {`'%s-%d' % [request.name, i]`, `'ns-%s' % [request.name]`, `'%s/%s' % [request.name, i]`, `'registry.example.com/%s:v%d' % [request.name, i]`},
		"one":  {`'%s' % request.name + '-' + i`, `'ns-%s' % request.name`, `request.name + '/%d' % i`, `'registry.example.com/' + '%s:v' % request.name + i`},
		"keys": {`'%(name)s-%(i)d' % { name: request.name, i: i }`, `'ns-%(name)s' % request`, `'%(name)s/%(i)s' % { name: request.name, i: i }`, `'registry.example.com/%(name)s:v%(i)d' % { name: request.name, i: i }`},
	}
	for name, expressions := range hooks {
		b.Run(name, func(b *testing.B) {
			benchmark(b, fmt.Sprintf(loop, expressions...), map[string]any{"name": "web"})
		})
	}
}

func benchmark(b *testing.B, text string, request map[string]any) {
	program, err := compile(b, script(text))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := program.Run(b.Context(), engines.Call{Request: request}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	e := newEngine()
	for b.Loop() {
		if _, err := e.Compile(b.Context(), source(b, enginetest.StatefulSet)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkModule loads and calls a hook that does next to nothing, without and with the host's own module. The first load in a
// process parses the module.
func BenchmarkModule(b *testing.B) {
	for name, text := range map[string]string{
		"without": `function(request) { status: request.a }`,
		"with":    `local libretto = import 'libretto'; function(request) { status: libretto.ordinalOf(request.a, 'web') }`,
	} {
		load := func(b *testing.B, e engine) {
			if _, err := e.Compile(b.Context(), script(text)); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("firstLoad/"+name, func(b *testing.B) {
			for b.Loop() {
				load(b, newEngine())
			}
		})
		b.Run("load/"+name, func(b *testing.B) {
			e := newEngine()
			for b.Loop() {
				load(b, e)
			}
		})
		b.Run("call/"+name, func(b *testing.B) { benchmark(b, text, map[string]any{"a": "web-1"}) })
	}
}

// BenchmarkPods asks for each of 100 Pods whether it is ready, by the module and by the phase alone.
func BenchmarkPods(b *testing.B) {
	pods := map[string]any{}
	for i := range 100 {
		pods[fmt.Sprintf("shop/web-%d", i)] = pod(fmt.Sprintf("web-%d", i))
	}
	for name, condition := range map[string]string{
		"phase": "p.status.phase == 'Running'", "isConditionTrue": "libretto.isConditionTrue(p, 'Ready')", "isReady": "libretto.isReady(p)",
	} {
		text := "local libretto = import 'libretto'; function(request) std.length([p for p in libretto.objectsOf(request, 'v1', 'Pod') if " + condition + "])"
		b.Run(name, func(b *testing.B) { benchmark(b, text, map[string]any{"Pod.v1": pods}) })
	}
}

// pod returns a Pod that runs, with what a kubelet writes into its status.
func pod(name string) map[string]any {
	const since = "2026-01-01T00:00:00Z"
	conditions, statuses, containers := []any{}, []any{}, []any{}
	for _, kind := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, map[string]any{
			"type": kind, "status": "True", "lastProbeTime": nil, "lastTransitionTime": since, "observedGeneration": int64(1),
		})
	}
	for _, container := range []string{"main", "sidecar"} {
		containers = append(containers, map[string]any{"name": container, "image": "registry.example.com/web:1.27"})
		statuses = append(statuses, map[string]any{
			"name": container, "image": "registry.example.com/web:1.27", "ready": true, "started": true, "restartCount": int64(0),
			"state": map[string]any{"running": map[string]any{"startedAt": since}}, "lastState": map[string]any{},
			"volumeMounts": []any{map[string]any{"name": "token", "mountPath": "/var/run/secrets", "readOnly": true}},
		})
	}
	ip := []any{map[string]any{"ip": "10.0.0.1"}}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "shop", "generation": int64(1)},
		"spec": map[string]any{"nodeName": "a", "containers": containers},
		"status": map[string]any{
			"phase": "Running", "startTime": since, "qosClass": "BestEffort", "observedGeneration": int64(1),
			"podIP": "10.0.0.1", "podIPs": ip, "hostIP": "10.0.0.1", "hostIPs": ip, "conditions": conditions, "containerStatuses": statuses,
		},
	}
}

// BenchmarkDeployments makes ten Deployments, by the module and as they come out of it.
func BenchmarkDeployments(b *testing.B) {
	const (
		byModule = `(import 'libretto').deployment({ name: 'web', podSpec: { containers: [{ name: 'web', image: 'nginx:1.29', ports: [80] }] } })`
		plain    = `{
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', labels: { app: 'web' } },
  spec: { selector: { matchLabels: { app: 'web' } }, template: { metadata: { labels: { app: 'web' } }, spec: {
    automountServiceAccountToken: false, enableServiceLinks: false, securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    containers: [{ name: 'web', image: 'nginx:1.29', securityContext: { allowPrivilegeEscalation: false }, ports: [{ containerPort: 80 }] }],
  } } },
}`
	)
	for name, expression := range map[string]string{"module": byModule, "plain": plain} {
		text := "function(request) [" + expression + " for i in std.range(1, 10)]"
		b.Run(name, func(b *testing.B) { benchmark(b, text, nil) })
	}
}
