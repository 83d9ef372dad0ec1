package chart

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// chartDir is the chart under test.
var chartDir = filepath.Join("..", "..", "manifests", "helm", "libretto")

// sets are the names of the sets of values in testdata/values.
var sets = []string{"default", "ha", "namespaces", "metacontroller", "monitoring", "networkpolicy", "nocrds", "everything"}

var update = flag.Bool("update", false, "write what is expected to testdata")

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// loadChart reads a chart from its folder.
func loadChart(t testing.TB, dir string) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// valuesOf reads a set of values.
func valuesOf(t testing.TB, set string) chartutil.Values {
	t.Helper()
	values, err := chartutil.ReadValuesFile(filepath.Join("testdata", "values", set+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func render(of *chart.Chart, values chartutil.Values, namespace string) (map[string]string, error) {
	if err := chartutil.ProcessDependenciesWithMerge(of, values); err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "libretto", Namespace: namespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(of, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(of, all)
}

// objectsOf renders the chart with a set of values and returns the objects, sorted.
func objectsOf(t testing.TB, set, namespace string) []*unstructured.Unstructured {
	t.Helper()
	key := set + "/" + namespace
	if rendered[key] == nil {
		files, err := render(loadChart(t, chartDir), valuesOf(t, set), namespace)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for name, text := range files {
			if filepath.Ext(name) == ".yaml" {
				texts = append(texts, text)
			}
		}
		rendered[key] = parse(t, strings.Join(texts, "\n---\n"))
	}
	objects := make([]*unstructured.Unstructured, len(rendered[key]))
	for i, o := range rendered[key] {
		objects[i] = o.DeepCopy()
	}
	return objects
}

// rendered has what was rendered so far: a megabyte of CustomResourceDefinitions takes a while each time.
var rendered = map[string][]*unstructured.Unstructured{}

// parse returns the objects of a text with documents, sorted.
func parse(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(identity(a), identity(b)) })
	return objects
}

func identity(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// find returns the object with an identity.
func find(t testing.TB, objects []*unstructured.Unstructured, want string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if identity(o) == want {
			return o
		}
	}
	t.Fatalf("there is no %s", want)
	return nil
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want, +got; -update writes it):\n%s", path, diff)
	}
}

// TestLint lints the chart as helm lint does, with each set of values: there is nothing to warn of.
func TestLint(t *testing.T) {
	for _, set := range sets {
		version, err := chartutil.ParseKubeVersion("v1.36.0")
		if err != nil {
			t.Fatal(err)
		}
		linted := lint.AllWithKubeVersion(chartDir, valuesOf(t, set), "libretto", version)
		for _, message := range linted.Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %v", set, message)
			}
		}
	}
}

// TestObjects lists what each set of values installs.
func TestObjects(t *testing.T) {
	text := &strings.Builder{}
	for _, set := range sets {
		fmt.Fprintf(text, "%s:\n", set)
		for _, o := range objectsOf(t, set, "libretto") {
			fmt.Fprintf(text, "  %s\n", identity(o))
			if o.GetLabels()["libretto.dev/aggregate-to-host"] != "" {
				t.Errorf("%s: %s has the label: the aggregated role is written anew while the release is uninstalled", set, identity(o))
			}
		}
	}
	golden(t, "objects.txt", text.String())
}

