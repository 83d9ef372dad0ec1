package hosting

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// throwing is a script that throws for parents whose spec says so, on its third line, each time with another number.
const throwing = `let calls = 0;
export const sync = ({parent}) => {
  if (parent.spec.fails) throw new Error("no quota, call " + Date.now());
  return parent.spec.waits ? {waiting: {reason: "NoSecret", message: "the Secret db is not there yet"}} : {children: []};
};`

// statusWrites returns the writes of the status of a definition since a moment.
func statusWrites(e *env.Env, definition string, since cluster.Mark) cluster.Requests {
	e.T.Helper()
	return e.Requests(since).Filter(func(r cluster.Request) bool {
		return r.Resource == "compositecontrollers" && r.Subresource == "status" && r.Name == definition
	})
}

// TestFailingParents has the parents of a definition all throw, recover, wait and go, and looks at what kubectl shows of the definition, and
// at what it costs. Its message does not change as failures are retried, and a restart finds the same.
func TestFailingParents(t *testing.T) {
	e := newEnv(t)
	definition := define(e, "", throwing, "")
	state := func(parents, synced, failing, waiting int64) env.Check {
		return func(definition *unstructured.Unstructured) error {
			return errors.Join(
				env.HasField(parents, "status", "parents")(definition), env.HasField(synced, "status", "syncedParents")(definition),
				env.HasField(failing, "status", "failingParents")(definition), env.HasField(waiting, "status", "waitingParents")(definition),
			)
		}
	}
	waitFor := func(check env.Check) {
		t.Helper()
		e.ClusterScope().WaitFor(env.CompositeControllers, definition, check)
	}
	e.WaitForCondition(definition, "ParentsSynced", "True", "NoParents")
	const many = 40
	began, mark := time.Now(), e.Mark()
	for i := range many {
		applyThing(e, fmt.Sprintf("thing-%02d", i), "fails: true")
	}
	waitFor(state(many, 0, many, 0))
	condition := e.WaitForCondition(definition, "ParentsSynced", "False", "HookFailed", "40 of 40 parents fail: Thing "+e.Namespace+"/thing-",
		"HookFailed: sync hook: inline-sync.js:3:", "no quota, call ", "(since 20", "and 37 more")
	if got := strings.Count(condition.Message, "inline-sync.js:3:"); got != 3 {
		t.Errorf("%d parents are named, want 3:\n%s", got, condition.Message)
	}
	e.WaitForCondition(definition, "Ready", "True", "Running")
	if writes := statusWrites(e, definition, mark); len(writes) > 2+int(time.Since(began)/(5*time.Second)) {
		t.Errorf("the status was written %d times in %s:\n%v", len(writes), time.Since(began), writes)
	}
	shown := e.Kubectl("get", "libretto")
	if !strings.Contains(shown, "FAILING") || !strings.Contains(shown, "False") {
		t.Errorf("kubectl get shows\n%s", shown)
	}
	if wide := e.Kubectl("get", "libretto", "-o", "wide"); !strings.Contains(wide, "inline-sync.js:3:") {
		t.Errorf("kubectl get -o wide does not show the place:\n%s", wide)
	}

	// Retries change nothing, and cost no write of the definition.
	failed := e.Reconciles(definition, "error")
	mark = e.Mark()
	for i := range many {
		e.Patch(e.Things(), fmt.Sprintf("thing-%02d", i), `{"spec": {"touched": true}}`)
	}
	e.Eventually(func() error {
		if more := e.Reconciles(definition, "error") - failed; more < many {
			return fmt.Errorf("%v syncs failed again", more)
		}
		return nil
	})
	e.NoRequests(statusWrites(e, definition, mark), "retries of the same failure write the definition")

	e.Patch(e.Things(), "thing-00", `{"spec": {"fails": false}}`)
	e.Patch(e.Things(), "thing-01", `{"spec": {"fails": false, "waits": true}}`)
	e.Delete(e.Things(), e.Namespace, "thing-02")
	waitFor(state(many-1, 1, many-3, 1))
	e.Restart()
	e.NoError(e.Cluster.Dynamic().Resource(e.Things()).Namespace(e.Namespace).DeleteCollection(
		t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name!=thing-00,metadata.name!=thing-01"}))
	waitFor(state(2, 1, 0, 1))
	e.WaitForCondition(definition, "ParentsSynced", "True", "Waiting", "1 of 2 wait: Thing "+e.Namespace+"/thing-01: NoSecret: the Secret db is not there yet")
	labels := map[string]string{"kind": env.Composite, "definition": definition, "state": "waiting"}
	if got := e.Metric("libretto_definition_parents", labels); got != 1 {
		t.Errorf("the metric has %v parents that wait, want 1", got)
	}
	e.Delete(e.Things(), e.Namespace, "thing-01")
	e.WaitForCondition(definition, "ParentsSynced", "True", "Synced")
}
