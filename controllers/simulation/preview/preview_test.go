package preview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
)

const definitionText = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: boxes}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: boxes, revisionHistory: {fieldPaths: ["spec"]}}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: METHOD}}
  - {apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}}
  hooks:
    sync: {script: {inline: "", engine: JavaScript}}
    customize: {script: {inline: "", engine: JavaScript}}
`

// hook is a hook that is a function.
type hook struct {
	engines.ProgramBase
	answer func(request map[string]any) (any, error)
}

func (h hook) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	body, err := h.answer(call.Request)
	if err != nil {
		return engines.Response{}, &engines.Error{Kind: engines.Failed, Message: err.Error(), Err: err}
	}
	return engines.Response{Body: body}, nil
}

// script is what the hooks of one text answer.
type script struct {
	children  func(request map[string]any) ([]any, error)
	status    func(request map[string]any) map[string]any
	customize []any
}

func (s script) programs() map[string]engines.Program {
	return map[string]engines.Program{
		"sync": hook{answer: func(request map[string]any) (any, error) {
			children, err := s.children(request)
			answer := map[string]any{"children": children}
			if s.status != nil {
				answer["status"] = s.status(request)
			}
			return answer, err
		}},
		"customize": hook{answer: func(map[string]any) (any, error) { return map[string]any{"relatedResources": s.customize}, nil }},
	}
}

// configMap returns a ConfigMap of the parent of a request.
func configMap(request map[string]any, suffix string, data map[string]any) map[string]any {
	name, _, _ := unstructured.NestedString(request, "parent", "metadata", "name")
	o := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name + suffix}}
	if data != nil {
		o["data"] = data
	}
	return o
}

func secret(request map[string]any, value string) map[string]any {
	o := configMap(request, "", nil)
	o["kind"], o["stringData"] = "Secret", map[string]any{"password": value}
	return o
}

// withSecret returns a script that makes a Secret and a ConfigMap.
func withSecret(value string, data map[string]any) script {
	return script{children: func(r map[string]any) ([]any, error) { return []any{secret(r, value), configMap(r, "", data)}, nil }}
}

// some returns a script that makes these ConfigMaps with the same data.
func some(value string, suffixes ...string) script {
	return script{children: func(request map[string]any) ([]any, error) {
		all := []any{}
		for _, suffix := range suffixes {
			all = append(all, configMap(request, suffix, map[string]any{"image": value}))
		}
		return all, nil
	}}
}

// names returns a script that returns these ConfigMaps without content.
func names(suffixes ...string) script {
	return script{children: func(request map[string]any) ([]any, error) {
		all := []any{}
		for _, suffix := range suffixes {
			all = append(all, configMap(request, suffix, nil))
		}
		return all, nil
	}}
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// scene is a cluster in which a definition has settled.
type scene struct {
	base    *stage.Base
	objects []*unstructured.Unstructured
}

// settled returns the cluster that a script has made for parents.
func settled(t testing.TB, method string, before script, parents int) scene {
	t.Helper()
	boxes, err := memcluster.Custom("example.com/v1", "Box", "boxes", true, true)
	if err != nil {
		t.Fatal(err)
	}
	definition := parse(t, strings.Replace(definitionText, "METHOD", method, 1))
	base, err := stage.NewBase(definition, []memcluster.Resource{boxes}, stage.Host{HostNamespace: "libretto"}, time.Unix(0, 0))
	if err != nil || base.Refusal != nil {
		t.Fatal(err, base.Refusal)
	}
	in := simulation.Input{
		Definition: base.Definition, Plan: base.Plan, Resources: base.Resources, Programs: before.programs(), Schemas: base.Schemas,
		Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Log: logr.Discard(),
	}
	for i := range parents {
		in.Objects = append(in.Objects, parse(t, fmt.Sprintf(`
