package webhooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/env"
)

// wire is an Env with cluster-scoped Sites, and a server that keeps the requests.
type wire struct {
	*env.Env
	sites  schema.GroupVersionResource
	server *server
	post   *post
}

// post is the last request to each path, which is /<definition>/<hook>.
type post struct {
	namespace string
	mu        sync.Mutex
	last      map[string]seen
}

type seen struct {
	method, contentType string
	body                map[string]any
}

func newWire(t *testing.T) *wire {
	t.Helper()
	e := env.NewRunning(t)
	e.Apply(env.CRD(e.Group, "Site", "Cluster"))
	w := &wire{Env: e, server: serve(t, nil), sites: e.Things().GroupVersion().WithResource("sites"),
		post: &post{namespace: e.Namespace, last: map[string]seen{}}}
	w.server.says(w.post.answer)
	e.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: related}}")
	return w
}

// answer wants a ConfigMap, and related objects of three kinds.
func (p *post) answer(rw http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.last[r.URL.Path] = seen{method: r.Method, contentType: r.Header.Get("Content-Type"), body: body}
	p.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/customize") {
		fmt.Fprintf(rw, `{"relatedResources": [{"apiVersion": "v1", "resource": "namespaces", "names": [%q]},
  {"apiVersion": "v1", "resource": "configmaps", "names": ["related"]}, {"apiVersion": "apps/v1", "resource": "deployments", "labelSelector": {"matchLabels": {"none": "such"}}}]}`, p.namespace)
		return
	}
	name := strings.Split(r.URL.Path, "/")[1]
	list := "children"
	if body["object"] != nil {
		list = "attachments"
	}
	fmt.Fprintf(rw, `{"finalized": true, "status": {}, %q: [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q, "namespace": %q}}]}`, list, name+"-child", p.namespace)
}

func (p *post) of(definition, hook string) seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last["/"+definition+"/"+hook]
}

// define applies a definition of that kind whose hooks are sync, finalize and customize.
func (w *wire) define(name, kind, version string, parents schema.GroupVersionResource) string {
	w.T.Helper()
	full := w.Namespace + "-" + name
	rule := fmt.Sprintf("{apiVersion: %s, resource: %s, labelSelector: {matchLabels: {set: %s}}}", parents.GroupVersion(), parents.Resource,
		name)
	const children = "[{apiVersion: v1, resource: configmaps}, {apiVersion: apps/v1, resource: deployments}]"
	spec := fmt.Sprintf("generateSelector: true\nparentResource: %s\nchildResources: %s", rule, children)
	if kind == "DecoratorController" {
		spec = fmt.Sprintf("resources: [%s]\nattachments: %s", rule, children)
		w.T.Cleanup(func() {
			w.Delete(env.CompositeControllers.GroupVersion().WithResource("decoratorcontrollers"), "", full)
		})
	}
	spec += "\nhooks:"
	for _, hook := range []string{"sync", "finalize", "customize"} {
		spec += fmt.Sprintf("\n  %s: {version: %s, webhook: {url: %q}}", hook, version, w.server.URL+"/"+name+"/"+hook)
	}
	w.Apply(fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n%s", kind, full, env.Indent(spec)))
	return full
}

// TestRequests shows what is sent, for each kind of definition, version of hooks and scope of parents (sections 2.1 to
// 2.5 of the specification, and its Appendix A).
func TestRequests(t *testing.T) {
	w := newWire(t)
	cases := map[string]struct {
		kind, version string
		cluster       bool
		child         string // the key of the child, with NS for the namespace
		related       string // of the related ConfigMap
		foreign       string // of the related Namespace, "" where it is left out
	}{
		"composite-v1": {kind: "CompositeController", version: "v1", child: "composite-v1-child", related: "related"},
		"composite-v2": {kind: "CompositeController", version: "v2", child: "NS/composite-v2-child", related: "NS/related",
			foreign: "NS"},
		"composite-cluster-v1": {kind: "CompositeController", version: "v1", cluster: true, child: "NS/composite-cluster-v1-child",
			related: "NS/related", foreign: "NS"},
		"composite-cluster-v2": {kind: "CompositeController", version: "v2", cluster: true, child: "NS/composite-cluster-v2-child",
			related: "NS/related", foreign: "NS"},
		"decorator-v1": {kind: "DecoratorController", version: "v1", child: "decorator-v1-child", related: "related"},
		"decorator-v2": {kind: "DecoratorController", version: "v2", child: "NS/decorator-v2-child", related: "NS/related",
			foreign: "NS"},
		"decorator-cluster-v1": {kind: "DecoratorController", version: "v1", cluster: true, child: "NS/decorator-cluster-v1-child",
			related: "NS/related", foreign: "NS"},
		"decorator-cluster-v2": {kind: "DecoratorController", version: "v2", cluster: true, child: "NS/decorator-cluster-v2-child",
			related: "NS/related", foreign: "NS"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wire{Env: w.WithT(t), server: w.server, sites: w.sites, post: w.post}
			there, kind, parents := w.Env, "Thing", w.Things()
			if c.cluster {
				there, kind, parents = w.ClusterScope(), "Site", w.sites
			}
			definition := w.define(name, c.kind, c.version, parents)
			parent := w.Namespace + "-" + name
			there.Apply(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, labels: {set: %s}}, spec: {text: any}}", parents.GroupVersion(),
				kind, parent, name))
			child := strings.ReplaceAll(c.child, "NS", w.Namespace)
			want := map[string]any{
				"children": map[string]any{"ConfigMap.v1": []string{child}, "Deployment.apps/v1": []string{}},
				"related": map[string]any{
					"ConfigMap.v1": []string{strings.ReplaceAll(c.related, "NS", w.Namespace)}, "Deployment.apps/v1": []string{},
					"Namespace.v1": slices.DeleteFunc([]string{strings.ReplaceAll(c.foreign, "NS", w.Namespace)}, func(s string) bool { return s == "" }),
				},
				"finalizing": false,
			}
			w.mustBeSent(name, "sync", c.kind, definition, want, func() *unstructured.Unstructured { return there.Get(parents, parent) })
			w.mustBeAskedFor(name, parent)
			// A deletion is reported in the same words.
			there.Delete(parents, there.Namespace, parent)
			there.WaitForDeletion(parents, parent, "")
			want["finalizing"] = true
			w.mustBeSent(name, "finalize", c.kind, definition, want, nil)
		})
	}
}

