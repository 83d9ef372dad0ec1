package analysis

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newAnalyst() *Analyst {
	return &Analyst{HTTP: http.DefaultClient, Clock: clocktesting.NewFakePassiveClock(now)}
}

// parent returns a parent with so many children, and what it had before, unless that is negative.
func parent(name string, children, before int, fields map[string]any) Parent {
	p := Parent{Name: "Thing a/" + name, Object: &unstructured.Unstructured{Object: fields}}
	for i := range children {
		p.Children = append(p.Children, &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"n": int64(i)}}})
	}
	if before >= 0 {
		p.Before = &before
	}
	return p
}

func status(spec, ready int64) map[string]any {
	return map[string]any{"spec": map[string]any{"replicas": spec}, "status": map[string]any{"ready": ready}}
}

const kept, ready = "size(children) >= before.children", "parent.status.ready == parent.spec.replicas"

func TestCEL(t *testing.T) {
	for name, c := range map[string]struct {
		cel     string
		parents []Parent
		want    rollout.AnalysisResult
		message string
	}{
		"all children are there": {cel: kept, parents: []Parent{parent("x", 3, 3, nil), parent("y", 4, 3, nil)}, want: rollout.AnalysisPassed},
		"one is gone": {
			cel: kept, parents: []Parent{parent("x", 3, 3, nil), parent("y", 1, 3, nil)}, want: rollout.AnalysisFailed,
			message: "Thing a/y: size(children) >= before.children is false: size(children) is 1, before.children is 3",
		},
		"ready": {cel: ready, parents: []Parent{parent("x", 0, 0, status(3, 3))}, want: rollout.AnalysisPassed},
		"not ready, and all children": {
			cel: kept + " && " + ready, parents: []Parent{parent("x", 3, 3, status(3, 2))}, want: rollout.AnalysisFailed,
			message: "is false: parent.status.ready is 2, parent.spec.replicas is 3",
		},
		"no status yet": {
			cel: ready, parents: []Parent{parent("x", 0, 0, map[string]any{"spec": map[string]any{}})}, want: rollout.AnalysisUnknown,
			message: "can't be evaluated: Thing a/x: " + ready + ": no such key: status",
		},
		"one fails after one that can't be evaluated": {
			cel: ready, parents: []Parent{parent("x", 0, 0, map[string]any{}), parent("y", 0, 0, status(2, 1))}, want: rollout.AnalysisFailed,
		},
		"before is not known":  {cel: kept, parents: []Parent{parent("x", 3, -1, nil)}, want: rollout.AnalysisUnknown, message: "at most 500 parents"},
		"before is not needed": {cel: "size(children) > 2 || " + kept, parents: []Parent{parent("x", 3, -1, nil)}, want: rollout.AnalysisPassed},
		"a text is not reported": {
			cel:     "parent.token == 'none'",
			parents: []Parent{parent("x", 0, 0, map[string]any{"token": "s3cret"})}, want: rollout.AnalysisFailed, message: "Thing a/x: parent.token == 'none' is false",
		},
		"a text that is no number": {
			cel: "int(parent.token) > 0", parents: []Parent{parent("x", 0, 0, map[string]any{"token": "s3cret"})}, want: rollout.AnalysisUnknown,
			message: "Thing a/x: int(parent.token) > 0: it fails because of a value, which is not shown",
		},
		"a long expression": {
			cel:     "size(children) > 3 || " + strings.Repeat("size(children) > 2 || ", 50) + kept,
			parents: []Parent{parent("x", 1, 3, nil)}, want: rollout.AnalysisFailed, message: "... is false: size(children) is 1",
		},
		"division": {
			cel: "6 / size(children) > 1", parents: []Parent{parent("x", 0, 0, nil)}, want: rollout.AnalysisUnknown, message: "division by zero",
		},
		"children by their content": {cel: "children.exists(c, c.data.n == 2)", parents: []Parent{parent("x", 3, 0, nil)}, want: rollout.AnalysisPassed},
		"too much": {
			cel:     "children.all(a, children.all(b, children.all(c, children.all(d, true))))",
			parents: []Parent{parent("x", 200, 0, nil)}, want: rollout.AnalysisUnknown, message: "cost limit",
		},
		"no parents": {cel: kept, want: rollout.AnalysisPassed},
	} {
		t.Run(name, func(t *testing.T) {
			got := newAnalyst().Analyze(t.Context(), Step{
				AnalysisRequest: rollout.AnalysisRequest{ID: "id", Step: 2}, Checks: []v1alpha1.ScriptAnalysis{{CEL: c.cel}}, Parents: c.parents,
			})
			if got.ID != "id" || !got.At.Equal(now) || got.Result != c.want || !strings.Contains(got.Message, c.message) || strings.Contains(got.Message, "s3cret") {
				t.Errorf("got %+v, want %v %q", got, c.want, c.message)
			}
			if c.want != rollout.AnalysisPassed && got.Check != "spec.scriptRollout.steps[1].analysis[0]" {
				t.Errorf("the check is %q", got.Check)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	for text, want := range map[string]string{
		kept:                        "",
		"size(children) > 0":        "",
		"result[0] > 1.0":           "undeclared reference to 'result'",
		"before.childs > 1":         "undeclared reference to 'before'",
		"size(children)":            "it must be true or false, and is of type int",
		"size(children >= ":         "it does not compile: Syntax error",
		"parent.spec.replicas == 1": "",
	} {
		spec := &v1alpha1.ScriptRollout{Steps: []v1alpha1.ScriptRolloutStep{{}, {Analysis: []v1alpha1.ScriptAnalysis{
			{Job: &v1alpha1.JobAnalysis{}}, {CEL: text},
		}}}}
		checkError(t, text, Validate(spec), want, "spec.scriptRollout.steps[1].analysis[1].cel: ")
	}
	for text, want := range map[string]string{
		"result[0] < 0.01": "", "size(result) == 2 && result[0] > 5": "", "parent.x == 1": "undeclared reference to 'parent'", "result < 1": "no matching overload",
	} {
		spec := &v1alpha1.ScriptRollout{Steps: []v1alpha1.ScriptRolloutStep{{Analysis: []v1alpha1.ScriptAnalysis{
			{Prometheus: &v1alpha1.PrometheusAnalysis{SuccessCondition: text}},
		}}}}
		checkError(t, text, Validate(spec), want, "spec.scriptRollout.steps[0].analysis[0].prometheus.successCondition: ")
	}
	if err := Validate(nil); err != nil {
		t.Error(err)
	}
}

func checkError(t *testing.T, text string, err error, want, place string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", text, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), place)):
		t.Errorf("%s: %v, want %q at %q", text, err, want, place)
	}
}

const (
	vector   = `{"status":"success","data":{"resultType":"vector","result":[%s]}}`
	sample   = `{"metric":{},"value":[1,"%s"]}`
	scalar   = `{"status":"success","data":{"resultType":"scalar","result":[1,"0.005"]}}`
	matrix   = `{"status":"success","data":{"resultType":"matrix","result":[]}}`
	queryBad = `{"status":"error","errorType":"bad_data","error":"parse error: no"}`
)

func samples(values ...string) string {
	var all []string
	for _, value := range values {
		all = append(all, fmt.Sprintf(sample, value))
	}
	return fmt.Sprintf(vector, strings.Join(all, ","))
}

func TestPrometheus(t *testing.T) {
	for name, c := range map[string]struct {
		answer    string
		status    int
		condition string
		want      rollout.AnalysisResult
		message   string
	}{
		"few errors":     {answer: samples("0.005"), want: rollout.AnalysisPassed},
		"a scalar":       {answer: scalar, want: rollout.AnalysisPassed},
		"many errors":    {answer: samples("0.25"), want: rollout.AnalysisFailed, message: "result[0] < 0.01 is false: result[0] is 0.25; the answer is [0.25]"},
		"of each sample": {answer: samples("0.001", "0.5", "1", "2"), condition: "result.all(v, v < 0.01)", want: rollout.AnalysisFailed, message: "[0.001 0.5 1] and 1 values more"},
		"no samples":     {answer: samples(), want: rollout.AnalysisUnknown, message: "no samples"},
		"NaN":            {answer: samples("0.001", "NaN"), want: rollout.AnalysisUnknown, message: "NaN"},
		"infinite":       {answer: samples("+Inf"), want: rollout.AnalysisFailed},
		"a matrix":       {answer: matrix, want: rollout.AnalysisUnknown, message: "gives a matrix: it must give a scalar or an instant vector"},
		"one that is not there": {
			answer: samples("0.001"), condition: "result[1] < 1.0", want: rollout.AnalysisUnknown, message: "result[1] < 1.0: index out of bounds: 1",
		},
		"a query that is wrong": {answer: queryBad, status: 400, want: rollout.AnalysisUnknown, message: "bad_data: parse error: no"},
		"a broken server":       {answer: "<html>s3cret</html>", status: 502, want: rollout.AnalysisUnknown, message: "server error: 502"},
		"a page":                {answer: "<html>s3cret</html>", want: rollout.AnalysisUnknown},
		"too much":              {answer: samples(strings.Repeat("1", maxAnswerBytes)), want: rollout.AnalysisUnknown, message: "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/prom/api/v1/query" || r.FormValue("query") != "sum(errors)" || r.FormValue("time") != "1767323045" {
					t.Errorf("it asks for %s %v", r.URL, r.Form)
				}
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				_, _ = w.Write([]byte(c.answer))
			}))
			defer server.Close()
			if c.condition == "" {
				c.condition = "result[0] < 0.01"
			}
			got := newAnalyst().Analyze(t.Context(), ask(server.URL+"/prom/", c.condition))
			if got.Result != c.want || !strings.Contains(got.Message, c.message) || strings.Contains(got.Message, "s3cret") {
				t.Errorf("got %+v, want %v %q", got, c.want, c.message)
			}
		})
	}
}

