package scripts_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
	"github.com/libretto-k8s/libretto/test/quota"
)

// starvedTimeout is how long anything may take that is done with a hundredth of a processor.
const starvedTimeout = 3 * time.Minute

// starve has the workers of all hosts of this process share a part of a processor until the test ends.
func starve(t *testing.T, cpus float64) *quota.Quota {
	t.Helper()
	q, done := quota.NewAnywhere(cpus), make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		known := map[int]bool{}
		for ticker := time.NewTicker(10 * time.Millisecond); ; {
			for _, host := range childrenOf(os.Getpid()) {
				for _, worker := range childrenOf(host) {
					if !known[worker] {
						known[worker] = q.Add(worker) == nil // Otherwise it has ended.
					}
				}
			}
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(done)
		following.Wait()
		if err := q.Remove(); err != nil {
			t.Error(err)
		}
	})
	return q
}

func childrenOf(pid int) (children []int) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// computing returns a script that says a text after it has computed for some hundredths of a second. To load it takes some tenths of one, so
// that not all scripts of a host are loaded before that is starved.
func computing(text string) string {
	return fmt.Sprintf(`let loaded = 0;
for (let i = 0; i < 1000000; i++) loaded += i %% 7;
export function sync() {
  let n = 0;
  for (let i = 0; i < 300000; i++) n += i %% 7;
  return {status: {said: n > 0 ? %q : ""}, children: []};
}
`, text)
}

// TestStarvedHost starts a host again whose workers get hardly any processor time, and edits scripts then, which have tests and are rolled out by
// steps. All takes longer than hooks and loads may take, and nothing is blamed for it: unchanged scripts load, nothing is held, taken back or
// reported as a failure, and once there is time all is done soon.
func TestStarvedHost(t *testing.T) { // Not in parallel: the workers of all hosts are starved.
	e := newRunning(t)
	const definitions = 5
	var names, revisions []string
	for n := range definitions {
		names = append(names, defineApart(e, n, definitions))
	}
	for n, name := range names {
		waitForSaid(e, fmt.Sprint("thing-", n), "one")
		e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
		waitUntilArchived(e.InNamespace(apart(e, n)), name)
		revisions = append(revisions, e.ScriptRevision(name))
	}
	e.PatchDefinition(env.Composite, names[0], `{"spec": {"scriptRollout": {"steps": [{"parents": 1}]}}}`)
	e.WaitForCondition(names[0], "Progressing", "True", "Serving")

	q := starve(t, 0.1)
	e.Restart()
	e.NoError(q.Set(0.01))
	waitUntilTold(e, names)
	e.NoError(q.Set(0.05))
	applyFiles(e.InNamespace(apart(e, 0)), "hooks", "sync.js", computing("two"), "sync.test.js",
		"import { test, expect } from 'libretto/test'\nimport { sync } from './sync.js'\ntest('two', () => expect(sync().status.said).toBe('two'))\n")
	waitForSlowCalls(e)
	checkUnblamed(e, names)

	e.NoError(q.Lift())
	waitForSaid(e, "thing-0", "two")
	waitForSaid(e, "second-0", "two")
	for n, name := range names {
		e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
		e.WaitForCondition(name, "Ready", "True", "Running")
		e.WaitForReconcilesOf(env.Composite, name, 1)
		if now := e.ScriptRevision(name); n > 0 && now != revisions[n] {
			t.Errorf("%s serves revision %s, and %s before the restart", name, now, revisions[n])
		}
	}
	checkUnblamed(e, names)
}

// apart returns the namespace of the scripts of a definition.
func apart(e *env.Env, n int) string { return fmt.Sprintf("%s-%d", e.Namespace, n) }

