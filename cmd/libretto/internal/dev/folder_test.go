package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/crd"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/controllers/simulation/apiserver"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// TestMain builds kustomizations too: the folder starts the test binary for that.
func TestMain(m *testing.M) {
	kustomize.Main()
	os.Exit(m.Run())
}

// newCluster returns a cluster in memory, and clients of it.
func newCluster(t *testing.T) (*apiserver.Server, dynamic.Interface, discovery.DiscoveryInterface) {
	t.Helper()
	server, err := apiserver.New(apiserver.Config{Clock: clock.RealClock{}, Log: logr.Discard(), ReadyAfter: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		server.Run(ctx)
		close(done)
	}()
	client, clientErr := dynamic.NewForConfig(server.RESTConfig())
	api, err := discovery.NewDiscoveryClientForConfig(server.RESTConfig())
	if err := errors.Join(clientErr, err); err != nil {
		t.Fatal(err)
	}
	return server, client, api
}

// newAuthor returns a folder that is applied to a cluster in memory.
func newAuthor(t *testing.T) *author {
	t.Helper()
	_, client, api := newCluster(t)
	s, root := newStream(), t.TempDir()
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	return &author{
		problems: &problems{stream: s, root: root, engines: registry, bySource: map[string][]string{}},
		tests:    &tests{started: make(chan struct{}, 1)}, client: client, applied: map[string]*applied{},
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(api)), stderr: io.Discard,
	}
}

// prepare writes the files of the folder in the place of those that are there, and returns what can't be applied.
func (a *author) prepare(t *testing.T, files map[string]string) string {
	t.Helper()
	entries, err := os.ReadDir(a.root)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(a.root, entry.Name())))
	}
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(a.root, name), []byte(text), 0o600))
	}
	set, loadErr := manifest.Load(t.Context(), manifest.Options{Filenames: []string{a.root}, IsScript: standard.IsScript})
	if err := errors.Join(err, loadErr); err != nil {
		t.Fatal(err)
	}
	a.Read(files, set, nil)
	a.Applied(a.Prepare(t.Context(), set))
	return strings.Join(slices.Concat(a.bySource[sourceRead], a.bySource[sourceApplied]), "\n")
}

