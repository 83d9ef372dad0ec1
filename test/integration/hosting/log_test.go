package hosting

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/env"
)

// talks fails for Things with spec.fail, and prints and answers what a Thing says.
const talks = `
export function sync({parent, controller}) {
  if (parent.spec.fail) throw new Error(parent.spec.fail);
  console.log("printed", parent.spec.says, JSON.stringify(controller.metadata.annotations ?? {}));
  return {status: {said: parent.spec.says}, children: []};
}`

// TestLogForPeople follows the log of a host: where its cluster is, that scripts were loaded, one line for each new failure, and
// everything about a definition from the moment on at which it is annotated.
func TestLogForPeople(t *testing.T) {
	e := newEnv(t, "--v=0")
	name := define(e, "", talks, "")
	e.WaitForCondition(name, "Ready", "True")
	lines := func(all ...string) (found []string) {
		for line := range strings.Lines(e.Libretto().Log()) {
			matches := true
			for _, part := range all {
				matches = matches && strings.Contains(line, part)
			}
			if matches {
				found = append(found, line)
			}
		}
		return found
	}
	waitForLine := func(parts ...string) {
		t.Helper()
		e.Eventually(func() error {
			if len(lines(parts...)) == 0 {
				return fmt.Errorf("the log has no line with %q", parts)
			}
			return nil
		})
	}
	waitForLine("libretto starts", `"context": "`, `"kubeconfig": "`+e.Cluster.Kubeconfig)
	waitForLine("INFO", "scripts loaded", name)

	applyThing(e, "bad", "fail: boom")
	waitForLine("WARN", "reconcile failed", "boom", "sync.js:3:", "stack", name)
	e.Patch(e.Things(), "bad", `{"spec": {"touched": 1}}`) // The same failure again.
	applyThing(e, "good", "says: quiet")
	e.WaitFor(e.Things(), "good", env.HasField("quiet", "status", "said"))
	e.Patch(e.Things(), "bad", `{"spec": {"fail": "bang"}}`)
	waitForLine("WARN", "reconcile failed", "bang")
	if got := lines("boom"); len(got) != 1 {
		t.Errorf("%d lines about one failure, want 1:\n%s", len(got), strings.Join(got, ""))
	}
	if got := lines("printed"); len(got) != 0 {
		t.Errorf("the default log has what scripts print:\n%s", strings.Join(got, ""))
	}

	started := len(lines("controller started", name))
	e.Kubectl("annotate", "cc", name, v1alpha1.LogLevelAnnotation+"=4")
	e.Eventually(func() error { // The host may not have seen the annotation yet.
		e.Patch(e.Things(), "good", fmt.Sprintf(`{"spec": {"says": "loud %d"}}`, len(e.Libretto().Log())))
		if len(lines("DEBUG", "hook answered", `said`, "loud")) == 0 {
			return errors.New("the log has no answer")
		}
		return nil
	})
	waitForLine("DEBUG", "printed loud")
	if got := lines("printed", "log-level"); len(got) != 0 {
		t.Errorf("the hook is shown the annotation:\n%s", strings.Join(got, ""))
	}
	if got := len(lines("controller started", name)); got != started {
		t.Errorf("the annotation started %d instances", got-started)
	}
	e.Kubectl("annotate", "--overwrite", "cc", name, v1alpha1.LogLevelAnnotation+"=loud")
	e.WaitForCondition(name, "Ready", "True", "InvalidLogLevel", `"loud" is no level`)
}

// TestCategory checks that one word lists definitions of all kinds.
func TestCategory(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", talks, "")
	e.WaitForCondition(name, "Ready", "True")
	if out := e.Kubectl("get", "libretto"); !strings.Contains(out, name) {
		t.Errorf("kubectl get libretto has no %s:\n%s", name, out)
	}
}