func ask(address, condition string) Step {
	return Step{AnalysisRequest: rollout.AnalysisRequest{ID: "id", Step: 1}, Checks: []v1alpha1.ScriptAnalysis{
		{Prometheus: &v1alpha1.PrometheusAnalysis{Address: address, Query: "sum(errors)", SuccessCondition: condition}},
	}}
}

// TestPrometheusIsDown: that is no success.
func TestPrometheusIsDown(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	got := newAnalyst().Analyze(t.Context(), ask(server.URL, "result[0] < 1.0"))
	if got.Result != rollout.AnalysisUnknown || !strings.Contains(got.Message, "can't be evaluated: "+server.URL+": dial tcp") {
		t.Errorf("got %+v", got)
	}
}

// newJobs returns an Analyst on a cluster with a CronJob, and what is checked by it.
func newJobs() (*Analyst, Step) {
	cron := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "CronJob", "metadata": map[string]any{"namespace": "a", "name": "smoke"},
		"spec": map[string]any{"suspend": true, "jobTemplate": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"team": "x"}, "annotations": map[string]any{"note": "y"}},
			"spec":     map[string]any{"backoffLimit": int64(0), "ttlSecondsAfterFinished": int64(1)},
		}},
	}}
	a := newAnalyst()
	a.Client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{jobs: "JobList", cronJobs: "CronJobList"}, cron)
	definition := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController"}}
	definition.SetName("hello.example.com")
	definition.SetUID("u1")
	return a, Step{
		AnalysisRequest: rollout.AnalysisRequest{ID: "id", Step: 1}, Definition: definition, JobsKept: time.Hour,
		Checks: []v1alpha1.ScriptAnalysis{{Job: &v1alpha1.JobAnalysis{Namespace: "a", CronJob: "smoke"}}},
	}
}

