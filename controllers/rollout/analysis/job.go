package analysis

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

var (
	jobs     = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	cronJobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}
)

// runJob returns how the Job of a check has ended, and makes it if there is none.
func (a *Analyst) runJob(ctx context.Context, s Step, n int) outcome {
	of := s.Checks[n].Job
	name := jobName(s, n)
	client := a.Client.Resource(jobs).Namespace(of.Namespace)
	job, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if job, err = a.jobFrom(ctx, s, of, name); err == nil {
			job, err = client.Create(ctx, job, metav1.CreateOptions{})
		}
	}
	if err != nil { // That another host has made it meanwhile is seen the next time.
		return unknown("Job %s/%s: %v", of.Namespace, name, err)
	}
	for _, c := range jsonvalue.Conditions(job.Object) {
		switch {
		case c["status"] != "True":
		case c["type"] == "Complete":
			return passed()
		case c["type"] == "Failed":
			return failed("Job %s/%s has failed: %v: %v", of.Namespace, name, c["reason"], c["message"])
		}
	}
	return pending("Job %s/%s has not ended yet", of.Namespace, name)
}

// jobName returns the name of the Job of a check, which is the same in each process, and another one in each attempt at the step.
func jobName(s Step, n int) string {
	const longest, hashed = 52, 5 // The names of Pods have some characters more.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", s.Definition.GetUID(), s.ID, n))
	prefix := strings.ReplaceAll(s.Definition.GetName(), ".", "-")
	prefix = strings.TrimRight(prefix[:min(len(prefix), longest-2*hashed-1)], "-")
	return fmt.Sprintf("%s-%x", prefix, sum[:hashed])
}

// jobFrom returns the Job of a CronJob for a step.
func (a *Analyst) jobFrom(ctx context.Context, s Step, of *v1alpha1.JobAnalysis, name string) (*unstructured.Unstructured, error) {
	cron, err := a.Client.Resource(cronJobs).Namespace(of.Namespace).Get(ctx, of.CronJob, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	template, _, err := unstructured.NestedMap(cron.Object, "spec", "jobTemplate") // A copy.
	if err != nil {
		return nil, err
	}
	given := &unstructured.Unstructured{Object: template}
	labels := map[string]string{}
	maps.Copy(labels, given.GetLabels())
	labels[v1alpha1.AnalysisLabel] = v1alpha1.AnalysisLabelValue(v1alpha1.UniqueName(s.Definition))
	job := &unstructured.Unstructured{Object: map[string]any{"spec": jsonvalue.ObjectIn(template, "spec")}}
	job.SetAPIVersion(jobs.GroupVersion().String())
	job.SetKind("Job")
	job.SetName(name)
	job.SetNamespace(of.Namespace)
	job.SetLabels(labels)
	job.SetAnnotations(given.GetAnnotations())
	job.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: s.Definition.GetAPIVersion(), Kind: s.Definition.GetKind(), Name: s.Definition.GetName(), UID: s.Definition.GetUID(),
	}})
	return job, unstructured.SetNestedField(job.Object, int64(s.JobsKept/time.Second), "spec", "ttlSecondsAfterFinished")
}