const (
	shopsCRD = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: shops.example.com}, spec: {
  group: example.com, scope: Namespaced, names: {kind: Shop, plural: shops}, versions: [{name: v1, served: true, storage: true, schema: {
    openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
	shop            = "{apiVersion: example.com/v1, kind: Shop, metadata: {namespace: mall, name: s}, spec: {size: 1}}"
	shopsDefinition = `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: shops}, spec: {
  parentResource: {apiVersion: example.com/v1, resource: shops, labelSelector: {matchLabels: {open: "yes"}}},
  childResources: [{apiVersion: v1, resource: configmaps}],
  scriptSources: [{configMap: {namespace: hooks, name: shops}}], hooks: {sync: {version: v2, script: {path: sync.js}}}}}`
	hooks = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: hooks, name: shops}, data: {sync.js: 'x'}}"
)

// TestPrepare changes a folder and the cluster in turn.
func TestPrepare(t *testing.T) {
	a := newAuthor(t)
	shops := a.client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "shops"}).Namespace("mall")
	size := func() any {
		object, err := shops.Get(t.Context(), "s", metav1.GetOptions{})
		if err != nil {
			return apierrors.ReasonForError(err)
		}
		return object.Object["spec"].(map[string]any)["size"]
	}
	check := func(reason string, problem string, want any, files ...string) {
		t.Helper()
		named := map[string]string{}
		for i, text := range files {
			named[fmt.Sprint(i, ".yaml")] = text
		}
		if got := a.prepare(t, named); (got == "") != (problem == "") || !strings.Contains(got, problem) {
			t.Errorf("%s: problems %q, want %q", reason, got, problem)
		}
		if got := size(); got != want {
			t.Errorf("%s: %v, want %v", reason, got, want)
		}
	}
	check("an empty folder has a beginning", "libretto init", metav1.StatusReasonNotFound)
	check("its kind is unknown", `0.yaml:1:1: Shop mall/s: no matches for kind "Shop" in version "example.com/v1": put its CustomResourceDefinition`,
		metav1.StatusReasonNotFound, shop)
	check("a kind is misspelt", `"CompositController" in version "metacontroller.k8s.io/v1alpha1": did you mean CompositeController?`,
		metav1.StatusReasonNotFound, strings.Replace(shopsDefinition, "CompositeController", "CompositController", 1))
	check("it is applied with its kind and namespace", "", int64(1), shop, shopsCRD, shopsDefinition, hooks)
	if _, err := shops.Patch(t.Context(), "s", types.MergePatchType, []byte(`{"spec": {"size": 2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	check("what somebody tries stays", "", int64(2), shop, shopsCRD, shopsDefinition)
	check("until it is edited in the folder", "", int64(3), strings.Replace(shop, "size: 1", "size: 3", 1), shopsCRD, shopsDefinition)
	check("it would be another one each time", "give it a name", int64(3), strings.Replace(shop, "size: 1", "size: 3", 1), shopsCRD, shopsDefinition,
		strings.Replace(shop, "name: s", "generateName: s", 1))
	check("what the folder does not have any more is deleted", "", metav1.StatusReasonNotFound, shopsCRD)
	core := func(resource string) dynamic.NamespaceableResourceInterface {
		return a.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource})
	}
	for _, name := range []string{"mall", "hooks"} {
		if _, err := core("namespaces").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("namespace %s: %v", name, err)
		}
	}
	if _, err := core("configmaps").Namespace("hooks").Get(t.Context(), "shops", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap of scripts is the host's to apply: %v", err)
	}
}

// TestCheck edits a folder, and checks what is said of it each time.
func TestCheck(t *testing.T) {
	a := newAuthor(t)
	var printed strings.Builder
	a.stderr = &printed
	schema := "group: example.com\nkind: Shop\nspec:\n  size: integer\n"
	made, err := crd.Make("schema.yaml", []byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"kustomization.yaml": "resources: [a.yaml, b.yaml, crd.yaml]", "crd.yaml": string(made), "schema.yaml": schema,
		"a.yaml": strings.Replace(strings.Replace(shopsDefinition, "configmaps}", "pods, updateStrategy: {method: RollingInPlace}}", 1),
			"hooks: {", "hooks: {postUpdateChild: {webhook: {url: http://a}}, ", 1),
		"b.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {namespace: hooks, name: shops}
data:
  sync.js: |
    export function sync(request) {
      return { children: [], status: request.parent.spec.sise ? {} : {} };
    }
`}
	const (
		selector = "a.yaml:2:19: error: CompositeController shops: shops.example.com have no spec.selector in their CustomResourceDefinition, " +
			"so that no parent can tell its children: set generateSelector: true, or add the field [NoSelector]\n"
		plan = "a.yaml:3:69: warning: CompositeController shops: a rolling update of pods goes on to the next child whether or not the last " +
			"one is healthy: give updateStrategy.statusChecks the conditions that a healthy one has [NoStatusChecks]\n"
		hook = "a.yaml:4:91: warning: CompositeController shops: the hook postUpdateChild is never called, " +
			"here as in metacontroller: leave it out [HookNotCalled]\n"
		field    = "b.yaml:7:58: error: parent.spec.sise: there is no such field: did you mean size? [SchemaMismatch]\n"
		outdated = "crd.yaml:1: warning: CustomResourceDefinition shops.example.com: it is not what schema.yaml says: " +
			"libretto crd schema.yaml -o crd.yaml, in its folder [OutdatedCRD]\n"
	)
	for _, step := range []struct{ reason, file, old, new, shown, printed string }{
		{"the host logs what it warns of", "b.yaml", "", "", selector + plan + hook + field, selector + hook + field},
		{"a mistake is mended", "b.yaml", "sise", "size", selector + plan + hook, ""},
		{"a schema is edited of which nothing was made since", "schema.yaml", "size: integer", "size: string", selector + plan + hook + outdated, outdated},
		{"what does not load the host says", "b.yaml", "[]", "[", selector + plan + hook + outdated, ""},
	} {
		files[step.file] = strings.Replace(files[step.file], step.old, step.new, 1)
		printed.Reset()
		if got := a.prepare(t, files); got != "" {
			t.Fatal(got)
		}
		a.check(t.Context())
		if diff := cmp.Diff(step.shown, strings.Join(append(shownProblems(t, a.stream), ""), "\n")); diff != "" {
			t.Errorf("%s: shown (-want +got):\n%s", step.reason, diff)
		}
		if diff := cmp.Diff(step.printed, strings.ReplaceAll(printed.String(), a.root+"/", "")); diff != "" {
			t.Errorf("%s: printed (-want +got):\n%s", step.reason, diff)
		}
	}
	a.Read(files, nil, []error{errors.New("a.yaml:1: it is no YAML")})
	a.check(t.Context())
	if diff := cmp.Diff([]string{"a.yaml:1: it is no YAML"}, shownProblems(t, a.stream)); diff != "" {
		t.Errorf("a file can't be read (-want +got):\n%s", diff)
	}
	a.isLive = true
	a.prepare(t, files)
	a.check(t.Context())
	if got := shownProblems(t, a.stream); len(got) != 5 || !strings.HasSuffix(got[3], "[ScriptInvalid]") {
		t.Errorf("no host says it: %q", got)
	}
}