// TestValues checks what values become.
func TestValues(t *testing.T) {
	const deployment = "Deployment libretto/libretto"
	for _, tc := range []struct{ set, object, field, want string }{
		{"ha", deployment, "spec.replicas", "3"},
		// 94 + 512 + 2400 + 450 * 9
		{"ha", deployment, "spec.template.spec.containers.0.resources.limits.memory", "7056Mi"},
		{"ha", deployment, "spec.template.spec.containers.0.args.2", "--shards=12"},
		{"ha", deployment, "spec.template.spec.containers.0.args.4", "--response-cache-size=512Mi"},
		{"ha", deployment, "spec.template.spec.priorityClassName", "system-cluster-critical"},
		{"ha", deployment, "spec.template.spec.topologySpreadConstraints.1.labelSelector.matchLabels.app.kubernetes.io/instance", "libretto"},
		{"ha", "PodDisruptionBudget libretto/libretto", "spec.maxUnavailable", "1"},
		{"default", "CustomResourceDefinition mapcontrollers.metacontroller.k8s.io", "metadata.annotations.helm.sh/resource-policy", "keep"},
		{"namespaces", deployment, "spec.template.spec.containers.0.args.3", "--namespaces=shop,blog"},
		{"monitoring", "PodMonitor libretto/libretto", "metadata.labels.release", "prometheus"},
		{"monitoring", "PrometheusRule libretto/libretto", "spec.groups.0.rules.0.labels.severity", "critical"},
		{"monitoring", "ConfigMap libretto/libretto-dashboard", "metadata.annotations.grafana_folder", "Controllers"},
		{"networkpolicy", "NetworkPolicy libretto/libretto", "spec.egress.1.to.0.ipBlock.cidr", "10.0.0.1/32"},
		{"networkpolicy", "NetworkPolicy libretto/libretto", "spec.egress.2.ports.0.port", "8080"},
		{"everything", "CustomResourceDefinition mapcontrollers.metacontroller.k8s.io", "metadata.annotations.helm.sh/resource-policy", ""},
		{"everything", "Deployment libretto/libretto-controllers", "spec.template.spec.serviceAccountName", "host"},
		{"everything", "Deployment libretto/libretto-controllers", "spec.template.spec.securityContext.runAsUser", ""},
		{"everything", "Deployment libretto/libretto-controllers", "spec.template.spec.containers.0.resources.limits.memory", "4Gi"},
		{"everything", "Deployment libretto/libretto-controllers-page", "spec.template.spec.containers.0.args.1", "--live"},
		{"everything", "Deployment libretto/libretto-controllers-page", "spec.template.metadata.labels.app.kubernetes.io/name", "controllers-page"},
		{"everything", "ClusterRoleBinding libretto-controllers-page", "roleRef.name", "view"},
		{"everything", "ClusterRoleBinding libretto-controllers-extra", "roleRef.name", "libretto-controllers-extra"},
		{"everything", "ClusterRole aggregate-libretto-tenant", "metadata.labels.rbac.authorization.k8s.io/aggregate-to-edit", "true"},
		{"everything", "ClusterRole aggregate-libretto-tenant", "rules.1.verbs.0", "use"},
		{"everything", "ConfigMap libretto/scripts", "data.greet.js", "`{{greeting}}`"},
		{"default", "ClusterRoleBinding libretto-host", "roleRef.name", "libretto-host"},
	} {
		found := map[string]string{}
		flatten(found, "", find(t, objectsOf(t, tc.set, "libretto"), tc.object).Object)
		if got := found[tc.field]; got != tc.want {
			t.Errorf("%s: %s: %s is %q, want %q", tc.set, tc.object, tc.field, got, tc.want)
		}
	}
}

// TestSchema checks that values that can't be meant are refused, with a message that names them.
func TestSchema(t *testing.T) {
	for _, tc := range []struct{ values, want string }{
		{"replica: 2", "replica"},
		{"replicas: two", "replicas"},
		{"crds: {install: true}", "install"},
		{"image: {digest: latest}", "digest"},
		{"namespaces: [Shop]", "namespaces"},
		{"scriptWorkers: 0", "scriptWorkers"},
		{"extraArgs: [verbose]", "extraArgs"},
		{"podDisruptionBudget: {maxUnavailable: most}", "maxUnavailable"},
		{"networkPolicy: {apiServer: {cidrs: [10.0.0.1]}}", "cidrs"},
		{"rbac: {extraRules: [{apiGroups: [apps], resource: [deployments], verbs: [get]}]}", "resource"},
		{"topologySpreadConstraints: [{topologyKey: zone}]", "maxSkew"},
		{"extraObjects: [{kind: ConfigMap}]", "apiVersion"},
		{"{namespaces: [shop], rbac: {everything: true}}", "everything"},
		{"{namespaces: [shop], accounts: {allNamespaces: true}}", "allNamespaces"},
		{"{namespaces: [shop], page: {enabled: true}}", "page"},
	} {
		values, err := chartutil.ReadValues([]byte(tc.values))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = render(loadChart(t, chartDir), values, "libretto"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.values, err, tc.want)
		}
	}
}

// TestSchemaIsComplete checks that the schema knows exactly the values that there are: a subchart's global is none of the chart's.
func TestSchemaIsComplete(t *testing.T) {
	loaded := loadChart(t, chartDir)
	var schema map[string]any
	if err := yaml.Unmarshal(loaded.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var compare func(path string, schema, values map[string]any)
	compare = func(path string, schema, values map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		if schema["additionalProperties"] != false || path == "resources." {
			return // What Kubernetes, or the user, names.
		}
		if diff := gocmp.Diff(slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(properties))); diff != "" {
			t.Errorf("%s: -values, +schema:\n%s", path, diff)
		}
		for name, property := range properties {
			inner, _ := values[name].(map[string]any)
			compare(path+name+".", property.(map[string]any), inner)
		}
	}
	delete(schema["properties"].(map[string]any), "global")
	compare("", schema, loaded.Values)
}

// flatten adds the fields of a value, by their paths.
func flatten(fields map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			flatten(fields, strings.TrimPrefix(path+"."+name, "."), inner)
		}
	case []any:
		for i, inner := range value {
			flatten(fields, fmt.Sprintf("%s.%d", path, i), inner)
		}
	default:
		fields[path] = fmt.Sprint(value)
	}
}
