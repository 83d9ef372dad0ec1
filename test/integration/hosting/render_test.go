package hosting

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// rendered is what render -o json prints of one parent.
type rendered struct {
	Parent   string
	Status   map[string]any
	Children []map[string]any
}

// TestRender checks that the examples come to the same children and the same status on a real cluster as in render --until-settled.
func TestRender(t *testing.T) {
	e := env.New(t)
	e.Start()
	root, err := cluster.Root()
	env.NoError(t, err)
	for name, tc := range map[string]struct {
		files     []string
		parent    string // resource, namespace and name
		resources string // of the children
	}{
		"hello":     {[]string{"hello/hello.yaml", "hello/greeting.yaml"}, "greetings default world", "configmaps"},
		"map":       {[]string{"map/map.yaml", "map/catalog.yaml"}, "catalogs default shop", "configmaps"},
		"catset":    {[]string{"catset", "catset/catset.yaml"}, "catsets demo nginx", "pods,persistentvolumeclaims"},
		"decorator": {[]string{"decorator", "decorator/statefulset.yaml"}, "statefulsets default web", "services"},
	} {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			parent := strings.Fields(tc.parent)
			var args []string
			for _, file := range tc.files {
				path, flag := filepath.Join(root, "examples", file), "-f"
				if filepath.Ext(file) == "" {
					flag = "-k"
				}
				args = append(args, "-f", path)
				e.Kubectl("apply", flag, path)
				t.Cleanup(func() {
					_, err := e.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "--wait=false", flag, path)
					env.NoError(t, err)
				})
			}
			// What the cluster has besides the files is an input too.
			others := e.Kubectl("get", "configmaps", "-n", parent[1], "kube-root-ca.crt", "-o", "json")
			want := render(t, others, append(args, "-f", "-", "-n", parent[1])...)
			e.Eventually(func() error {
				return sameAsLive(e, want, parent, tc.resources)
			})
		})
	}
}

// render runs the command.
func render(t *testing.T, stdin string, args ...string) rendered {
	t.Helper()
	libretto, err := cluster.Binary("libretto")
	env.NoError(t, err)
	command := exec.Command(libretto, append([]string{"render", "--until-settled", "-o", "json"}, args...)...)
	var stderr bytes.Buffer
	command.Stdin, command.Stderr = strings.NewReader(stdin), &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var all []rendered
	env.NoError(t, json.Unmarshal(out, &all))
	if len(all) != 1 {
		t.Fatalf("%d parents: %s", len(all), out)
	}
	return all[0]
}

// sameAsLive returns an error unless the parent and its children are as rendered. Of built-in kinds the API server fills in more.
func sameAsLive(e *env.Env, want rendered, name []string, resources string) error {
	parent := parseJSON(e, e.Kubectl("get", name[0], "-n", name[1], name[2], "-o", "json"))
	status, _ := parent.Object["status"].(map[string]any)
	if name[0] != "statefulsets" { // Its status is another controller's.
		if diff := cmp.Diff(want.Status, status); diff != "" {
			return fmt.Errorf("status: -rendered +live:\n%s", diff)
		}
	}
	list := parseJSON(e, e.Kubectl("get", resources, "-n", name[1], "-o", "json"))
	items, _ := list.Object["items"].([]any)
	live := map[string]map[string]any{}
	for _, item := range items {
		child := &unstructured.Unstructured{Object: item.(map[string]any)}
		for _, owner := range child.GetOwnerReferences() {
			if owner.UID == parent.GetUID() {
				live[child.GetName()] = child.Object
			}
		}
	}
	if len(live) != len(want.Children) {
		return fmt.Errorf("there are %d children, and %d are rendered", len(live), len(want.Children))
	}
	for _, child := range want.Children {
		rendered := &unstructured.Unstructured{Object: child}
		labels := rendered.GetLabels()
		if _, generated := labels["controller-uid"]; generated {
			labels["controller-uid"] = string(parent.GetUID())
			rendered.SetLabels(labels)
		}
		if diff := cmp.Diff(any(rendered.Object), common(live[rendered.GetName()], rendered.Object)); diff != "" {
			return fmt.Errorf("%s: -rendered +live:\n%s", rendered.GetName(), diff)
		}
	}
	return nil
}

// common returns of a value what another one has. Plug-ins of the API server add items at the end of lists.
func common(value, other any) any {
	fields, ok := value.(map[string]any)
	named, both := other.(map[string]any)
	if ok && both {
		has := map[string]any{}
		for name := range named {
			if field, found := fields[name]; found {
				has[name] = common(field, named[name])
			}
		}
		return has
	}
	items, ok := value.([]any)
	others, both := other.([]any)
	if !ok || !both || len(items) < len(others) {
		return value
	}
	list := make([]any, len(others))
	for i := range others {
		list[i] = common(items[i], others[i])
	}
	return list
}

func parseJSON(e *env.Env, text string) *unstructured.Unstructured {
	e.T.Helper()
	object := &unstructured.Unstructured{}
	e.NoError(json.Unmarshal([]byte(text), &object.Object))
	return object
}
