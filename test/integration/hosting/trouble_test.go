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

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestUnreachableAPIServerEndsTheProcess(t *testing.T) {
	binary, err := cluster.Binary("libretto")
	env.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	env.NoError(t, os.WriteFile(kubeconfig, []byte(config), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), env.Timeout)
	defer cancel()
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, binary, "serve", "--kubeconfig", kubeconfig, "--metrics-bind-address=127.0.0.1:0",
		"--health-probe-bind-address=127.0.0.1:0")
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
	e := newEnv(t)
	define(e, "", `export const sync = ({parent, children}) => ({children: [], status: {count: Object.keys(Object.values(children)[0]).length}});`,
		fmt.Sprintf("childResources: [{apiVersion: %s/v1, resource: things}]", e.Group))
	e.Apply(fmt.Sprintf(`{apiVersion: %s/v1, kind: Thing, metadata: {name: a, labels: {thing: a}}, spec: {selector: {matchLabels: {thing: a}}}}`, e.Group))
	parent := e.WaitFor(e.Things(), "a", hasCount(0))
	if metav1.GetControllerOf(parent) != nil || parent.GetDeletionTimestamp() != nil {
		t.Errorf("the parent has become its own child: %v", parent.Object)
	}
}

func TestTwoVersionsOfOneChildAreRefused(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", copies, "childResources: [{apiVersion: autoscaling/v1, resource: horizontalpodautoscalers}, {apiVersion: autoscaling/v2, resource: horizontalpodautoscalers}]")
	e.WaitForCondition(name, "Accepted", "False", "Invalid", "spec.childResources[1]", "in version v1")
}

func TestDefinitionMadeAnew(t *testing.T) {
	e := newEnv(t)
	saying := func(n int) string {
		return fmt.Sprintf(`export const sync = () => ({children: [], status: {count: %d}});`, n)
	}
	name := define(e, "", saying(0), "")
	applyThing(e, "a", "")
	for n := range 15 {
		e.WaitFor(e.Things(), "a", hasCount(int64(n)))
		e.Delete(env.CompositeControllers, "", name)
		define(e, "", saying(n+1), "")
	}
	e.WaitFor(e.Things(), "a", hasCount(15))
}

func TestMissingRightsAreTold(t *testing.T) {
	e := env.New(t)
	e.Apply(thingCRD(e))
	e.Apply(fmt.Sprintf(`
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
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]`, e.Namespace, e.Group))
	e.Start("--kubeconfig", e.KubeconfigAs(e.Namespace))
	name := define(e, "", copies, childRule("InPlace"))
	e.WaitForCondition(name, "Ready", "False", "ResourceUnreadable", "configmaps", "forbidden")
}

// A child whose name becomes free is created at once, without the wait of the backoff.
func TestNameThatBecomesFree(t *testing.T) {
	e := newEnv(t)
	define(e, "", copies, childRule("InPlace"))
	e.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a-0, finalizers: [example.com/hold]}, data: {text: theirs}}`)
	applyThing(e, "a", "count: 1\ntext: ours")
	e.WaitForEvent("a", "SyncError", "AlreadyOwned: ", "has no owner")
	e.Delete(env.ConfigMaps, e.Namespace, "a-0")
	// Each failure doubles the time until the next try, from 50 ms on: after so many the next is further away than that.
	const failures, backoff = 9, 5 * time.Second
	cluster.Eventually(t, 2*env.Timeout, func() error {
		later := e.Reconciles(e.Namespace, "later")
		if all := later + e.Reconciles(e.Namespace, "error"); later == 0 || all < failures {
			return fmt.Errorf("%v passes have failed, %v of them because the object is on its way out", all, later)
		}
		return nil
	})
	start := time.Now()
	e.Patch(env.ConfigMaps, "a-0", `{"metadata": {"finalizers": null}}`)
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("ours"))
	if took := time.Since(start); took > backoff {
		t.Errorf("the name was free and taken only %s later", took)
	}
}

func TestUndoneAgainAndAgain(t *testing.T) {
	e := newEnv(t)
	define(e, "", copies, childRule("InPlace"))
	applyThing(e, "a", "count: 1\ntext: ours")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("ours"))
	rewrites := 0
	e.Eventually(func() error {
		if e.Get(env.ConfigMaps, "a-0") != nil && env.HasText("ours")(e.Get(env.ConfigMaps, "a-0")) == nil {
			e.Patch(env.ConfigMaps, "a-0", `{"data": {"text": "theirs"}}`)
			rewrites++
		}
		if e.Metric("libretto_definition_hot_loops_total", nil) != 1 {
			return fmt.Errorf("%d times undone, and no hot loop reported", rewrites)
		}
		return nil
	})
	event := e.WaitForEvent("a", "HotLoop", "ConfigMap "+e.Namespace+"/a-0", "data.text", `"ours"`, `"theirs"`, cluster.UserAgent)
	t.Logf("after %d rewrites: %s", rewrites, event.Message)
	// The last write may have come between the look at the child and the one at the metrics. No other follows it.
	e.Patch(env.ConfigMaps, "a-0", `{"data": {"text": "theirs"}}`)
	e.WaitForQuiet()
	if err := env.HasText("theirs")(e.Get(env.ConfigMaps, "a-0")); err != nil {
		t.Error(err)
	}
}

func TestStatusThatNeverSettles(t *testing.T) {
	e := newEnv(t)
	define(e, "", `export const sync = ({parent}) => ({children: [], status: {count: (parent.status?.count ?? 0) + 1}});`, "")
	applyThing(e, "a", "")
	e.WaitForEvent("a", "HotLoop", "the status of Thing "+e.Namespace+"/a is left alone for 1m0s", "it was written 20 times", "status.count")
	e.WaitForQuiet()
}
