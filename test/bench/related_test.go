package bench

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// perNamespace is how many parents select one namespace.
const perNamespace = 10

// rules is the answer of a customize hook: a parent asks for config maps by a name
// and by a label of its own in its group's namespace, and for all in the
// namespaces of the next group's team.
func rules(request map[string]any) map[string]any {
	name := (&unstructured.Unstructured{Object: request["parent"].(map[string]any)}).GetName()
	var i int
	if _, err := fmt.Sscanf(name, "web-%d", &i); err != nil {
		panic(err)
	}
	group := i / perNamespace
	rule := func(fields map[string]any) map[string]any {
		fields["apiVersion"], fields["resource"] = "v1", "configmaps"
		return fields
	}
	match := func(key, value string) map[string]any {
		return map[string]any{"matchLabels": map[string]any{key: value}}
	}
	return map[string]any{"relatedResources": []any{
		rule(map[string]any{"namespace": namespaceOf(group), "names": []any{fmt.Sprintf("config-%d", i)}}),
		rule(map[string]any{"namespace": namespaceOf(group), "labelSelector": match("app", name)}),
		rule(map[string]any{"namespaceSelector": match("team", fmt.Sprintf("team-%d", group+1))}),
	}}
}

func namespaceOf(group int) string { return fmt.Sprintf("ns-%d", group) }

func teamNamespace(group int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{
			"name": namespaceOf(group), "uid": fmt.Sprintf("uid-of-ns-%d", group), "resourceVersion": "3",
			"labels": map[string]any{"team": fmt.Sprintf("team-%d", group)},
		},
	}}
}

// config is the config map that parent i asks for by name, and parent j by label.
func config(i, j int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"namespace": namespaceOf(i / perNamespace), "name": fmt.Sprintf("config-%d", i), "uid": fmt.Sprintf("uid-of-config-%d", i), "resourceVersion": "4",
			"labels": map[string]any{"app": fmt.Sprintf("web-%d", j), "tier": "web"},
		},
		"data": map[string]any{"key": "value"},
	}}
}

// manyRelations starts a definition all of whose parents have asked for their
// related objects.
func manyRelations(tb testing.TB, parents int, customize func(map[string]any) map[string]any) (*testEnv, queue) {
	tb.Helper()
	server, q := newAPIServer(), newQueue()
	for i := range parents {
		server.add(webs.GroupVersionResource, web(tb, "default", fmt.Sprintf("web-%d", i)))
	}
	for group := range parents / perNamespace {
		server.add(namespaces.GroupVersionResource, teamNamespace(group))
		server.add(configMaps.GroupVersionResource, config(group*perNamespace, group*perNamespace+1))
	}
	w := start(tb, withCustomize, server, map[string]engines.Program{
		"customize": hook(customize),
		"sync": hook(func(map[string]any) map[string]any {
			return map[string]any{"children": []any{}, "status": map[string]any{}}
		}),
	}, q)
	for _, key := range q.take(tb, parents) {
		w.settle(tb, key)
	}
	q.drain()
	return w, q
}

// relatedEvent has a config map change that one parent asks for by name, another
// by label, and the ten of a group by its namespace.
func relatedEvent(tb testing.TB, w *testEnv, q queue) []controller.Key {
	w.server.send(configMaps.GroupVersionResource, watch.Modified, config(20, 21))
	return q.take(tb, 2+perNamespace)
}

// TestRelatedEvent checks what BenchmarkRelatedEvent measures.
func TestRelatedEvent(t *testing.T) {
	w, q := manyRelations(t, 100, rules)
	var got []string
	for _, key := range relatedEvent(t, w, q) {
		got = append(got, key.Name)
	}
	slices.Sort(got)
	want := []string{"web-10", "web-11", "web-12", "web-13", "web-14", "web-15", "web-16", "web-17", "web-18", "web-19", "web-20", "web-21"}
	if !slices.Equal(got, want) {
		t.Errorf("%v were enqueued, want %v", got, want)
	}
	if more := q.drain(); more > 0 {
		t.Errorf("%d parents besides were enqueued, want none", more)
	}
}