// TestJob: a Job is made once in an attempt, whoever asks, and decides by how it ends.
func TestJob(t *testing.T) {
	a, step := newJobs()
	for range 3 {
		if got := a.Analyze(t.Context(), step); got.Result != rollout.AnalysisUnknown || !strings.HasSuffix(got.Message, "has not ended yet") {
			t.Fatalf("got %+v", got)
		}
	}
	all, err := a.Client.Resource(jobs).Namespace("a").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Fatalf("Jobs: %v, %v", all, err)
	}
	job := &all.Items[0]
	owner := job.GetOwnerReferences()
	ttl, _, _ := unstructured.NestedInt64(job.Object, "spec", "ttlSecondsAfterFinished")
	limit, _, _ := unstructured.NestedInt64(job.Object, "spec", "backoffLimit")
	if len(owner) != 1 || owner[0].UID != "u1" || owner[0].Controller != nil || ttl != 3600 || limit != 0 ||
		job.GetLabels()["team"] != "x" || job.GetLabels()[v1alpha1.AnalysisLabel] != "hello.example.com" || job.GetAnnotations()["note"] != "y" ||
		!strings.HasPrefix(job.GetName(), "hello-example-com-") {
		t.Errorf("the Job is %v", job.Object)
	}
	for kind, want := range map[string]rollout.AnalysisResult{
		"Complete": rollout.AnalysisPassed, "Failed": rollout.AnalysisFailed, "SuccessCriteriaMet": rollout.AnalysisUnknown,
	} {
		job.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Suspended", "status": "False"},
			map[string]any{"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "no"}}}
		if _, err := a.Client.Resource(jobs).Namespace("a").Update(t.Context(), job, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		got := a.Analyze(t.Context(), step)
		if got.Result != want || want == rollout.AnalysisFailed && !strings.HasSuffix(got.Message, "has failed: BackoffLimitExceeded: no") {
			t.Errorf("%s: got %+v", kind, got)
		}
	}
	again := step
	again.ID = "the next attempt"
	if got := a.Analyze(t.Context(), again); got.Result != rollout.AnalysisUnknown {
		t.Errorf("the next attempt: %+v", got)
	}
}

// TestRights: the shipped role has the rights that Jobs need, and no others.
func TestRights(t *testing.T) {
	text, err := os.ReadFile("../../../manifests/rbac/analysis.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(text, &role); err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			given[fmt.Sprintf("%s%v%v", verb, rule.APIGroups, rule.Resources)] = true
		}
	}
	a, step := newJobs()
	a.Analyze(t.Context(), step)
	needed := map[string]bool{}
	for _, action := range a.Client.(*fake.FakeDynamicClient).Actions() {
		needed[fmt.Sprintf("%s[%s][%s]", action.GetVerb(), action.GetResource().Group, action.GetResource().Resource)] = true
	}
	if !maps.Equal(given, needed) {
		t.Errorf("the role gives %v, and %v is needed", given, needed)
	}
}

