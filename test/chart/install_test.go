package chart

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// warnings collects those that the API server sends.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

// client sends objects to the API server, and collects its warnings.
type client struct {
	warnings
	t       *testing.T
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newClient(t *testing.T) *client {
	t.Helper()
	c := &client{t: t}
	config := rest.CopyConfig(cluster.Get(t).Config)
	config.WarningHandler = &c.warnings
	resources, err := discovery.NewDiscoveryClientForConfig(config)
	c.noError(err)
	c.dynamic, err = dynamic.NewForConfig(config)
	c.noError(err)
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(resources))
	return c
}

func (c *client) noError(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// of returns the client of an object's resource, in its namespace.
func (c *client) of(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
	}
	return c.dynamic.Resource(mapping.Resource), nil
}

// dryRun has the API server say what it thinks of an object, without keeping it.
func (c *client) dryRun(o *unstructured.Unstructured) error {
	resource, err := c.of(o)
	if err != nil {
		return err
	}
	_, err = resource.Apply(c.t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "helm", DryRun: []string{metav1.DryRunAll}})
	return err
}

// isOld reports whether a CustomResourceDefinition is that of the release before.
func (c *client) isOld(o *unstructured.Unstructured) bool {
	c.t.Helper()
	resource, err := c.of(o)
	c.noError(err)
	found, err := resource.Get(c.t.Context(), o.GetName(), metav1.GetOptions{})
	c.noError(err)
	text, err := found.MarshalJSON()
	c.noError(err)
	return strings.Contains(string(text), strings.TrimSpace(oldText))
}

// namespace makes one with that name, in which pods have to comply with the Pod Security Standard restricted.
func (c *client) namespace(name string) {
	c.t.Helper()
	label := map[string]any{}
	for _, mode := range []string{"enforce", "warn"} {
		label["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	c.noError(cluster.Get(c.t).Apply(c.t.Context(), "", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": label},
	}}))
}

// TestDryRun shows each set of values to the API server, in a namespace that enforces the Pod Security Standard restricted: it accepts all
// objects without a warning, and so a pod of the Deployment.
func TestDryRun(t *testing.T) {
	c := newClient(t)
	for _, name := range []string{"libretto", "shop", "blog"} {
		c.namespace(name)
	}
	c.noError(cluster.Get(t).ApplyFiles(t.Context(), filepath.Join("testdata", "prometheus-operator.yaml")))
	seen := map[string]bool{} // Most sets have most objects.
	for _, set := range sets {
		for _, o := range objectsOf(t, set, "libretto") {
			text, err := o.MarshalJSON()
			c.noError(err)
			if seen[string(text)] {
				continue
			}
			seen[string(text)] = true
			c.list = nil
			if err := errors.Join(c.dryRun(o), strict(o)); err != nil || len(c.list) > 0 {
				t.Errorf("%s: %s: error %v, warnings %q", set, identity(o), err, c.list)
			}
			if o.GetKind() != "Deployment" {
				continue
			}
			template, _, err := unstructured.NestedMap(o.Object, "spec", "template")
			c.noError(err)
			pod := &unstructured.Unstructured{Object: template}
			pod.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
			pod.SetName("libretto")
			pod.SetNamespace("libretto")
			c.noError(unstructured.SetNestedField(pod.Object, "default", "spec", "serviceAccountName"))
			if err := c.dryRun(pod); err != nil || len(c.list) > 0 {
				t.Errorf("%s: a pod of the Deployment: error %v, warnings %q", set, err, c.list)
			}
		}
	}
}

// strict checks an object of the Prometheus operator against its types: the API server knows a stand-in of its schema.
func strict(o *unstructured.Unstructured) error {
	var into any
	switch o.GetKind() {
	case monitoringv1.PodMonitorsKind:
		into = &monitoringv1.PodMonitor{}
	case monitoringv1.PrometheusRuleKind:
		into = &monitoringv1.PrometheusRule{}
	default:
		return nil
	}
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, into)
}