apiVersion: example.com/v1
kind: Box
metadata: {name: "%s", namespace: default}
spec: {}
`, name(i))))
	}
	session, err := simulation.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 3 {
		for _, object := range in.Objects {
			if result, err := session.Reconcile(t.Context(), object); err != nil {
				t.Fatal(err, result)
			}
		}
	}
	return scene{base: base, objects: session.Cluster().Objects()}
}

// preview returns what another script would change, one line each.
func (s scene) preview(t testing.TB, after script, change func(*Input)) []string {
	t.Helper()
	in := Input{Base: s.base, Programs: after.programs(), Now: time.Unix(60, 0)}
	for _, object := range s.objects {
		object = object.DeepCopy()
		in.Objects = append(in.Objects, object)
		if object.GetKind() == "Box" {
			in.Parents = append(in.Parents, object)
		}
	}
	if change != nil {
		change(&in)
	}
	results, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, o := range results {
		for _, c := range o.Changes {
			var fields []string
			for _, field := range c.Fields {
				fields = append(fields, field.String())
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Action, c.Key, strings.Join(fields, ", "))))
		}
		if o.Err != nil {
			lines = append(lines, fmt.Sprintf("%s fails: %v", o.Parent, o.Err))
		}
		if o.EndlessStatus {
			lines = append(lines, o.Parent.String()+" has a status that never rests")
		}
	}
	return lines
}

// TestRun compares what two texts make of the same parents.
func TestRun(t *testing.T) {
	number := 0
	cases := map[string]struct {
		method        string
		before, after script
		passes        int
		want          []string
	}{
		"the same text changes nothing": {before: some("1", "", "-x"), after: some("1", "", "-x")},
		"no children by mistake": {
			before: some("1", "", "-x"), after: some("1"),
			want: []string{"delete ConfigMap default/a", "delete ConfigMap default/a-x"},
		},
		"a field, in place": {
			before: some("1", ""), after: some("2", ""), want: []string{`update ConfigMap default/a data.image: "1" becomes "2"`},
		},
		"a field, recreated: the second pass is seen too": {
			method: "Recreate", before: some("1", ""), after: some("2", ""),
			want: []string{`recreate ConfigMap default/a data.image: "1" becomes "2"`},
		},
		"a field, one after another: what was recreated becomes ready": {
			method: "RollingRecreate", before: some("1", "", "-x", "-y"), after: some("2", "", "-x", "-y"),
			want: []string{"recreate ConfigMap default/a ", "recreate ConfigMap default/a-x ", "recreate ConfigMap default/a-y "},
		},
		"a field, recreated, in one pass": {
			method: "Recreate", before: some("1", "", "-x"), after: some("2", "", "-x"), passes: 1,
			want: []string{
				`recreate ConfigMap default/a data.image: "1" becomes "2"`, `recreate ConfigMap default/a-x data.image: "1" becomes "2"`,
			},
		},
		"a field, recreated by a rolling update that knows nothing of scripts": {
			method: "RollingRecreate", before: some("1", "", "-x"), after: some("2", "", "-x"), passes: 1,
			want: []string{"recreate ConfigMap default/a ", "recreate ConfigMap default/a-x "},
		},
		"a field, left alone": {
			method: "OnDelete", before: some("1", ""), after: some("2", ""), want: []string{`leave ConfigMap default/a data.image: "1" becomes "2"`},
		},
		"only metadata: what exists is kept": {method: "OnDelete", before: some("1", ""), after: names("")},
		"one more child":                     {before: some("1", ""), after: some("1", "", "-x"), want: []string{"create ConfigMap default/a-x"}},
		"another name":                       {before: some("1", ""), after: some("1", "-x"), want: []string{"delete ConfigMap default/a", "create ConfigMap default/a-x"}},
		"a script throws": {
			before: some("1", ""),
			after:  script{children: func(map[string]any) ([]any, error) { return nil, errors.New("sync.js:3:1: TypeError") }},
			want:   []string{"Box default/a fails: HookFailed: sync hook: sync.js:3:1: TypeError"},
		},
		"a Secret is hidden": {
			before: script{children: func(r map[string]any) ([]any, error) { return []any{secret(r, "old")}, nil }},
			after:  script{children: func(r map[string]any) ([]any, error) { return []any{secret(r, "new")}, nil }},
			want:   []string{"update Secret default/a data.password: (hidden) becomes (hidden)"},
		},
		"what a Secret holds is hidden in copies of it, as it is and in base64": {
			before: withSecret("swordfish", map[string]any{"image": "1"}),
			after:  withSecret("swordfish", map[string]any{"code": "c3dvcmRmaXNo", "image": "x:swordfish"}),
			want:   []string{`update ConfigMap default/a data.code: nothing becomes "(hidden)", data.image: "1" becomes "x:(hidden)"`},
		},
		"so is what it held before": {
			before: withSecret("swordfish", map[string]any{"image": "swordfish"}),
			after:  withSecret("hunter22", map[string]any{"image": "hunter22"}),
			want: []string{
				"update Secret default/a data.password: (hidden) becomes (hidden)", `update ConfigMap default/a data.image: "(hidden)" becomes "(hidden)"`,
			},
		},
		"a child that never rests": {
			before: some("1", ""), after: script{children: func(r map[string]any) ([]any, error) {
				number++
				return []any{configMap(r, "", map[string]any{"n": fmt.Sprint(number)})}, nil
			}},
			want: []string{"update ConfigMap default/a data.image", "Box default/a fails: it does not settle: ConfigMap default/a is written again"},
		},
		"a status that never rests": {
			before: some("1", ""), after: script{
				children: some("1", "").children,
				status:   func(map[string]any) map[string]any { number++; return map[string]any{"n": int64(number)} },
			},
			want: []string{"update status Box default/a status.n", "Box default/a has a status that never rests"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.method == "" {
				c.method = "InPlace"
			}
			got := settled(t, c.method, c.before, 1).preview(t, c.after, func(in *Input) { in.Passes = c.passes })
			if len(c.want) != len(got) {
				t.Fatalf("-want +got:\n%s", cmp.Diff(c.want, got))
			}
			for i := range c.want {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("-want +got:\n%s", cmp.Diff(c.want, got))
				}
			}
		})
	}
}

// TestTakenName creates a child under the name of an object that the preview was not given.
func TestTakenName(t *testing.T) {
	s := settled(t, "InPlace", some("1", ""), 1)
	asked := 0
	got := s.preview(t, some("1", "", "-x"), func(in *Input) {
		in.Existing = func(resource memcluster.Resource, name types.NamespacedName) (*unstructured.Unstructured, error) {
			asked++
			if resource.Resource.Resource != "configmaps" || name.String() != "default/a-x" {
				return nil, nil
			}
			return parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a-x, namespace: default, uid: other, resourceVersion: "7"}}`), nil
		}
	})
	if len(got) != 1 || !strings.Contains(got[0], "Box default/a fails: ") || !strings.Contains(got[0], "a-x") || asked != 1 {
		t.Errorf("asked %d times: %q", asked, got)
	}
}