// BenchmarkRelatedEvent measures from a watch event of a related object until the
// twelve parents that asked for it are enqueued, however many others there are.
func BenchmarkRelatedEvent(b *testing.B) {
	for _, parents := range []int{100, 1000, 10_000} {
		w, q := manyRelations(b, parents, rules)
		b.Run(fmt.Sprintf("parents=%d", parents), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				relatedEvent(b, w, q)
			}
		})
	}
}

// widestRules is the answer of a customize hook with as many rules as there may be: besides those of rules,
// selectors of the parent's own that no equality narrows down. They match no config map.
func widestRules(request map[string]any) map[string]any {
	answer := rules(request)
	all := answer["relatedResources"].([]any)
	name := (&unstructured.Unstructured{Object: request["parent"].(map[string]any)}).GetName()
	for i := range 100 - len(all) {
		all = append(all, map[string]any{
			"apiVersion": "v1", "resource": "configmaps", "labelSelector": map[string]any{"matchExpressions": []any{
				map[string]any{"key": "tier", "operator": "DoesNotExist"},
				map[string]any{"key": "app", "operator": "NotIn", "values": []any{fmt.Sprintf("%s-%d", name, i)}},
			}},
		})
	}
	answer["relatedResources"] = all
	return answer
}

// commonRules is the answer of a customize hook whose parents ask for the same, besides the rules of rules: objects with a
// label of any value, and those without one. They match no config map.
func commonRules(request map[string]any) map[string]any {
	answer := rules(request)
	for _, operator := range []map[string]any{{"key": "owner", "operator": "Exists"}, {"key": "tier", "operator": "DoesNotExist"}} {
		answer["relatedResources"] = append(answer["relatedResources"].([]any), map[string]any{
			"apiVersion": "v1", "resource": "configmaps", "labelSelector": map[string]any{"matchExpressions": []any{operator}},
		})
	}
	return answer
}

// BenchmarkRelatedEventSelectors measures the same if the parents' rules have selectors that no index answers: equal ones, and
// 60 000 different ones.
func BenchmarkRelatedEventSelectors(b *testing.B) {
	for _, bc := range []struct {
		name    string
		parents int
		rules   func(map[string]any) map[string]any
	}{{"equal", 1000, commonRules}, {"equal", 10_000, commonRules}, {"different", 60, widestRules}, {"different", 600, widestRules}} {
		w, q := manyRelations(b, bc.parents, bc.rules)
		b.Run(fmt.Sprintf("%s/parents=%d", bc.name, bc.parents), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				relatedEvent(b, w, q)
			}
		})
	}
}

// withRelated has a parent settle that asks for a number of config maps by label.
func withRelated(tb testing.TB, number int) *rig {
	tb.Helper()
	server, web := newAPIServer(), web(tb, "default", "web")
	server.add(webs.GroupVersionResource, web)
	for i := range number {
		server.add(configMaps.GroupVersionResource, config(i, i))
	}
	r := &rig{key: keyOf(web)}
	r.testEnv = start(tb, withCustomize, server, map[string]engines.Program{
		"customize": hook(func(map[string]any) map[string]any {
			return map[string]any{"relatedResources": []any{map[string]any{
				"apiVersion": "v1", "resource": "configmaps", "labelSelector": map[string]any{"matchLabels": map[string]any{"tier": "web"}},
			}}}
		}),
		"sync": hook(func(request map[string]any) map[string]any {
			if got := len(request["related"].(map[string]any)["ConfigMap.v1"].(map[string]any)); got != number {
				tb.Errorf("the hook was shown %d related objects, want %d", got, number)
			}
			r.calls++
			return map[string]any{"children": []any{}, "status": map[string]any{}}
		}),
	}, nil)
	r.settle(tb, r.key)
	return r
}

// TestRelated checks what BenchmarkSyncRelated measures.
func TestRelated(t *testing.T) {
	r := withRelated(t, 10)
	r.idle(t)
	if r.calls != 1 {
		t.Errorf("the hook was called %d times, want once: the second pass had nothing new to see", r.calls)
	}
}

// BenchmarkSyncRelated makes passes over what the last one has seen, with related objects.
func BenchmarkSyncRelated(b *testing.B) {
	for _, related := range []int{10, 1000} {
		r := withRelated(b, related)
		b.Run(fmt.Sprintf("Idle/related=%d", related), func(b *testing.B) { perChild(b, related, func() { r.idle(b) }) })
	}
}
