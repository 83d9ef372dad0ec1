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
	claims = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	jobs   = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
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
	e := env.New(t)
	e.Apply(pod("plain", ""))
	e.WaitFor(env.Pods, "plain", hasCondition("Ready", "True"))
}

func TestHeldPodBecomesReadyWhenReleased(t *testing.T) {
	e := env.New(t)
	e.Apply(pod("held", "controlplane.libretto.dev/hold: Ready"))
	held := e.WaitFor(env.Pods, "held", hasCondition("Ready", "False"))
	if err := env.HasField("Running", "status", "phase")(held); err != nil {
		t.Error(err)
	}
	e.Patch(env.Pods, "held", `{"metadata":{"annotations":{"controlplane.libretto.dev/hold":null}}}`)
	e.WaitFor(env.Pods, "held", hasCondition("Ready", "True"))
}

func TestDeletedPodGoes(t *testing.T) {
	e := env.New(t)
	e.Apply(pod("gone", ""))
	e.WaitFor(env.Pods, "gone", hasCondition("Ready", "True"))
	env.NoError(t, e.In(env.Pods).Delete(t.Context(), "gone", metav1.DeleteOptions{}))
	e.WaitForDeletion(env.Pods, "gone", "")
}

func TestWorkloadsComplete(t *testing.T) {
	e := env.New(t)
	objects, err := cluster.ReadFiles(filepath.Join("testdata", "workloads.yaml"))
	env.NoError(t, err)
	env.NoError(t, e.Cluster.Apply(t.Context(), e.Namespace, objects...))
	e.WaitFor(env.Deployments, "three", hasCondition("Available", "True"))
	e.WaitFor(jobs, "once", hasCondition("Complete", "True"))
	e.WaitFor(env.Deployments, "three", env.HasField(3, "status", "readyReplicas"))
	e.WaitFor(claims, "data", env.HasField("Bound", "status", "phase"))
}

func TestDependentsOfCustomResourceAreCollected(t *testing.T) {
	e := env.NewWithThings(t)
	owner := e.ApplyThing("owner", "", "")
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: dependent, ownerReferences: [{apiVersion: %s/v1, kind: Thing, name: owner, uid: %s}]}}",
		e.Group, owner.GetUID()))
	env.NoError(t, e.In(e.Things()).Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	e.WaitForDeletion(env.ConfigMaps, "dependent", "")
}

func TestWatchesAreCounted(t *testing.T) {
	e := env.NewWithThings(t)
	const agent = "watcher-of-things"
	watching, err := clientNamed(t, e.Cluster, agent).Resource(e.Things()).Watch(t.Context(), metav1.ListOptions{})
	env.NoError(t, err)
	waitForWatches(e, agent, 1)
	if all, err := e.Cluster.Watches(t.Context(), e.Group, "things"); err != nil || all < 1 {
		t.Errorf("want at least one watch in the metrics, got %d, error %v", all, err)
	}
	watching.Stop()
	waitForWatches(e, agent, 0)
}

func TestRequestsAreRead(t *testing.T) {
	e := env.New(t)
	const agent = "maker-of-maps"
	client := clientNamed(t, e.Cluster, agent).Resource(env.ConfigMaps).Namespace(e.Namespace)
	create := func(name string) {
		t.Helper()
		_, err := client.Create(t.Context(), e.Parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}"), metav1.CreateOptions{})
		env.NoError(t, err)
	}
	create("before")
	mark := e.Mark()
	create("after")
	_, err := client.Get(t.Context(), "after", metav1.GetOptions{})
	env.NoError(t, err)
	requests, err := e.Cluster.Requests(t.Context(), mark, agent)
	env.NoError(t, err)
	want := fmt.Sprintf("create configmaps %[1]s/after 201 (%[2]s)\nget configmaps %[1]s/after 200 (%[2]s)", e.Namespace, agent)
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

// refused checks that the control plane's port is closed.
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

func clientNamed(t *testing.T, c *cluster.Cluster, userAgent string) dynamic.Interface {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.UserAgent = userAgent
	client, err := dynamic.NewForConfig(config)
	env.NoError(t, err)
	return client
}

// hasCondition checks the status of a condition.
func hasCondition(condition, want string) env.Check {
	return func(o *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, entry := range conditions {
			if found, _ := entry.(map[string]any); found["type"] == condition && found["status"] == want {
				return nil
			}
		}
		return fmt.Errorf("%s %s: no condition %s=%s in %v", o.GetKind(), o.GetName(), condition, want, conditions)
	}
}

// waitForWatches waits until a user agent has so many watches on Things open.
func waitForWatches(e *env.Env, agent string, want int) {
	e.T.Helper()
	e.Eventually(func() error {
		open, err := e.Cluster.OpenWatches(e.T.Context(), agent, e.Group, "things")
		if err != nil {
			return err
		}
		if len(open) != want {
			return fmt.Errorf("want %d watches, got:\n%s", want, open)
		}
		return nil
	})
}

// pod returns a Pod, with annotations in YAML's flow style.
func pod(name, annotations string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, annotations: {%s}}, spec: {containers: [{name: main, image: nothing}]}}", name, annotations)
}
