package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// tenantLabel selects the parent of a tenant's definition.
const tenantLabel = group + "/tenant"

// tenantName is that of a tenant's namespace, and of all that is in it.
func tenantName(i int) string { return fmt.Sprintf("tenant-%04d", i) }

// tenant returns a namespace with the scripts of a definition and with one parent of it, and the definition. No two scripts are equal.
func tenant(i int, o *options, account bool) []*unstructured.Unstructured {
	name := tenantName(i)
	of := scripts[o.engine]
	hook := map[string]any{"version": "v2", "script": map[string]any{"engine": of.engine, "path": of.file}}
	parent := parentObject(name, name, &options{children: 1, payload: o.payload}, 1)
	parent.SetLabels(map[string]string{tenantLabel: name})
	controller := definition(hook)
	controller.SetName(name)
	spec := controller.Object["spec"].(map[string]any)
	spec["parentResource"].(map[string]any)["labelSelector"] = map[string]any{"matchLabels": map[string]any{tenantLabel: name}}
	spec["scriptSources"] = []any{map[string]any{"configMap": map[string]any{"namespace": name, "name": name}}}
	spec["hooks"].(map[string]any)["finalize"] = hook
	objects := []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}},
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": name, "name": name},
			"data": map[string]any{of.file: of.forTenant(name)},
		}},
	}
	if account {
		objects = append(objects, withAccount(controller, name)...)
	}
	return append(objects, controller, parent)
}

// tenants are those that are done: their definition is Ready, and their parent has seen its child.
type tenants struct {
	number int

	mu     sync.Mutex
	ready  map[string]bool
	synced map[string]bool
	first  map[string]time.Time // When a tenant was done first.
}

// watchTenants watches them until ctx ends. It returns once nothing is left to be read.
func watchTenants(ctx context.Context, config *rest.Config, number int) (*tenants, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = driverAgent
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	t := &tenants{number: number, ready: map[string]bool{}, synced: map[string]bool{}, first: map[string]time.Time{}}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	for resource, see := range map[schema.GroupVersionResource]func(*unstructured.Unstructured){
		composites: func(o *unstructured.Unstructured) { t.see(t.ready, o.GetName(), isReady(o)) },
		parents:    func(o *unstructured.Unstructured) { t.see(t.synced, o.GetName(), seesChild(o)) },
	} {
		_, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { see(o.(*unstructured.Unstructured)) },
			UpdateFunc: func(_, o any) { see(o.(*unstructured.Unstructured)) },
		})
		if err != nil {
			return nil, err
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return t, ctx.Err()
}

// isReady reports whether a definition is Ready.
func isReady(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True"
	})
}

// seesChild reports whether a parent's status has its child.
func seesChild(parent *unstructured.Unstructured) bool {
	children, _, _ := unstructured.NestedInt64(parent.Object, "status", "children")
	return children == 1
}

func (t *tenants) see(in map[string]bool, name string, is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	in[name] = is
	if _, was := t.first[name]; !was && t.ready[name] && t.synced[name] {
		t.first[name] = time.Now()
	}
}

// all reports whether all are done now.
func (t *tenants) all() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	done := 0
	for name := range t.first {
		if t.ready[name] && t.synced[name] {
			done++
		}
	}
	return done == t.number
}

// times returns when each of those that were done was so first, in order.
func (t *tenants) times() []time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []time.Time
	for _, at := range t.first {
		all = append(all, at)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}
