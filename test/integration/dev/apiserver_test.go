package dev

import (
	"bufio"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/simulation/apiserver"
	"github.com/libretto-k8s/libretto/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// inMemory returns a cluster in memory behind a socket, until the end of the test.
func inMemory(t *testing.T) *cluster.Cluster {
	t.Helper()
	server, err := apiserver.New(apiserver.Config{
		Clock: clock.RealClock{}, Log: testr.New(t),
		IsParent: func(schema.GroupVersionKind) bool { return true }, // On the real one nobody writes the status of custom resources.
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); server.Run(ctx) }()
	socket := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		cancel()
		<-ended
		socket.CloseClientConnections() // Watches would go on.
		socket.Close()
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["memory"] = &clientcmdapi.Cluster{Server: socket.URL}
	config.Contexts["memory"] = &clientcmdapi.Context{Cluster: "memory"}
	config.CurrentContext = "memory"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Attach(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const root = "../../../"

// commands are run on both clusters, in this order. FOLDER is the examples' one, and TEMP one with files of the test.
var commands = []string{
	"create namespace demo",
	"create namespace demo",
	"apply -f TEMP/catset.yaml",
	"apply -f TEMP/unknown.yaml",
	"apply -f EXAMPLES/catset/crd.yaml",
	"wait --for=condition=Established crd/catsets.ctl.example.com --timeout=20s",
	"api-resources --api-group=ctl.example.com",
	"apply --dry-run=server -f EXAMPLES/catset/catset.yaml",
	"-n demo get catsets",
	"apply -f EXAMPLES/catset/catset.yaml -l none=here",
	"apply -f TEMP/catset.yaml",
	"apply -f TEMP/catset.yaml",
	"apply -f TEMP/misspelt.yaml",
	"create -f TEMP/invalid.yaml",
	"create -f TEMP/catset.yaml",
	"diff -f TEMP/changed.yaml",
	"apply -f TEMP/changed.yaml",
	"-n demo get catsets",
	"-n demo get catsets -A -o wide --show-labels",
	"-n demo get catset nginx none",
	"-n demo get catset nginx -o yaml",
	"-n demo get catset -o name",
	"-n demo get catset -l a=b",
	"-n demo get catset --field-selector metadata.name=nginx --no-headers",
	"-n demo label catset nginx a=b",
	"-n demo annotate catset nginx a=b",
	"-n demo get catset -l a=b -L a",
	"-n demo scale catset nginx --replicas=5",
	"-n demo scale catset nginx --replicas=6 --current-replicas=1",
	"-n demo get catset nginx -o jsonpath={.spec.replicas}",
	`-n demo patch catset nginx --type=merge -p {"spec":{"serviceName":"x"}}`,
	`-n demo patch catset nginx --type=json -p [{"op":"replace","path":"/spec/replicas","value":2}]`,
	`-n demo patch catset nginx --type=strategic -p {"spec":{"replicas":2}}`,
	`-n demo patch catset nginx --type=merge -p {"spec":{"replicas":-2}}`,
	`-n demo patch catset nginx --subresource=status --type=merge -p {"status":{"readyReplicas":2,"conditions":[{"type":"Ready","status":"True"}]}}`,
	"-n demo wait --for=condition=Ready catset/nginx --timeout=20s",
	"-n demo wait --for=jsonpath={.status.readyReplicas}=2 catset/nginx --timeout=20s",
	"-n demo edit catset nginx",
	"-n demo describe catset nginx",
	"-n demo get catset nginx -o yaml --show-managed-fields=false",
	"explain catset",
	"explain catset.spec.template",
	"explain catset.spec.none",
	"explain configmap.data",
	"explain deployment.spec.replicas",
	"apply --server-side -f TEMP/configmap.yaml",
	"apply --server-side --field-manager=other -f TEMP/configmap-changed.yaml",
	"apply --server-side --field-manager=other --force-conflicts -f TEMP/configmap-changed.yaml",
	"-n demo get configmap settings -o yaml",
	"-n demo get configmap settings",
	"-n demo delete configmap settings",
	"-n demo get configmap settings",
	"create -f TEMP/configmap.yaml",
	"apply --server-side -f TEMP/configmap-changed.yaml",
	"apply -f TEMP/configmap-changed.yaml",
	"apply --server-side -f TEMP/configmap-changed.yaml",
	"-n demo delete configmap settings",
	"-n demo create secret generic s --from-literal=a=b",
	"-n demo get secrets",
	"-n demo create configmap held --from-literal=a=b --dry-run=server -o yaml",
	"auth can-i create pods",
	"-n demo delete catset --all",
	"-n demo get catset",
	"-n none create configmap a",
	"get none",
	"delete namespace demo",
	"get namespace demo",
	"delete crd catsets.ctl.example.com",
}

// TestKubectl runs the same commands of kubectl on a cluster in memory and on a real one, and compares what they say.
func TestKubectl(t *testing.T) {
	temp := t.TempDir()
	writeFiles(t, temp)
	t.Setenv("KUBE_EDITOR", "sed -i s/replicas:.2/replicas:.4/")
	run := func(c *cluster.Cluster) []string {
		var said []string
		for _, command := range commands {
			line := strings.NewReplacer("EXAMPLES", root+"examples", "TEMP", temp).Replace(command)
			out, err := c.Kubectl(t.Context(), strings.Fields(line)...)
			if err != nil {
				_, complaint, _ := strings.Cut(err.Error(), "]: ")
				out += complaint
			}
			said = append(said, "$ kubectl "+command+"\n"+normal(out))
		}
		return said
	}
	onReal, inMem := run(cluster.Get(t)), run(inMemory(t))
	for i, want := range onReal {
		if diff := cmp.Diff(want, inMem[i]); diff != "" {
			t.Errorf("%s: -real +in memory:\n%s", commands[i], diff)
		}
	}
}

// writeFiles writes variants of the example's object.
func writeFiles(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(root + "examples/catset/catset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "---\n")
	set := documents[len(documents)-1]
	for name, text := range map[string]string{
		"catset.yaml":            set,
		"changed.yaml":           strings.Replace(set, "replicas: 3", "replicas: 2", 1),
		"misspelt.yaml":          strings.Replace(set, "replicas: 3", "replica: 3", 1),
		"invalid.yaml":           strings.NewReplacer("replicas: 3", "replicas: -1", "name: nginx\n  namespace", "name: other\n  namespace").Replace(set),
		"unknown.yaml":           "apiVersion: v1\nkind: ConfgMap\nmetadata: {name: settings, namespace: demo}\n",
		"configmap.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: demo}\ndata: {a: b, c: d}\n",
		"configmap-changed.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: demo}\ndata: {a: other}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	unsteady = regexp.MustCompile(`(?m)^ *(resourceVersion|uid|creationTimestamp|Resource Version|UID|Creation Timestamp):.*\n`)
	times    = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:.]+Z\b`)
	ages     = regexp.MustCompile(`\b\d+m?s\b`)
	spaces   = regexp.MustCompile(` +`)
	diffed   = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:.*`)
	patches  = regexp.MustCompile(`patch: Invalid value: .*: strict`)
	folders  = regexp.MustCompile(`/\S*/(LIVE|MERGED|kubectl-edit)\S*`)
)

// normal returns an output without what differs between two clusters that say the same.
func normal(out string) string {
	out = unsteady.ReplaceAllString(out, "")
	out = times.ReplaceAllString(out, "TIME")
	out = diffed.ReplaceAllString(out, "TIME")
	out = patches.ReplaceAllString(out, "patch: Invalid value: strict")
	out = folders.ReplaceAllString(out, "$1")
	return spaces.ReplaceAllString(ages.ReplaceAllString(out, "AGE"), " ")
}

// TestKubectlWatch checks what kubectl get -w says of an object that comes, changes and goes.
func TestKubectlWatch(t *testing.T) {
	binary, err := cluster.Binary("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	watch := func(c *cluster.Cluster) (lines []string) {
		namespace := c.Namespace(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		kubectl := func(args ...string) {
			if _, err := c.Kubectl(ctx, append([]string{"-n", namespace}, args...)...); err != nil {
				t.Error(err)
			}
		}
		kubectl("create", "configmap", "first")
		command := exec.CommandContext(ctx, binary, "--kubeconfig", c.Kubeconfig, "-n", namespace, "get", "configmap", "-w",
			"--output-watch-events", "--field-selector", "metadata.name!=kube-root-ca.crt")
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			line := strings.TrimSpace(normal(scanner.Text()))
			switch lines = append(lines, line); {
			case strings.HasPrefix(line, "ADDED first"):
				kubectl("create", "configmap", "second", "--from-literal=a=b")
			case strings.HasPrefix(line, "ADDED second"):
				kubectl("label", "configmap", "second", "a=b")
			case strings.HasPrefix(line, "MODIFIED second"):
				kubectl("delete", "configmap", "second")
			case strings.HasPrefix(line, "DELETED second"):
				cancel()
			}
		}
		_ = command.Wait() // It was ended.
		return lines
	}
	if diff := cmp.Diff(watch(cluster.Get(t)), watch(inMemory(t))); diff != "" {
		t.Errorf("-real +in memory:\n%s", diff)
	}
}
