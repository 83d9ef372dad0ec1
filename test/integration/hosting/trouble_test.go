package hosting

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestUnreachableAPIServerEndsTheProcess(t *testing.T) {
	binary, err := cluster.Binary("libretto")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), env.Timeout)
	defer cancel()
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, binary, "serve", "--kubeconfig", kubeconfig, "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")
	command.Stderr = &stderr
	err = command.Run()
	if ctx.Err() != nil || err == nil {
		t.Fatalf("ended with %v, want an error, so that whoever runs it starts it again\n%s", err, &stderr)
	}
	if !strings.Contains(stderr.String(), "connection refused") {
		t.Errorf("does not say why it ended:\n%s", &stderr)
	}
}

func TestParentThatMatchesItself(t *testing.T) {
	w := newWorld(t)
	w.definition("", `export const sync = ({parent, children}) => ({children: [], status: {count: Object.keys(Object.values(children)[0]).length}});`,
		fmt.Sprintf("childResources: [{apiVersion: %s/v1, resource: things}]", w.Group))
	w.Apply(fmt.Sprintf(`{apiVersion: %s/v1, kind: Thing, metadata: {name: a, labels: {thing: a}}, spec: {selector: {matchLabels: {thing: a}}}}`, w.Group))
	parent := w.WaitFor(w.things, "a", hasCount(0))
	if metav1.GetControllerOf(parent) != nil || parent.GetDeletionTimestamp() != nil {
		t.Errorf("the parent has become its own child: %v", parent.Object)
	}
}

func TestTwoVersionsOfOneChildAreRefused(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", copies, "childResources: [{apiVersion: autoscaling/v1, resource: horizontalpodautoscalers}, {apiVersion: autoscaling/v2, resource: horizontalpodautoscalers}]")
	w.WaitForCondition(name, "Accepted", "False", "Invalid", "spec.childResources[1]", "another version")
}

func TestDefinitionMadeAnew(t *testing.T) {
	w := newWorld(t)
	saying := func(n int) string {
		return fmt.Sprintf(`export const sync = () => ({children: [], status: {count: %d}});`, n)
	}
	name := w.definition("", saying(0), "")
	w.thing("a", "")
	for n := range 15 {
		w.WaitFor(w.things, "a", hasCount(int64(n)))
		w.Delete(env.CompositeControllers, "", name)
		w.definition("", saying(n+1), "")
	}
	w.WaitFor(w.things, "a", hasCount(15))
}

func TestMissingRightsAreTold(t *testing.T) {
	w := newWorldWithoutThings(t)
	w.Apply(w.thingCRD())
	w.Apply(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [metacontroller.k8s.io, apiextensions.k8s.io, %[2]s], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [events], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]`, w.Namespace, w.Group))
	w.Start("--kubeconfig", w.kubeconfigAs(w.Namespace))
	name := w.definition("", copies, childRule("InPlace"))
	w.WaitForCondition(name, "Ready", "False", "ResourceUnreadable", "configmaps", "forbidden")
}

// kubeconfigAs writes a kubeconfig that acts as a user.
func (w *host) kubeconfigAs(user string) string {
	w.T.Helper()
	config, err := clientcmd.LoadFromFile(w.Cluster.Kubeconfig)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, auth := range config.AuthInfos {
		auth.Impersonate = user
	}
	path := filepath.Join(w.T.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		w.T.Fatal(err)
	}
	return path
}

// What stands in the way is gone after a while: whoever waits for it is told, and need not wait for the backoff.
func TestNameThatBecomesFree(t *testing.T) {
	w := newWorld(t)
	w.definition("", copies, childRule("InPlace"))
	w.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a-0, finalizers: [example.com/hold]}, data: {text: theirs}}`)
	w.thing("a", "count: 1\ntext: ours")
	w.WaitForEvent("a", "AlreadyOwned", "has no owner")
	w.Delete(env.ConfigMaps, w.Namespace, "a-0")
	// Each failure doubles the time until the next try, from 50 ms on: after so many the next is further away than that.
	const failures, backoff = 9, 5 * time.Second
	cluster.Eventually(t, 2*env.Timeout, func() error {
		later := w.Reconciles(w.Namespace, "later")
		if all := later + w.Reconciles(w.Namespace, "error"); later == 0 || all < failures {
			return fmt.Errorf("%v passes have failed, %v of them because the object is on its way out", all, later)
		}
		return nil
	})
	start := time.Now()
	w.Patch(env.ConfigMaps, "a-0", `{"metadata": {"finalizers": null}}`)
	w.WaitFor(env.ConfigMaps, "a-0", hasText("ours"))
	if took := time.Since(start); took > backoff {
		t.Errorf("the name was free and taken only %s later", took)
	}
}

func TestUndoneAgainAndAgain(t *testing.T) {
	w := newWorld(t)
	w.definition("", copies, childRule("InPlace"))
	w.thing("a", "count: 1\ntext: ours")
	w.WaitFor(env.ConfigMaps, "a-0", hasText("ours"))
	rewrites := 0
	cluster.Eventually(t, env.Timeout, func() error {
		if w.Get(env.ConfigMaps, "a-0") != nil && hasText("ours")(w.Get(env.ConfigMaps, "a-0")) == nil {
			w.Patch(env.ConfigMaps, "a-0", `{"data": {"text": "theirs"}}`)
			rewrites++
		}
		metrics, err := w.Libretto().Metrics(t.Context())
		if err != nil {
			return err
		}
		if metrics.Sum("libretto_hot_loops_total", nil) != 1 {
			return fmt.Errorf("%d times undone, and no hot loop told", rewrites)
		}
		return nil
	})
	event := w.WaitForEvent("a", "HotLoop", "ConfigMap "+w.Namespace+"/a-0", "data.text", `"ours"`, `"theirs"`, cluster.UserAgent)
	t.Logf("after %d rewrites: %s", rewrites, event.Message)
	// The last write may have come between the look at the child and the one at the metrics. No other follows it.
	w.Patch(env.ConfigMaps, "a-0", `{"data": {"text": "theirs"}}`)
	w.WaitForQuiet()
	if err := hasText("theirs")(w.Get(env.ConfigMaps, "a-0")); err != nil {
		t.Error(err)
	}
}

// A script that ends its workers is no longer called, which the definition tells until it is edited.
func TestScriptThatEndsItsWorkers(t *testing.T) {
	w := newWorld(t)
	w.thing("a", "count: 1\ntext: ours")
	name := w.definition("", `export const sync = () => ({status: {text: "x".repeat(2 ** 40)}, children: []})`, childRule("InPlace"))
	w.WaitForEvent("a", "SyncError", "HookLimitExceeded: sync hook: ")
	w.WaitForCondition(name, "Ready", "False", "ScriptResting", "sync hook: ", "not called until ", "correct the script")
	w.WaitForEvent(name, "ScriptResting", "sync hook: ")
	w.definition("", copies, childRule("InPlace"))
	w.WaitFor(env.ConfigMaps, "a-0", hasText("ours"))
	w.WaitForCondition(name, "Ready", "True", "Running")
}

func TestStatusThatNeverSettles(t *testing.T) {
	w := newWorld(t)
	w.definition("", `export const sync = ({parent}) => ({children: [], status: {count: (parent.status?.count ?? 0) + 1}});`, "")
	w.thing("a", "")
	w.WaitForEvent("a", "HotLoop", "the hook's status has differed 60 times")
	w.WaitForQuiet()
}
