package rollout_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/env"
)

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// families are six Things with three children each, of the value "one". Two of them are canaries.
func families(t *testing.T, rollout string) *scene {
	t.Helper()
	e := env.NewWithThings(t)
	s := &scene{Env: e, definition: e.Namespace, kind: env.Composite}
	s.editTo(3, "one")
	s.define(rollout)
	for n := range 6 {
		labels := ""
		if n < 2 {
			labels = "tier: canary"
		}
		e.ApplyThing(thing(n), labels, "")
	}
	s.start()
	s.waitForValues(map[string]int{"one": 18})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.waitForServing()
	s.WaitForQuiet()
	return s
}

// editTo makes the script give each Thing so many children of a value.
func (s *scene) editTo(children int, value string) {
	s.T.Helper()
	s.write(fmt.Sprintf(`export function sync({parent}) {
  const children = [];
  for (let n = 0; n < %d; n++) {
    children.push({apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-" + n}, data: {value: %q}});
  }
  return {children};
}
`, children, value))
}

// analyzed returns a scriptRollout whose first step has the canaries and a check.
func analyzed(check, more string) string {
	return fmt.Sprintf("{steps: [{selector: {matchLabels: {tier: canary}}, analysis: [%s]%s}]}", check, more)
}

const keepsChildren = `{cel: "size(children) >= before.children"}`

// TestAnalysisOfChildren: canaries that quietly lose a child take the edit back, also if the host is killed in the middle. An edit by which they
// lose none goes on.
func TestAnalysisOfChildren(t *testing.T) {
	t.Parallel()
	s := families(t, analyzed(keepsChildren, ""))
	r := s.record()
	s.editTo(2, "two")
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack: ", "steps[0].analysis[0]: Thing "+s.Namespace+"/"+thing(0),
		"size(children) >= before.children is false: size(children) is 2, before.children is 3", "libretto rollout approve")
	s.waitForValues(map[string]int{"one": 18})
	s.WaitForEvent(s.definition, "RolledBack", "size(children) is 2")
	for name, values := range r.once() {
		if !strings.HasPrefix(name, thing(0)) && !strings.HasPrefix(name, thing(1)) && fmt.Sprint(values) != "[one]" {
			t.Errorf("%s, which is no canary's, had the values %v", name, values)
		}
	}
	s.WaitForQuiet()

	r = s.record()
	s.editTo(2, "three")
	for seen := range r.seen {
		if seen == "Progressing 1" {
			break
		}
	}
	s.Kill()
	s.start()
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack: ", "size(children) is 2, before.children is 3")
	s.waitForValues(map[string]int{"one": 18})

	s.editTo(4, "four")
	s.waitForValues(map[string]int{"four": 24})
	if state := s.waitForPhase(v1alpha1.ScriptsComplete); state.ChildrenBefore != nil {
		t.Errorf("at the end: %s", s.describe())
	}
}

// TestOthersDuringAnAnalysis: children that somebody else deletes are no failure of the edit, and a parent that comes later had none before.
func TestOthersDuringAnAnalysis(t *testing.T) {
	t.Parallel()
	s := families(t, analyzed(keepsChildren, ", pauseSeconds: 600"))
	s.editTo(3, "two")
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut: ", "its pause began at")
	s.ApplyThing("new", "tier: canary", "")
	s.waitForValues(map[string]int{"one": 12, "two": 9})
	for n := range 9 {
		child := fmt.Sprintf("%s-%d", thing(n%2), n%3)
		uid := s.Get(env.ConfigMaps, child).GetUID()
		s.Delete(env.ConfigMaps, s.Namespace, child)
		s.WaitForDeletion(env.ConfigMaps, child, uid)
		s.waitForValues(map[string]int{"one": 12, "two": 9})
	}
	s.define(analyzed(keepsChildren, ", pauseSeconds: 1"))
	s.waitForValues(map[string]int{"two": 21})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	if events := s.events("RolledBack"); len(events) > 0 {
		t.Errorf("it was taken back in between: %v", events)
	}
}

// TestLostChildrenAreTold: without an analysis an edit may delete children of canaries, which is reported in the pause.
func TestLostChildrenAreTold(t *testing.T) {
	t.Parallel()
	s := families(t, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}]}")
	s.editTo(2, "two")
	lost := "Thing " + s.Namespace + "/" + thing(0) + " has 2 of the 3 children that it had before; 1 other parents have fewer, too"
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut: ", lost)
	s.run("status "+s.definition, lost)
}

// prometheus is a server that gives a number.
type prometheus struct {
	*httptest.Server
	number atomic.Pointer[string]
}