func TestNoCronJob(t *testing.T) {
	a, step := newJobs()
	step.Checks[0].Job.CronJob = "other"
	if got := a.Analyze(t.Context(), step); got.Result != rollout.AnalysisUnknown || !strings.Contains(got.Message, `"other" not found`) {
		t.Errorf("got %+v", got)
	}
}

// TestJobName: names are those of Pods, and different for each definition, attempt and check.
func TestJobName(t *testing.T) {
	seen := map[string]bool{}
	for _, definition := range []string{"a", strings.Repeat("a", 36) + ".bcdefgh", strings.Repeat("x", 253)} {
		for _, id := range []string{"one", "two"} {
			for n := range 2 {
				d := &unstructured.Unstructured{}
				d.SetName(definition)
				name := jobName(Step{AnalysisRequest: rollout.AnalysisRequest{ID: id}, Definition: d}, n)
				if len(name) > 52 || seen[name] || strings.Contains(name, "--") || strings.Contains(name, ".") {
					t.Errorf("%s", name)
				}
				seen[name] = true
			}
		}
	}
}

// TestOrder: a failed check comes before one that can't be evaluated.
func TestOrder(t *testing.T) {
	checks := []v1alpha1.ScriptAnalysis{{CEL: "parent.x == 1"}, {CEL: "1 > 0"}, {CEL: "1 > 2"}}
	for n, want := range []rollout.AnalysisResult{rollout.AnalysisPassed, rollout.AnalysisUnknown, rollout.AnalysisUnknown, rollout.AnalysisFailed} {
		got := newAnalyst().Analyze(t.Context(), Step{
			AnalysisRequest: rollout.AnalysisRequest{Step: 1}, Checks: checks[:n], Parents: []Parent{parent("x", 0, 0, map[string]any{})},
		})
		if got.Result != want {
			t.Errorf("%d checks: %+v", n, got)
		}
	}
}

// BenchmarkParents is what an analysis of 1000 parents with ten children each costs.
func BenchmarkParents(b *testing.B) {
	var parents []Parent
	for range 1000 {
		parents = append(parents, parent("x", 10, 10, status(3, 3)))
	}
	for b.Loop() {
		if o := checkParents(b.Context(), kept+" && "+ready, parents); o.result != rollout.AnalysisPassed {
			b.Fatal(o)
		}
	}
}

// BenchmarkValidate is what a reconcile of a definition costs more for each check.
func BenchmarkValidate(b *testing.B) {
	spec := &v1alpha1.ScriptRollout{Steps: []v1alpha1.ScriptRolloutStep{{Analysis: []v1alpha1.ScriptAnalysis{{CEL: kept + " && " + ready}}}}}
	for b.Loop() {
		if err := Validate(spec); err != nil {
			b.Fatal(err)
		}
	}
}