const (
	inlineDefinition = `apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: inline}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  hooks:
    sync:
      script:
        engine: JavaScript
        inline: |
          a
          b
`
	hooksInYAML = `apiVersion: v1
kind: ConfigMap
metadata: {namespace: hooks, name: shops}
data:
  sync.js: |
    a
    b
`
)

// preparePlaces writes a folder whose scripts are in files, in a ConfigMap and in a definition.
func (a *author) preparePlaces(t *testing.T) {
	t.Helper()
	prefixed := strings.Replace(shopsDefinition, "[{configMap: {namespace: hooks, name: shops}}", `[
    {configMap: {namespace: hooks, name: shops}}, {configMap: {namespace: hooks, name: lib, prefix: lib}}, {configMap: {namespace: hooks, name: gone, prefix: gone}}`, 1)
	got := a.prepare(t, map[string]string{
		"a.yaml": prefixed, "b.yaml": hooksInYAML, "c.yaml": inlineDefinition, "f.js": "a\nb", "d.yaml": shopsCRD,
		"kustomization.yaml": "resources: [a.yaml, b.yaml, c.yaml, d.yaml]\nconfigMapGenerator:\n" +
			"- {name: lib, namespace: hooks, files: [f.js], options: {disableNameSuffixHash: true}}\n",
	})
	if got != "" {
		t.Fatal(got)
	}
}