func newPrometheus(t *testing.T, number string) *prometheus {
	t.Helper()
	p := &prometheus{}
	p.number.Store(&number)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,%q]}]}}`, *p.number.Load())
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *prometheus) check() string {
	return fmt.Sprintf(`{prometheus: {address: %q, query: "sum(rate(errors[1m]))", successCondition: "result[0] < 0.01"}}`, p.URL)
}

// TestAnalysisByPrometheus: few errors let an edit go on, and many in its pause take it back. NaN says nothing.
func TestAnalysisByPrometheus(t *testing.T) {
	t.Parallel()
	p := newPrometheus(t, "0.001")
	s := families(t, analyzed(p.check(), ""))
	s.editTo(3, "two")
	s.waitForValues(map[string]int{"two": 18})
	s.waitForPhase(v1alpha1.ScriptsComplete)

	p.number.Store(new("NaN"))
	s.define(analyzed(p.check(), ", pauseSeconds: 600"))
	s.editTo(3, "three")
	s.waitForValues(map[string]int{"two": 12, "three": 6})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut: ", "steps[0].analysis[0]: can't be evaluated: "+p.URL, "NaN",
		"the edit counts as failed if it has not gone well by", "go on without it: libretto rollout promote")
	if state := s.rollout(); state.PausedAt != nil {
		t.Errorf("its pause has begun: %s", s.describe())
	}
	p.number.Store(new("0.002"))
	s.WaitForCondition(s.definition, "Progressing", "True", "its pause began at")
	p.number.Store(new("0.5"))
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack: ", "result[0] < 0.01 is false: result[0] is 0.5")
	s.waitForValues(map[string]int{"two": 18})
}

// TestPrometheusIsDown: the step waits, over a restart, and does not go on; by its deadline the edit is taken back.
func TestPrometheusIsDown(t *testing.T) {
	t.Parallel()
	p := newPrometheus(t, "0")
	p.Close()
	s := families(t, strings.TrimSuffix(analyzed(p.check(), ""), "}")+", progressDeadlineSeconds: 10}")
	s.editTo(3, "two")
	const refused = "connection refused"
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut: ", "can't be evaluated: "+p.URL, refused, "rollout promote")
	s.run("status "+s.definition, "Progressing, step 1 of 2", refused, "rollout promote")
	s.Restart()
	s.waitForValues(map[string]int{"one": 12, "two": 6})
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack: ", "step 1 has not gone well within 10 seconds: spec.scriptRollout.steps[0].analysis[0]", refused)
	s.waitForValues(map[string]int{"one": 18})
}

// TestAnalysisByJob: a Job is made once for a step, also if the host is killed, and says whether the edit goes on.
func TestAnalysisByJob(t *testing.T) {
	t.Parallel()
	s := families(t, "{steps: [{parents: 100%}]}")
	s.Apply(fmt.Sprintf(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: smoke, namespace: %s}
spec:
  schedule: "0 0 1 1 *"
  suspend: true
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        metadata: {annotations: {controlplane.libretto.dev/hold: Succeeded}}
        spec: {restartPolicy: Never, containers: [{name: test, image: test}]}
`, s.Namespace))
	s.define(analyzed("{job: {namespace: "+s.Namespace+", cronJob: smoke}}", ""))
	s.editTo(3, "two")
	job := s.waitForJobs(1)[0]
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut: ", "Job "+s.Namespace+"/"+job+" has not ended yet")
	s.Kill()
	s.start()
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut: ", "Job "+s.Namespace+"/"+job+" has not ended yet")
	s.waitForJobs(1)
	s.waitForValues(map[string]int{"one": 12, "two": 6})
	s.endJob(job, "Succeeded")
	s.waitForValues(map[string]int{"two": 18})
	s.waitForPhase(v1alpha1.ScriptsComplete)

	s.editTo(3, "three")
	for _, name := range s.waitForJobs(2) {
		if name != job {
			s.endJob(name, "Failed")
		}
	}
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack: ", "has failed: BackoffLimitExceeded: ")
	s.waitForValues(map[string]int{"two": 18})
	s.Delete(env.Definitions(s.kind), "", s.definition)
	s.waitForJobs(0)
}

// waitForJobs waits for so many Jobs of the definition, and returns their names.
func (s *scene) waitForJobs(want int) (names []string) {
	s.T.Helper()
	s.Eventually(func() error {
		names = nil
		for name, job := range s.List(jobs, v1alpha1.AnalysisLabel+"="+s.definition) {
			owners := job.GetOwnerReferences()
			ttl, _, _ := unstructured.NestedInt64(job.Object, "spec", "ttlSecondsAfterFinished")
			if len(owners) != 1 || owners[0].Name != s.definition || ttl < 3600 {
				return fmt.Errorf("Job %s belongs to %v, and is kept for %d s", name, owners, ttl)
			}
			names = append(names, name)
		}
		if len(names) != want {
			return fmt.Errorf("Jobs %v, want %d", names, want)
		}
		return nil
	})
	return names
}

// endJob ends the Pod of a Job, so that the Job controller ends the Job.
func (s *scene) endJob(name, phase string) {
	s.T.Helper()
	var pods map[string]*unstructured.Unstructured
	s.Eventually(func() error {
		if pods = s.List(env.Pods, "batch.kubernetes.io/job-name="+name); len(pods) != 1 {
			return fmt.Errorf("Job %s has %d Pods", name, len(pods))
		}
		return nil
	})
	for pod := range pods {
		s.Patch(env.Pods, pod, fmt.Sprintf(`{"status":{"phase":%q}}`, phase), "status")
	}
}
