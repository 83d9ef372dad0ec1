package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/steps"
)

const (
	canaryPod = "canary-0"
	canary    = `apiVersion: ctl.example.com/v1
kind: CatSet
metadata:
  name: canary
  namespace: ` + demoNamespace + `
  labels: {tier: canary}
spec:
  replicas: 1
  serviceName: canary
  selector:
    matchLabels: {app: canary}
  template:
    metadata:
      labels: {app: canary}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: nginx, image: "nginx:1.29-alpine"}
`
	// baseline is a policy of the cluster: no Pod of the namespace gets the network of its node.
	baseline = "pod-security.kubernetes.io/enforce=baseline"
	// canaryFirst is what the definition is to say of rollouts.
	canaryFirst = `{"spec": {"scriptRollout": {"steps": [{"selector": {"matchLabels": {"tier": "canary"}}}]}}}`
)

// rollBackScript shows an edit that reaches one CatSet, fails there, and is taken back.
func (d *demo) rollBackScript(ctx context.Context) error {
	if err := d.createCanary(ctx); err != nil {
		return err
	}
	if err := d.Kubectl().Run(ctx, "label", "namespace", demoNamespace, baseline); err != nil {
		return err
	}
	if err := d.Kubectl().Run(ctx, "patch", "compositecontroller", controllerName, "--type=merge", "-p", canaryFirst); err != nil {
		return err
	}
	if err := d.Await(ctx, "one revision serves both CatSets", rolloutComplete); err != nil {
		return err
	}
	refused, err := hostNetwork.apply(d.script)
	if err != nil {
		return err
	}
	mark, old := d.Watch.Mark(), uid(d.Watch.All(), pods, canaryPod)
	before := podVersions(d.Watch.All(), podNames(5)...)
	if _, _, err := d.changeScript(ctx, d.script, refused, "condition Progressing is False, with the reason RolledBack", rolledBack); err != nil {
		return err
	}
	back := steps.All(replaced(canaryPod, old), isLeader(canaryPod), podReady(canaryPod))
	if err := d.Await(ctx, "the canary has its Pod back, as its former text wants it", back); err != nil {
		return err
	}
	message := `jsonpath={.status.conditions[?(@.type=="Progressing")].message}`
	for _, args := range [][]string{{"get", "compositecontroller", controllerName}, {"get", "compositecontroller", controllerName, "-o", message}} {
		if err := d.Kubectl().Run(ctx, args...); err != nil {
			return err
		}
	}
	if err := d.untouched(before); err != nil {
		return err
	}
	d.Out.OKf("the canary was without its Pod for %s; the other five Pods never noticed", steps.Duration(downtime(d.Watch.Since(mark), canaryPod, old)))
	_, _, err = d.changeScript(ctx, refused, d.script, "one revision serves both CatSets", rolloutComplete)
	return err
}

// createCanary creates another CatSet, and waits for its Pod.
func (d *demo) createCanary(ctx context.Context) error {
	file := filepath.Join(d.WorkDir, "canary.yaml")
	if err := os.WriteFile(file, []byte(canary), 0o600); err != nil {
		return fmt.Errorf("canary: %w", err)
	}
	d.addCleanup("-f", file)
	if err := d.Kubectl().Run(ctx, "apply", "-f", file); err != nil {
		return err
	}
	return d.Await(ctx, "the canary has its Pod", podReady(canaryPod))
}

// podReady returns a check that passes if the Pod is Ready.
func podReady(name string) check {
	return func(log observations) (string, bool) {
		pod := log.Get(pods, name)
		return fmt.Sprintf("%s is there: %t", name, pod != nil), pod != nil && steps.IsReady(pod)
	}
}

// rolloutComplete passes if one revision of the scripts, the newest, serves all CatSets.
func rolloutComplete(log observations) (string, bool) {
	seen, ready := definitionReady(log)
	phase := rolloutPhase(log)
	return seen + ", phase " + phase, ready && phase == string(v1alpha1.ScriptsComplete)
}

// rolledBack passes if the newest revision was taken back.
func rolledBack(log observations) (string, bool) {
	definition := log.Get(composites, controllerName)
	if definition == nil {
		return "no definition", false
	}
	status, message := steps.Condition(definition, v1alpha1.ConditionProgressing)
	seen := describeHeld(definition) + ", phase " + rolloutPhase(log)
	return seen, status == "False" && rolloutPhase(log) == string(v1alpha1.ScriptsRolledBack) && strings.Contains(message, "taken back")
}

func rolloutPhase(log observations) string {
	definition := log.Get(composites, controllerName)
	if definition == nil {
		return ""
	}
	phase, _, _ := unstructured.NestedString(definition.Object, "status", "scriptRollout", "phase")
	return phase
}
