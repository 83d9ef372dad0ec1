package chart

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// run returns what a program of bin/ prints.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	binary, err := cluster.Binary(program)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), binary, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", program, args, err)
	}
	return string(out)
}

// TestBase lists all in which the chart differs from the folders that kubectl apply -k takes.
func TestBase(t *testing.T) {
	for _, tc := range []struct{ folder, set, namespace string }{
		{"base", "default", "libretto"},
		{"metacontroller", "metacontroller", "metacontroller"},
	} {
		folder := parse(t, run(t, "kubectl", "kustomize", filepath.Join("..", "..", "manifests", tc.folder)))
		for _, o := range folder {
			if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
				o.SetNamespace("") // kustomize does not know that they are in none.
			}
		}
		golden(t, tc.folder+".diff", differences(folder, objectsOf(t, tc.set, tc.namespace)))
	}
}

// differences prints the fields in which one list of objects differs from another one. Labels that the chart has on all are left out, and
// so is what an object has that is in one list alone.
func differences(before, after []*unstructured.Unstructured) string {
	fields := func(objects []*unstructured.Unstructured) map[string]map[string]string {
		all := map[string]map[string]string{}
		for _, o := range objects {
			found := map[string]string{}
			labels := o.GetLabels()
			maps.DeleteFunc(labels, func(name, _ string) bool {
				return strings.HasPrefix(name, "app.kubernetes.io/") || name == "helm.sh/chart"
			})
			o = o.DeepCopy()
			o.SetLabels(labels)
			flatten(found, "", o.Object)
			all[identity(o)] = found
		}
		return all
	}
	text := &strings.Builder{}
	old, now := fields(before), fields(after)
	for _, id := range slices.Sorted(maps.Keys(union(old, now))) {
		if old[id] == nil {
			fmt.Fprintf(text, "+ %s\n", id)
			continue
		}
		if now[id] == nil {
			fmt.Fprintf(text, "- %s\n", id)
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(union(old[id], now[id]))) {
			was, hadIt := old[id][path]
			is, hasIt := now[id][path]
			if hadIt && (was != is || !hasIt) {
				fmt.Fprintf(text, "- %s: %s: %s\n", id, path, was)
			}
			if hasIt && (was != is || !hadIt) {
				fmt.Fprintf(text, "+ %s: %s: %s\n", id, path, is)
			}
		}
	}
	return text.String()
}

func union[V any](a, b map[string]V) map[string]V {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// rulesOf returns what roles grant: a line for each resource and verb, with the namespace.
func rulesOf(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, o := range objects {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, rule := range rules {
			list := func(field string) []string {
				names, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), field)
				return names
			}
			for _, group := range list("apiGroups") {
				for _, resource := range list("resources") {
					for _, verb := range list("verbs") {
						all = append(all, fmt.Sprintf("%s: %s %s.%s", o.GetNamespace(), verb, resource, group))
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestRights compares the rights that the chart grants with those that libretto rbac prints for the same host.
func TestRights(t *testing.T) {
	roles := func(objects []*unstructured.Unstructured, names ...string) (found []*unstructured.Unstructured) {
		for _, o := range objects {
			if slices.Contains(names, o.GetName()) {
				found = append(found, o)
			}
		}
		return found
	}
	const accounts = "testdata/definition.yaml"
	for _, tc := range []struct {
		why, set string
		names    []string
		command  []string
		// only keeps some of what the command prints: the rest is what the definition's resources need.
		only string
	}{
		{"for itself", "default", []string{"libretto", "libretto-host"}, []string{"--host"}, ""},
		{"for itself, with Roles alone", "namespaces alone", []string{"libretto", "libretto-tenants"},
			[]string{"--host", "--namespaces=shop,blog"}, ""},
		{"to work as accounts, in no namespace", "everything", []string{"libretto-controllers-accounts"},
			[]string{"--host", "-f", accounts}, ": "},
		{"to work as accounts by tokens", "namespaces", []string{"libretto-accounts"},
			[]string{"--host", "--namespaces=shop", "-f", accounts}, "shop: "},
	} {
		needed := parse(t, run(t, "libretto", append([]string{"rbac"}, tc.command...)...))
		want := slices.DeleteFunc(rulesOf(needed), func(line string) bool {
			return !strings.HasPrefix(line, tc.only) || strings.Contains(line, "webs.") || strings.Contains(line, "deployments.")
		})
		got := rulesOf(roles(rightsOf(t, tc.set), tc.names...))
		if diff := gocmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s: -needed, +granted:\n%s", tc.why, diff)
		}
	}
}

// rightsOf renders the chart with a set of values, or with the namespaces of the set namespaces and nothing else.
func rightsOf(t *testing.T, set string) []*unstructured.Unstructured {
	t.Helper()
	if set != "namespaces alone" {
		return objectsOf(t, set, "libretto")
	}
	files, err := render(loadChart(t, chartDir), map[string]any{"namespaces": []any{"shop", "blog"}}, "libretto")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, files["libretto/templates/rbac.yaml"])
}
