// Package cluster tests the control plane that all other integration tests stand on, and the helper that starts it.
package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// starterVariable makes the test program one that only starts a control plane, to be killed.
const starterVariable = "CLUSTER_TEST_STARTER"

const patience = 30 * time.Second

// enough is for a control plane to start, which takes seconds, beside others that do so too.
const enough = 3 * time.Minute

var (
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	claims      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	things      = schema.GroupVersionResource{Group: "cluster.test", Version: "v1", Resource: "things"}
)

func TestMain(m *testing.M) {
	if os.Getenv(starterVariable) != "" {
		startAndStay()
	}
	os.Exit(cluster.Main(m))
}

func startAndStay() {
	c, err := cluster.Start(context.Background(), cluster.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Kubeconfig)
	select {}
}

func TestPodBecomesReady(t *testing.T) {
	c := cluster.Get(t)
	namespace := c.Namespace(t)
	apply(t, c, namespace, pod("plain", nil))
	eventuallyCondition(t, c, pods, namespace, "plain", "Ready", "True")
}

func TestHeldPodBecomesReadyWhenReleased(t *testing.T) {
	c := cluster.Get(t)
	namespace := c.Namespace(t)
	apply(t, c, namespace, pod("held", map[string]any{"controlplane.libretto.dev/hold": "Ready"}))
	eventuallyCondition(t, c, pods, namespace, "held", "Ready", "False")
	if phase := field(t, get(t, c, pods, namespace, "held"), "status", "phase"); phase != "Running" {
		t.Errorf("want a held pod to run, got phase %q", phase)
	}

	release := []byte(`{"metadata":{"annotations":{"controlplane.libretto.dev/hold":null}}}`)
	client := c.Dynamic().Resource(pods).Namespace(namespace)
	if _, err := client.Patch(t.Context(), "held", types.MergePatchType, release, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventuallyCondition(t, c, pods, namespace, "held", "Ready", "True")
}

func TestDeletedPodGoes(t *testing.T) {
	c := cluster.Get(t)
	namespace := c.Namespace(t)
	apply(t, c, namespace, pod("gone", nil))
	eventuallyCondition(t, c, pods, namespace, "gone", "Ready", "True")
	client := c.Dynamic().Resource(pods).Namespace(namespace)
	env.NoError(t, client.Delete(t.Context(), "gone", metav1.DeleteOptions{}))
	eventuallyGone(t, c, pods, namespace, "gone")
}

func TestWorkloadsComplete(t *testing.T) {
	c := cluster.Get(t)
	namespace := c.Namespace(t)
	objects, err := cluster.ReadFiles(filepath.Join("testdata", "workloads.yaml"))
	env.NoError(t, err)
	apply(t, c, namespace, objects...)
	eventuallyCondition(t, c, deployments, namespace, "three", "Available", "True")
	eventuallyCondition(t, c, jobs, namespace, "once", "Complete", "True")
	cluster.Eventually(t, patience, func() error {
		ready, _, _ := unstructured.NestedInt64(get(t, c, deployments, namespace, "three").Object, "status", "readyReplicas")
		if ready != 3 {
			return fmt.Errorf("%d of 3 replicas are ready", ready)
		}
		return nil
	})
	cluster.Eventually(t, patience, func() error {
		if phase := field(t, get(t, c, claims, namespace, "data"), "status", "phase"); phase != "Bound" {
			return fmt.Errorf("claim is %s", phase)
		}
		return nil
	})
}

func TestDependentsOfCustomResourceAreCollected(t *testing.T) {
	c := cluster.Get(t)
	namespace := c.Namespace(t)
	defineThings(t, c)
	owner := create(t, c, things, namespace, thing("owner"))
	create(t, c, configMaps, namespace, ownedConfigMap("dependent", owner))

	env.NoError(t, c.Dynamic().Resource(things).Namespace(namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	eventuallyGone(t, c, configMaps, namespace, "dependent")
}

func TestWatchesAreCounted(t *testing.T) {
	c := cluster.Get(t)
	const agent = "watcher-of-things"
	defineThings(t, c)
	watching, err := clientNamed(t, c, agent).Resource(things).Watch(t.Context(), metav1.ListOptions{})
	env.NoError(t, err)
	eventuallyWatches(t, c, agent, 1)
	if all, err := c.Watches(t.Context(), things.Group, things.Resource); err != nil || all < 1 {
		t.Errorf("want at least one watch in the metrics, got %d, error %v", all, err)
	}
	watching.Stop()
	eventuallyWatches(t, c, agent, 0)
}

func TestRequestsAreRead(t *testing.T) {
	c := cluster.Get(t)
	namespace := c.Namespace(t)
	const agent = "maker-of-maps"
	client := clientNamed(t, c, agent).Resource(configMaps).Namespace(namespace)
	before := configMap("before")
	if _, err := client.Create(t.Context(), before, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	mark, err := c.Mark(t.Context())
	env.NoError(t, err)
	if _, err := client.Create(t.Context(), configMap("after"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), "after", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	requests, err := c.Requests(t.Context(), mark, agent)
	env.NoError(t, err)
	want := fmt.Sprintf("create configmaps %[1]s/after 201 (%[2]s)\nget configmaps %[1]s/after 200 (%[2]s)", namespace, agent)
	if got := requests.String(); got != want {
		t.Errorf("want:\n%s\ngot:\n%s", want, got)
	}
}

func TestKubectl(t *testing.T) {
	c := cluster.Get(t)
	out, err := c.Kubectl(t.Context(), "version", "-o", "json")
	env.NoError(t, err)
	var version struct {
		ServerVersion struct {
			GitVersion string `json:"gitVersion"`
		} `json:"serverVersion"`
	}
	env.NoError(t, json.Unmarshal([]byte(out), &version))
	if !strings.HasPrefix(version.ServerVersion.GitVersion, "v1.") {
		t.Errorf("want a server that knows its version, got %q", version.ServerVersion.GitVersion)
	}
	if _, err := c.Kubectl(t.Context(), "get", "nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("want kubectl's complaint in the error, got %v", err)
	}
}

// TestKilledStarterLeavesNothing kills a program that started a control plane, so that it cannot clean up.
func TestKilledStarterLeavesNothing(t *testing.T) {
	t.Parallel()
	starter := exec.Command(os.Args[0])
	starter.Env = append(os.Environ(), starterVariable+"=1")
	starter.Stderr = os.Stderr
	stdout, err := starter.StdoutPipe()
	env.NoError(t, err)
	env.NoError(t, starter.Start())
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	other, err := cluster.Attach(lines.Text())
	if err != nil {
		t.Fatal(errors.Join(err, starter.Process.Kill()))
	}
	env.NoError(t, starter.Process.Kill())
	_ = starter.Wait() // says that it was killed
	cluster.Eventually(t, patience, func() error {
		if _, err := os.Stat(other.Dir); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("directory of the control plane remains (%v)", err)
		}
		return refused(other)
	})
}

// refused checks that nobody listens on the control plane's port.
func refused(c *cluster.Cluster) error {
	server, err := url.Parse(c.Config.Host)
	if err != nil {
		return err
	}
	connection, err := net.Dial("tcp", server.Host)
	if err != nil {
		return nil
	}
	return errors.Join(fmt.Errorf("port %s is still served", server.Port()), connection.Close())
}

func TestStoppedControlPlaneIsGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{})
	env.NoError(t, err)
	env.NoError(t, c.Stop())
	if _, err := os.Stat(c.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want %s removed, got %v", c.Dir, err)
	}
	if err := refused(c); err != nil {
		t.Error(err)
	}
	if err := c.Stop(); err == nil || !strings.Contains(err.Error(), "ended before") {
		t.Errorf("want an error from stopping what is not there, got %v", err)
	}
}

func TestDirectoryIsKeptAndUsedAgain(t *testing.T) {
	t.Parallel()
	// Not t.TempDir, whose path may be too long for a socket.
	dir, err := os.MkdirTemp("", "kept-")
	env.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for i, verb := range []string{"create", "get"} {
		ctx, cancel := context.WithTimeout(t.Context(), enough)
		c, err := cluster.Start(ctx, cluster.Options{Dir: dir})
		cancel()
		if err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		if _, err := c.Kubectl(t.Context(), verb, "namespace", "kept"); err != nil {
			t.Errorf("start %d: %v", i, err)
		}
		if _, err := cluster.Start(t.Context(), cluster.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("want a second control plane in the same directory refused, got %v", err)
		}
		env.NoError(t, c.Stop())
	}
}

func defineThings(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	env.NoError(t, c.ApplyFiles(t.Context(), filepath.Join("testdata", "things.yaml")))
}

func clientNamed(t *testing.T, c *cluster.Cluster, userAgent string) dynamic.Interface {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.UserAgent = userAgent
	client, err := dynamic.NewForConfig(config)
	env.NoError(t, err)
	return client
}

func apply(t *testing.T, c *cluster.Cluster, namespace string, objects ...*unstructured.Unstructured) {
	t.Helper()
	env.NoError(t, c.Apply(t.Context(), namespace, objects...))
}

func create(t *testing.T, c *cluster.Cluster, resource schema.GroupVersionResource, namespace string, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := c.Dynamic().Resource(resource).Namespace(namespace).Create(t.Context(), object, metav1.CreateOptions{})
	env.NoError(t, err)
	return created
}

func get(t *testing.T, c *cluster.Cluster, resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := c.Dynamic().Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	env.NoError(t, err)
	return object
}

func field(t *testing.T, object *unstructured.Unstructured, path ...string) string {
	t.Helper()
	value, _, err := unstructured.NestedString(object.Object, path...)
	env.NoError(t, err)
	return value
}

func eventuallyCondition(t *testing.T, c *cluster.Cluster, resource schema.GroupVersionResource, namespace, name, condition, want string) {
	t.Helper()
	cluster.Eventually(t, patience, func() error {
		object := get(t, c, resource, namespace, name)
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, entry := range conditions {
			if found, _ := entry.(map[string]any); found["type"] == condition && found["status"] == want {
				return nil
			}
		}
		return fmt.Errorf("%s %s: no condition %s=%s in %v", object.GetKind(), name, condition, want, conditions)
	})
}

func eventuallyGone(t *testing.T, c *cluster.Cluster, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	cluster.Eventually(t, patience, func() error {
		list, err := c.Dynamic().Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{
			FieldSelector: "metadata.name=" + name,
		})
		if err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%s %s is still there", resource.Resource, name)
		}
		return nil
	})
}

func eventuallyWatches(t *testing.T, c *cluster.Cluster, agent string, want int) {
	t.Helper()
	cluster.Eventually(t, patience, func() error {
		open, err := c.OpenWatches(t.Context(), agent, things.Group, things.Resource)
		if err != nil {
			return err
		}
		if len(open) != want {
			return fmt.Errorf("want %d watches, got:\n%s", want, open)
		}
		return nil
	})
}

func pod(name string, annotations map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Pod",
		"metadata":   map[string]any{"name": name, "annotations": annotations},
		"spec":       map[string]any{"containers": []any{map[string]any{"name": "main", "image": "nothing"}}},
	}}
}

func thing(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.test/v1",
		"kind":       "Thing",
		"metadata":   map[string]any{"name": name},
	}}
}

func configMap(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name},
	}}
}

func ownedConfigMap(name string, owner *unstructured.Unstructured) *unstructured.Unstructured {
	object := configMap(name)
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
	}})
	return object
}