// helm returns what Helm's commands work with, in a namespace.
func helm(t *testing.T, namespace string) *action.Configuration {
	t.Helper()
	settings := cli.New()
	settings.KubeConfig = cluster.Get(t).Kubeconfig
	settings.SetNamespace(namespace)
	config := &action.Configuration{}
	if err := config.Init(settings.RESTClientGetter(), namespace, "secret", func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	return config
}

func install(t *testing.T, of *helmchart.Chart, name, namespace string, values chartutil.Values) {
	t.Helper()
	install := action.NewInstall(helm(t, namespace))
	install.ReleaseName, install.Namespace = name, namespace
	if _, err := install.RunWithContext(t.Context(), of, values); err != nil {
		t.Fatal(err)
	}
}

// before returns the chart of the commit before, or, where there is none, this one, with other CustomResourceDefinitions, and with values
// that install more.
func before(t *testing.T) (*helmchart.Chart, chartutil.Values) {
	t.Helper()
	path, values := previous(t), valuesOf(t, "everything")
	if _, err := render(loadChart(t, path), values, "libretto"); err != nil {
		t.Logf("the chart before does not know all values: %v", err)
		values = chartutil.Values{}
	}
	changed := loadChart(t, path)
	for _, file := range changed.Files {
		if strings.Contains(file.Name, "manifests/crd/") {
			file.Data = []byte(strings.Replace(string(file.Data), "description: |-\n", "description: |-\n"+oldText, 1))
		}
	}
	return changed, values
}

// oldText is in the CustomResourceDefinitions of the release before, and in no others.
const oldText = "          An old text.\n"

// previous returns the folder of the chart of the commit before, or of this one if there was none.
func previous(t *testing.T) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "chart.tar")
	root := filepath.Join("..", "..")
	git := exec.CommandContext(t.Context(), "git", "-C", root, "archive", "-o", archive, "HEAD^", "manifests/helm/libretto")
	if out, err := git.CombinedOutput(); err != nil {
		t.Logf("there is no chart of a commit before: %s", out)
		return chartDir
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-x", "-f", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	return filepath.Join(dir, "manifests", "helm", "libretto")
}

// live returns the identities of all objects of a release.
func (c *client) live(release string) []string {
	c.t.Helper()
	resources, err := discovery.NewDiscoveryClientForConfig(cluster.Get(c.t).Config)
	c.noError(err)
	lists, err := resources.ServerPreferredResources()
	c.noError(err)
	var all []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		c.noError(err)
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "patch") {
				continue
			}
			found, err := c.dynamic.Resource(group.WithResource(resource.Name)).List(c.t.Context(), metav1.ListOptions{
				LabelSelector: "app.kubernetes.io/managed-by=Helm,app.kubernetes.io/instance=" + release,
			})
			c.noError(err)
			for i := range found.Items {
				if found.Items[i].GetDeletionTimestamp() == nil {
					all = append(all, identity(&found.Items[i]))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

func identities(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, o := range objects {
		all = append(all, identity(o))
	}
	return all
}

// TestUpgrade upgrades a release of the commit before, and installs another one beside it. Nothing of the old one is left over. Its
// CustomResourceDefinitions are upgraded, and survive that the release is uninstalled, and it can be installed again.
func TestUpgrade(t *testing.T) {
	c := newClient(t)
	for _, name := range []string{"libretto", "second", "shop", "blog"} {
		c.namespace(name)
	}
	want := objectsOf(t, "default", "libretto")
	definitions := slices.DeleteFunc(slices.Clone(want), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != "CustomResourceDefinition"
	})
	old, values := before(t)
	install(t, old, "libretto", "libretto", values)
	for _, o := range definitions {
		if !c.isOld(o) {
			t.Errorf("%s is new before the upgrade", identity(o))
		}
	}
	install(t, loadChart(t, chartDir), "second", "second", valuesOf(t, "nocrds"))

	upgrade := action.NewUpgrade(helm(t, "libretto"))
	upgrade.Namespace, upgrade.ResetValues = "libretto", true
	if _, err := upgrade.RunWithContext(t.Context(), "libretto", loadChart(t, chartDir), chartutil.Values{}); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(identities(want), c.live("libretto")); diff != "" {
		t.Errorf("after the upgrade: -rendered, +there:\n%s", diff)
	}
	for _, o := range definitions {
		if c.isOld(o) {
			t.Errorf("%s is old after the upgrade", identity(o))
		}
	}
	uninstall(t, "second")
	if diff := gocmp.Diff(identities(want), c.live("libretto")); diff != "" {
		t.Errorf("another release was uninstalled: -rendered, +there:\n%s", diff)
	}
	uninstall(t, "libretto")
	if diff := gocmp.Diff(identities(definitions), c.live("libretto")); diff != "" {
		t.Errorf("after it was uninstalled: -want, +there:\n%s", diff)
	}
	install(t, loadChart(t, chartDir), "libretto", "libretto", chartutil.Values{})
	uninstall(t, "libretto")
}

// uninstall removes the release in the namespace of that name.
func uninstall(t *testing.T, name string) {
	t.Helper()
	if _, err := action.NewUninstall(helm(t, name)).Run(name); err != nil {
		t.Fatal(err)
	}
}