// defineApart applies the definition of that number, with scripts in a namespace of its own and two Things, and returns its name.
func defineApart(e *env.Env, n, definitions int) string {
	e.T.Helper()
	own := e.InNamespace(apart(e, n))
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", own.Namespace))
	applyFiles(own, "hooks", "sync.js", computing("one"))
	name := define(e, fmt.Sprint("-", n), source(own, "hooks"))
	labels := ""
	for other := range definitions {
		if other != n {
			labels += fmt.Sprintf("not-%d: x, ", other)
		}
	}
	e.ApplyThing(fmt.Sprint("thing-", n), labels, "")
	e.ApplyThing(fmt.Sprint("second-", n), labels, "")
	return name
}

// waitUntilTold waits until the status of a definition has it that a load takes long.
func waitUntilTold(e *env.Env, names []string) {
	e.T.Helper()
	cluster.Eventually(e.T, starvedTimeout, func() error {
		var all []string
		for _, name := range names {
			c := e.ConditionOf(e.ClusterScope().Get(env.CompositeControllers, name), "ScriptsReady")
			if env.CheckCondition(c, "Unknown", "Loading: ", "has been loading since", "short of CPU") == nil {
				return nil
			}
			all = append(all, fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message))
		}
		return fmt.Errorf("no load takes long:\n%s", strings.Join(all, "\n"))
	})
}

// waitForSlowCalls waits until calls have taken more than two seconds on an average, which is what one may take, and have succeeded.
func waitForSlowCalls(e *env.Env) {
	e.T.Helper()
	cluster.Eventually(e.T, starvedTimeout, func() error {
		took, calls := 0.0, uint64(0)
		for _, metric := range e.Metrics()["libretto_definition_hook_duration_seconds"].GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "outcome" && label.GetValue() == "success" {
					took += metric.GetHistogram().GetSampleSum() + metric.GetSummary().GetSampleSum()
					calls += metric.GetHistogram().GetSampleCount() + metric.GetSummary().GetSampleCount()
				}
			}
		}
		if calls == 0 || took/float64(calls) < 2 {
			return fmt.Errorf("%d calls have taken %.1f s: they are not starved", calls, took)
		}
		return nil
	})
}

// checkUnblamed fails the test if the host blames a script, an object or a worker for what it has no time for.
func checkUnblamed(e *env.Env, names []string) {
	e.T.Helper()
	const calls = "libretto_definition_hook_duration_seconds"
	metrics := e.Metrics()
	outcome := func(outcome string) float64 { return metrics.Sum(calls, map[string]string{"outcome": outcome}) }
	if failed := metrics.Sum(calls, nil) - outcome("success") - outcome("HostBusy"); failed > 0 {
		e.T.Errorf("%v calls have failed", failed)
	}
	for _, reason := range []string{"deadline", "start", "crash"} {
		if killed := metrics.Sum("libretto_script_worker_ends_total", map[string]string{"reason": reason}); killed > 0 {
			e.T.Errorf("%v workers ended: %s", killed, reason)
		}
	}
	for _, name := range names {
		object := e.ClusterScope().Get(env.CompositeControllers, name)
		for _, field := range []string{"failedRevision", "heldRevision"} {
			if id, _, _ := unstructured.NestedString(object.Object, "status", "scriptRollout", field); id != "" {
				e.T.Errorf("%s: %s is %s", name, field, id)
			}
		}
		if c := e.ConditionOf(object, "ScriptsReady"); c.Status == metav1.ConditionFalse {
			e.T.Errorf("%s: %s: %s", name, c.Reason, c.Message)
		}
	}
	all, err := e.Cluster.Dynamic().Resource(env.Events).List(e.T.Context(), metav1.ListOptions{FieldSelector: "type=Warning"})
	e.NoError(err)
	for _, event := range all.Items {
		about, _, _ := unstructured.NestedString(event.Object, "involvedObject", "name")
		namespace, _, _ := unstructured.NestedString(event.Object, "involvedObject", "namespace")
		if namespace == e.Namespace || strings.HasPrefix(about, e.Namespace) || strings.HasPrefix(namespace, e.Namespace+"-") {
			e.T.Errorf("%s: %v: %v", about, event.Object["reason"], event.Object["message"])
		}
	}
}
