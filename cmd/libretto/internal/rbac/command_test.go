package rbac

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command}

// TestTranscripts compares what the command prints.
func TestTranscripts(t *testing.T) {
	program.Compare(t, "testdata/*.txtar", 6, clitest.Examples)
}

// TestFormats checks that both formats are what kubectl takes, and have the same objects.
func TestFormats(t *testing.T) {
	_, text, _ := program.Run(t, "", "rbac", "-f", clitest.Examples+"/hello")
	_, list, _ := program.Run(t, "", "rbac", "-f", clitest.Examples+"/hello", "-o", "json")
	var items struct {
		Items []unstructured.Unstructured `json:"items"`
	}
	if err := json.Unmarshal([]byte(list), &items); err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(text, "---\n")
	if len(documents) != 4 || len(items.Items) != len(documents) {
		t.Fatalf("%d documents, and %d items:\n%s%s", len(documents), len(items.Items), text, list)
	}
	for i, document := range documents {
		var object unstructured.Unstructured
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if object.GetAPIVersion() != rbacv1.SchemeGroupVersion.String() || object.GetKind() != items.Items[i].GetKind() {
			t.Errorf("document %d is %s %s, and item %s", i, object.GetAPIVersion(), object.GetKind(), items.Items[i].GetKind())
		}
	}
}

// TestBase checks that manifests/base gives the host what it needs itself, and no more.
func TestBase(t *testing.T) {
	granted := func(text string) (all []string) {
		for document := range strings.SplitSeq(text, "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", verb, resource, rule.APIGroups[0], role.Namespace)))
					}
				}
			}
		}
		slices.Sort(all)
		return all
	}
	manifests := ""
	for _, path := range []string{"rbac/host.yaml", "base/rbac.yaml"} {
		text, err := os.ReadFile(filepath.Join(clitest.Examples, "..", "manifests", path))
		if err != nil {
			t.Fatal(err)
		}
		manifests += string(text) + "\n---\n"
	}
	_, needed, _ := program.Run(t, "", "rbac", "--host")
	if diff := cmp.Diff(granted(needed), granted(manifests)); diff != "" || len(granted(needed)) == 0 {
		t.Errorf("-needed, +granted:\n%s", diff)
	}
}

// TestFlags checks flags that are refused.
func TestFlags(t *testing.T) {
	for _, tc := range []struct{ args, stderr string }{
		{"-f -", "there is no CompositeController"},
		{"", "name the files with -f"},
		{"-f - -o text", "-o text: there are yaml, json"},
		{"-f - --explore", "--explore: is for --from-tests"},
		{"-f - --explore-paths 0", "must be at least 1"},
		{"-f - --require-account-annotation", "--require-account-annotation: is for --host"},
		{"-f - --apply-strategy x", "there is no CompositeController"},
		{"-f " + clitest.Examples + "/hello --apply-strategy x", "--apply-strategy must be"},
		{"-f " + clitest.Examples + "/hello --parents-in ,", "--parents-in: a namespace has no name"},
	} {
		code, stdout, stderr := program.Run(t, "", append([]string{"rbac"}, strings.Fields(tc.args)...)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, tc.stderr) {
			t.Errorf("%s: exit code %d, %s%s, want %q", tc.args, code, stdout, stderr, tc.stderr)
		}
	}
}