// TestRelated has a hook that makes children of related objects, which are read once it has asked for them.
func TestRelated(t *testing.T) {
	after := script{
		children: func(request map[string]any) ([]any, error) {
			found, _, err := unstructured.NestedMap(request, "related", "Service.v1")
			all := []any{}
			for name := range found {
				all = append(all, configMap(request, "-"+name, map[string]any{"for": name}))
			}
			return all, err
		},
		customize: []any{map[string]any{"apiVersion": "v1", "resource": "services", "names": []any{"n1", "n2"}}},
	}
	s := settled(t, "InPlace", some("1"), 2)
	var asked []string
	got := s.preview(t, after, func(in *Input) {
		in.Related = func(_ context.Context, selection parent.Selection) ([]*unstructured.Unstructured, error) {
			asked = append(asked, selection.Resource.Resource+" "+strings.Join(selection.Names, " "))
			return []*unstructured.Unstructured{parse(t, `{apiVersion: v1, kind: Service, metadata: {name: n1, namespace: default, uid: n1, resourceVersion: "7"}}`)}, nil
		}
	})
	want := []string{"create ConfigMap default/a-n1", "create ConfigMap default/b-n1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"services n1 n2", "services n1 n2"}, asked); diff != "" {
		t.Errorf("asked: -want +got:\n%s", diff)
	}
	got = s.preview(t, after, func(in *Input) {
		in.Related = func(context.Context, parent.Selection) ([]*unstructured.Unstructured, error) {
			return nil, errors.New("you may not list services")
		}
	})
	if len(got) != 2 || !strings.Contains(got[0], "Box default/a fails: ") || !strings.Contains(got[0], "you may not list services") {
		t.Errorf("%q", got)
	}
}

// name returns the name of a parent: a, b and so on.
func name(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprintf("p%d", i)
}