// TestProblems checks how the problems of the folder and of definitions are named.
func TestProblems(t *testing.T) {
	a := newAuthor(t)
	a.preparePlaces(t)
	a.put("uid", "CompositeController shops: ConfigMap hooks/shops: sync.js:2:1: unexpected b\nConfigMap hooks/lib: lib/f.js:1: what\n"+
		"revision a goes on serving",
		"CompositeController shops: ConfigMap hooks/gone: gone/f.js:1:1: whatever",
		"DecoratorController inline: hook sync: inline-sync.js:2:1: unexpected b",
		"CompositeController shops: spec.hooks.sync: it is missing", "CompositeController other: whatever")
	a.put(sourceRead, a.root+"/c.yaml:1: it can't be read")
	want := []string{
		"c.yaml:1: it can't be read", "b.yaml:7:5: CompositeController shops: unexpected b\nf.js:1: what\nrevision a goes on serving",
		"a.yaml:1:1: CompositeController shops: ConfigMap hooks/gone: gone/f.js:1:1: whatever",
		"c.yaml:12:11: DecoratorController inline: hook sync: unexpected b",
		"a.yaml:5:182: CompositeController shops: spec.hooks.sync: it is missing", "CompositeController other: whatever",
	}
	if diff := cmp.Diff(want, shownProblems(t, a.stream)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	a.put("uid")
	a.Read(map[string]string{}, nil, nil)
	if got := a.bySource[sourceRead]; len(got) != 1 || !strings.Contains(got[0], "libretto init") {
		t.Errorf("an empty folder: %q", got)
	}
}

// TestWithoutRoot checks which parts of a text are taken for the folder.
func TestWithoutRoot(t *testing.T) {
	for _, c := range []struct{ reason, root, text, want string }{
		{"a file of it", "app", "app/a.js:1: x (app/b.js:2)", "a.js:1: x (b.js:2)"},
		{"a folder in it has its name, or ends with it", "app", "app/app/webapp/a.js:1: x", "app/webapp/a.js:1: x"},
		{"it is elsewhere", "/tmp/app", `"/tmp/app/a.js", and /var/tmp/app/b.js`, `"a.js", and /var/tmp/app/b.js`},
		{"files are named without it", ".", "./a.js", "./a.js"},
		{"there is none", "", "apps/v1 /x", "apps/v1 /x"},
	} {
		if got := withoutRoot(c.text, c.root); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}

// shownProblems returns the problems that a stream has last.
func shownProblems(t *testing.T, s *stream) []string {
	t.Helper()
	lines, _, _, _ := s.after(0)
	var last struct{ Problems []string }
	for _, line := range lines {
		if err := json.Unmarshal(line, &last); err != nil {
			t.Fatal(err)
		}
	}
	return last.Problems
}

// TestTerminal checks which places the log of the host has.
func TestTerminal(t *testing.T) {
	a := newAuthor(t)
	a.preparePlaces(t)
	for name, c := range map[string]struct{ reason, line, want string }{
		"file":   {"a ConfigMap is made of it", `{"definition": "CompositeController shops", "problems": "ConfigMap hooks/lib: lib/f.js:2:9: no \"x\""}`, `{"definition": "CompositeController shops", "problems": "ROOT/f.js:2:9: no \"x\""}`},
		"lines":  {"a ConfigMap is written as YAML", `{"definition": "CompositeController shops", "problems": "ConfigMap hooks/lib: lib/f.js:1:1: x\nConfigMap hooks/shops: sync.js:2:1: y"}`, `{"definition": "CompositeController shops", "problems": "ROOT/f.js:1:1: x\nROOT/b.yaml:7:5: y"}`},
		"inline": {"a script is in a definition", `{"definition": "DecoratorController inline", "problems": "hook sync: inline-sync.js:2:1: x"}`, `{"definition": "DecoratorController inline", "problems": "hook sync: ROOT/c.yaml:12:11: x"}`},
		"run":    {"it fails when it is called", `{"definition": "CompositeController shops", "error": "sync hook: lib/f.js:1:1: x", "stack": "at f (lib/f.js:1:1)\nat sync (sync.js:1:1)"}`, `{"definition": "CompositeController shops", "error": "sync hook: ROOT/f.js:1:1: x", "stack": "at f (ROOT/f.js:1:1)\nat sync (ROOT/b.yaml:6:5)"}`},
		"absent": {"the folder does not have the ConfigMap", `{"definition": "CompositeController shops", "problems": "ConfigMap hooks/gone: gone/f.js:2:9: x"}`, ""},
		"other":  {"it is another's file of that name", `{"definition": "DecoratorController inline", "problems": "ConfigMap hooks/lib: lib/f.js:2:9: x"}`, ""},
		"none":   {"it is about no definition", `07:53:35.647	ERROR	folder	it can't be read	{"error": "ROOT/f.js:2:9: x"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			var out strings.Builder
			here := strings.NewReplacer("ROOT", a.root)
			if c.want == "" {
				c.want = c.line
			}
			line := here.Replace(c.line)
			if n, err := io.WriteString(terminal{&out, a.problems}, line); err != nil || n != len(line) {
				t.Errorf("%d bytes were written: %v", n, err)
			}
			if diff := cmp.Diff(here.Replace(c.want), out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestObjects follows a cluster, and checks what its objects are taken for, in whatever order they come.
func TestObjects(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		live   bool
		want   map[string]string
	}{
		"own": {
			reason: "all is shown", want: map[string]string{
				"CompositeController shops": "definition ", "Shop s": "parent CompositeController shops", "Shop closed": "other ",
				"ConfigMap child": "child CompositeController shops", "ConfigMap unowned": "other ",
				"Secret password": "child CompositeController shops",
			},
		},
		"live": {
			reason: "of another cluster only what definitions are about, and nothing secret", live: true, want: map[string]string{
				"CompositeController shops": "definition ", "Shop s": "parent CompositeController shops",
				"ConfigMap child": "child CompositeController shops",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			cluster, client, api := newCluster(t)
			if c.live {
				cluster = nil
			}
			s := newStream()
			o := newObjects(s, &problems{stream: s, root: ".", bySource: map[string][]string{}}, client, api, cluster, "libretto")
			o.run(t.Context())
			a := newAuthor(t)
			a.client, a.mapper = client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(api))
			open := strings.Replace(shop, "name: s", "name: s, labels: {open: 'yes'}", 1)
			closed := strings.Replace(shop, "name: s", "name: closed", 1)
			if got := a.prepare(t, map[string]string{"a.yaml": shopsCRD, "b.yaml": open, "c.yaml": closed}); got != "" {
				t.Fatal(got)
			}
			parent, err := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "shops"}).Namespace("mall").
				Get(t.Context(), "s", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			owner := fmt.Sprintf(", ownerReferences: [{apiVersion: example.com/v1, kind: Shop, name: s, controller: true, uid: %s}]}", parent.GetUID())
			if got := a.prepare(t, map[string]string{
				"a.yaml": shopsCRD, "b.yaml": open, "c.yaml": closed,
				"d.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: mall, name: child" + owner + "}",
				"e.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: mall, name: unowned}}",
				"f.yaml": "{apiVersion: v1, kind: Secret, metadata: {namespace: mall, name: password" + owner + ", data: {a: c2VjcmV0}}",
			}); got != "" {
				t.Fatal(got)
			}
			set, err := manifest.Load(t.Context(), manifest.Options{Filenames: []string{writeFile(t, shopsDefinition)}})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.apply(t.Context(), set.Definitions[0]); err != nil {
				t.Fatal(err)
			}
			awaitShown(t, s, c.want)
			o.setFailing(parent.GetUID(), "boom")
			if got := shownIn(t, s)["Shop s"]; got.State != "failing" || got.Message != "boom" {
				t.Errorf("a parent whose pass failed: %+v", got)
			}
			definitions := schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers"}
			if err := client.Resource(definitions).Delete(t.Context(), "shops", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for name := range c.want {
				if !c.live && name != "CompositeController shops" {
					want[name] = "other "
				}
			}
			awaitShown(t, s, want)
		})
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shownIn returns the objects of a stream by kind and name.
func shownIn(t *testing.T, s *stream) map[string]objectMessage {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]objectMessage{}
	for _, m := range s.byKey {
		object := objectIn(t, m.line)
		if m.isGone || object == nil {
			continue
		}
		u := unstructured.Unstructured{Object: object.Object}
		all[u.GetKind()+" "+u.GetName()] = *object
	}
	return all
}

// awaitShown waits until objects of a stream are of the roles and definitions that are wanted, and no others are, but for the cluster's own.
func awaitShown(t *testing.T, s *stream, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	deadline := time.Now().Add(20 * time.Second)
	for !maps.Equal(got, want) {
		_, _, changed, _ := s.after(0)
		clear(got)
		for name, object := range shownIn(t, s) {
			kind, _, _ := strings.Cut(name, " ")
			if !slices.Contains([]string{"Namespace", "ServiceAccount", "CustomResourceDefinition"}, kind) {
				got[name] = object.Role + " " + object.Definition
			}
		}
		if maps.Equal(got, want) {
			return
		}
		select {
		case <-changed:
		case <-time.After(time.Until(deadline)):
			t.Fatalf("-want +got:\n%s", cmp.Diff(want, got))
		}
	}
}

// TestSetReady checks how objects are shown that were set to fail.
func TestSetReady(t *testing.T) {
	const shop = "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, uid: u}"
	for name, c := range map[string]struct {
		reason, object string
		ready          *bool
		state, message string
	}{
		"fails":    {"its status says it", shop + `, status: {conditions: [{type: Ready, status: "False"}]}}`, new(false), "failing", "it is set to fail: condition Ready is False"},
		"as usual": {"the same status is of one that comes up", shop + `, status: {conditions: [{type: Ready, status: "False"}]}}`, nil, "waiting", "condition Ready is False"},
		"no state": {"hooks see it as ready", shop + "}", new(false), "ready", "it is set to fail, and nothing in its status says so"},
		"ready":    {"nothing is wrong with it", shop + "}", new(true), "ready", ""},
		"deleting": {"it is gone soon", strings.Replace(shop, "uid: u", "uid: u, deletionTimestamp: 2026-01-01T00:00:00Z", 1) + "}", new(false), "deleting", "it is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			cluster, _, _ := newCluster(t)
			o := newObjects(newStream(), nil, nil, nil, cluster, "libretto")
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(c.object), &u.Object); err != nil {
				t.Fatal(err)
			}
			o.set(t.Context(), schema.GroupResource{Group: "example.com", Resource: "shops"}, u)
			o.setReady(objectkey.Key{Kind: u.GroupVersionKind(), Name: "a"}, c.ready)
			if got := shownIn(t, o.stream)["Shop a"]; got.State != c.state || got.Message != c.message {
				t.Errorf("%s: %s, want %s: %s", got.State, got.Message, c.state, c.message)
			}
		})
	}
}

// TestParents checks which objects are taken for parents.
func TestParents(t *testing.T) {
	const decorator = `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: DecoratorController, metadata: {name: d, uid: d, generation: 1}, spec: {
  resources: [{apiVersion: v1, resource: configmaps, annotationSelector: {matchAnnotations: {greet: "yes"}}}],
  hooks: {sync: {webhook: {url: http://hooks.example.com}}}}}`
	cluster, _, _ := newCluster(t)
	o := newObjects(newStream(), &problems{stream: newStream(), bySource: map[string][]string{}}, nil, nil, cluster, "libretto")
	set := func(resource, text string) {
		u := &unstructured.Unstructured{}
		asJSON, err := yaml.YAMLToJSON([]byte(text))
		if err = errors.Join(err, u.UnmarshalJSON(asJSON)); err != nil {
			t.Fatal(err)
		}
		group := u.GroupVersionKind().Group
		o.set(t.Context(), schema.GroupResource{Group: group, Resource: resource}, u)
	}
	for _, name := range []string{"with", "without"} {
		set("configmaps", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, uid: %[1]s}}", name))
	}
	check := func(reason string, want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for name, object := range shownIn(t, o.stream) {
			got[name] = object.Role
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	set("configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: with, uid: with, annotations: {greet: 'yes'}}}")
	set("decoratorcontrollers", decorator)
	check("annotations select", map[string]string{"DecoratorController d": "definition", "ConfigMap with": "parent", "ConfigMap without": "other"})
	edited := strings.NewReplacer("generation: 1", "generation: 2", "annotationSelector: {matchAnnotations:", "labelSelector: {matchLabels:")
	set("decoratorcontrollers", edited.Replace(decorator))
	check("an edit", map[string]string{"DecoratorController d": "definition", "ConfigMap with": "other", "ConfigMap without": "other"})
}