// mustBeSent waits until the last request of a hook is the wanted one: of children and related objects just the keys,
// and the parent as it is.
func (w *wire) mustBeSent(name, hook, kind, definition string, want map[string]any, live func() *unstructured.Unstructured) {
	w.T.Helper()
	parentField, childrenField := "parent", "children"
	if kind == "DecoratorController" {
		parentField, childrenField = "object", "attachments"
	}
	w.Eventually(func() error {
		last := w.post.of(name, hook)
		if last.method != http.MethodPost || last.contentType != "application/json" {
			return fmt.Errorf("%s: %q with Content-Type %q, want a POST of application/json", hook, last.method, last.contentType)
		}
		fields := []string{"controller", "finalizing", "related", parentField, childrenField}
		slices.Sort(fields)
		got := map[string]any{"children": keys(last.body[childrenField]), "related": keys(last.body["related"]),
			"finalizing": last.body["finalizing"]}
		if diff := cmp.Diff(fields, slices.Sorted(maps.Keys(last.body))) + cmp.Diff(want, got) + controllerDiffers(last.body["controller"], kind,
			definition); diff != "" {
			return fmt.Errorf("the request of %s (-want +got):\n%s", hook, diff)
		}
		if live == nil {
			return nil
		}
		parent := live()
		parent.SetManagedFields(nil)
		sent := last.body[parentField].(map[string]any)
		if metadata, ok := sent["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
		return differs("the parent that was sent", normal(parent.Object), sent)
	})
}

// keys are the names of the objects of each kind.
func keys(groups any) map[string]any {
	found := map[string]any{}
	all, _ := groups.(map[string]any)
	for kind, objects := range all {
		of, _ := objects.(map[string]any)
		found[kind] = append([]string{}, slices.Sorted(maps.Keys(of))...)
	}
	return found
}

func controllerDiffers(sent any, kind, name string) string {
	controller, _ := sent.(map[string]any)
	o := &unstructured.Unstructured{Object: controller}
	_, hooked, _ := unstructured.NestedMap(controller, "spec", "hooks", "sync", "webhook")
	return cmp.Diff([]any{"metacontroller.k8s.io/v1alpha1", kind, name, true}, []any{o.GetAPIVersion(), o.GetKind(), o.GetName(), hooked})
}

// normal has the numbers of JSON as the test's server reads them.
func normal(object map[string]any) map[string]any {
	var read map[string]any
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		panic(err)
	}
	return read
}

func differs(what string, want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", what, diff)
	}
	return nil
}

// mustBeAskedFor checks the request of customize, of decorators too.
func (w *wire) mustBeAskedFor(name, parent string) {
	w.T.Helper()
	body := w.post.of(name, "customize").body
	if got := slices.Sorted(maps.Keys(body)); !slices.Equal(got, []string{"controller", "parent"}) {
		w.T.Errorf("customize is sent %q", got)
	}
	about, _ := body["parent"].(map[string]any)
	if got := (&unstructured.Unstructured{Object: about}).GetName(); got != parent {
		w.T.Errorf("customize is asked about %q, want %q", got, parent)
	}
}

// TestVersionIsChanged shows that hooks are asked in another version as soon as the definition says so.
func TestVersionIsChanged(t *testing.T) {
	w := newWire(t)
	for kind, name := range map[string]string{"CompositeController": "composite", "DecoratorController": "decorator"} {
		list := map[string]string{"composite": "children", "decorator": "attachments"}[name]
		w.define(name, kind, "v1", w.Things())
		applyThing(w.Env, name, name)
		for version, want := range map[string]string{"v1": name + "-child", "v2": w.Namespace + "/" + name + "-child"} {
			w.define(name, kind, version, w.Things())
			w.Eventually(func() error {
				return differs("keys", map[string]any{"ConfigMap.v1": []string{want}, "Deployment.apps/v1": []string{}},
					keys(w.post.of(name, "sync").body[list]))
			})
		}
	}
}
