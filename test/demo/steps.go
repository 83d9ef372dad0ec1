package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/steps"
)

// getAll prints the CatSet, its Pods and claims.
func (d *demo) getAll(ctx context.Context) error {
	return d.Kubectl().Run(ctx, "get", "catsets,pods,pvc", "-n", demoNamespace)
}

func (d *demo) threePods(ctx context.Context) error {
	d.addCleanup("-f", catsetFile)
	if err := d.Kubectl().Run(ctx, "apply", "-f", catsetFile); err != nil {
		return err
	}
	if err := d.Await(ctx, "three Pods are Ready, each with its claim", allReady(3)); err != nil {
		return err
	}
	d.Out.OKf("three Pods are Ready, each with a claim of its own, %s after the CatSet was there", steps.Duration(settlingTime(d.Watch.All(), 3)))
	if !inOrder(d.Watch.All(), podNames(3)) {
		return errors.New("expected every Pod to be created after the one before was Ready; last seen: another order")
	}
	d.Out.OKf("each was created when the one before was Ready")
	return d.getAll(ctx)
}

func (d *demo) scale(ctx context.Context) error {
	before := podVersions(d.Watch.All(), podNames(3)...)
	if err := d.Kubectl().Run(ctx, "scale", "catset", "nginx", "-n", demoNamespace, "--replicas=5"); err != nil {
		return err
	}
	if err := d.Await(ctx, "five Pods are Ready, each with its claim", allReady(5)); err != nil {
		return err
	}
	d.Out.OKf("five Pods are Ready, %s after the CatSet said so", steps.Duration(settlingTime(d.Watch.All(), 5)))
	if err := d.untouched(before); err != nil {
		return err
	}
	d.Out.OKf("the first three were not touched")
	return d.getAll(ctx)
}

func (d *demo) deletePod(ctx context.Context) error {
	const name = "nginx-1"
	others := podVersions(d.Watch.All(), "nginx-0", "nginx-2", "nginx-3", "nginx-4")
	claim := uid(d.Watch.All(), claims, "www-"+name)
	gap, err := d.deleteAndAwait(ctx, name)
	if err != nil {
		return err
	}
	d.Out.OKf("%s is back and Ready, %s after it was gone", name, steps.Duration(gap))
	if now := uid(d.Watch.All(), claims, "www-"+name); now != claim {
		return fmt.Errorf("expected the claim www-%s to be the one it was, %s; last seen: %s", name, claim, now)
	}
	if err := d.untouched(others); err != nil {
		return err
	}
	d.Out.OKf("its claim is the same one, and the other four Pods were not touched")
	return d.Kubectl().Run(ctx, "get", "pods", "-n", demoNamespace)
}

// deleteAndAwait deletes one of five Pods and waits for the new one. It returns how long there was no Ready Pod.
func (d *demo) deleteAndAwait(ctx context.Context, name string) (time.Duration, error) {
	mark, old := d.Watch.Mark(), uid(d.Watch.All(), pods, name)
	// kubectl would wait for the name to be gone, and for ever if a new Pod has it before kubectl looks.
	if err := d.Kubectl().Run(ctx, "delete", "pod", name, "-n", demoNamespace, "--wait=false"); err != nil {
		return 0, err
	}
	if err := d.Await(ctx, "a new "+name+" is Ready", steps.All(replaced(name, old), allReady(5))); err != nil {
		return 0, err
	}
	return downtime(d.Watch.Since(mark), name, old), nil
}

// untouched returns an error if a Pod has another UID or version than before.
func (d *demo) untouched(before map[string]string) error {
	now := d.Watch.All()
	for name, expected := range before {
		if seen := podVersions(now, name)[name]; seen != expected {
			return fmt.Errorf("expected Pod %s to be untouched, %s; last seen: %s", name, expected, seen)
		}
	}
	return nil
}

// editScript changes the behaviour by changing the ConfigMap.
func (d *demo) editScript(ctx context.Context) error {
	log := d.Watch.All()
	oldRevision, oldPod := revision(log), uid(log, pods, "nginx-0")
	others := podVersions(log, podNames(5)[1:]...)
	changed, err := leaderEdit.apply(d.script)
	if err != nil {
		return err
	}
	live := steps.All(newRevision(oldRevision), replaced("nginx-0", oldPod), isLeader("nginx-0"), allReady(5))
	since, start, err := d.changeScript(ctx, d.script, changed, "nginx-0 is made anew with the label role=leader", live)
	if err != nil {
		return err
	}
	d.script = changed
	d.timings(editTimes(since, start, oldRevision, oldPod))
	if err := d.untouched(others); err != nil {
		return err
	}
	d.Out.OKf("the other four Pods come out the same, and were not touched")
	return d.Kubectl().Run(ctx, "get", "pods", "-n", demoNamespace, "-L", "role")
}

// breakScript shows that an invalid script changes only the condition.
func (d *demo) breakScript(ctx context.Context) error {
	broken, err := missingParenthesis.apply(d.script)
	if err != nil {
		return err
	}
	before := podVersions(d.Watch.All(), podNames(5)...)
	position := regexp.MustCompile(fmt.Sprintf(`%s:%d:\d+: `, regexp.QuoteMeta(scriptName), missingParenthesis.line(d.script)))
	expected := "condition ScriptsReady is False and names " + position.String()
	since, start, err := d.changeScript(ctx, d.script, broken, expected, scriptsBroken(position))
	if err != nil {
		return err
	}
	d.timings(breakTimes(since, start, position))
	if err := d.Kubectl().Run(ctx, "get", "compositecontroller", controllerName); err != nil {
		return err
	}
	message := `jsonpath={.status.conditions[?(@.type=="ScriptsReady")].message}`
	if err := d.Kubectl().Run(ctx, "get", "compositecontroller", controllerName, "-o", message); err != nil {
		return err
	}
	if err := d.untouched(before); err != nil {
		return err
	}
	d.Out.OKf("all five Pods are untouched: same UIDs, same resourceVersions")
	return d.deleteLeader(ctx, position)
}

// deleteLeader deletes the leader while the newest script is invalid. Only the edited script makes a leader.
func (d *demo) deleteLeader(ctx context.Context, position *regexp.Regexp) error {
	others := podVersions(d.Watch.All(), podNames(5)[1:]...)
	gap, err := d.deleteAndAwait(ctx, "nginx-0")
	if err != nil {
		return err
	}
	expected := "the new nginx-0 has the label role=leader while the script is broken"
	if err := d.Await(ctx, expected, steps.All(isLeader("nginx-0"), scriptsBroken(position))); err != nil {
		return err
	}
	if err := d.untouched(others); err != nil {
		return err
	}
	d.Out.OKf("the last good revision still works: the leader is back, as leader, %s after it was gone", steps.Duration(gap))
	return nil
}

func (d *demo) repairScript(ctx context.Context) error {
	broken, err := missingParenthesis.apply(d.script)
	if err != nil {
		return err
	}
	before := podVersions(d.Watch.All(), podNames(5)...)
	since, start, err := d.changeScript(ctx, broken, d.script, "condition ScriptsReady is True again", definitionReady)
	if err != nil {
		return err
	}
	d.timings(repairTimes(since, start))
	if err := d.untouched(before); err != nil {
		return err
	}
	d.Out.OKf("no Pod was touched: the script is the one that served all the time")
	return d.Kubectl().Run(ctx, "get", "compositecontroller", controllerName)
}

// holdScript shows that an edit that would delete most children does not take over, and is forgotten once it is taken back.
func (d *demo) holdScript(ctx context.Context) error {
	harmful, err := missingLetter.apply(d.script)
	if err != nil {
		return err
	}
	before := podVersions(d.Watch.All(), podNames(5)...)
	since, start, err := d.changeScript(ctx, d.script, harmful, "condition Progressing is False and says what would be deleted", scriptsHeld)
	if err != nil {
		return err
	}
	d.timings(holdTimes(since, start))
	if err := d.Kubectl().Run(ctx, "get", "compositecontroller", controllerName); err != nil {
		return err
	}
	message := `jsonpath={.status.conditions[?(@.type=="Progressing")].message}`
	if err := d.Kubectl().Run(ctx, "get", "compositecontroller", controllerName, "-o", message); err != nil {
		return err
	}
	if err := d.untouched(before); err != nil {
		return err
	}
	d.Out.OKf("all five Pods are untouched")
	if _, _, err := d.changeScript(ctx, harmful, d.script, "no edit is held any more", noEditHeld); err != nil {
		return err
	}
	return d.untouched(before)
}

// readScript returns the example's script.
func readScript() (string, error) {
	script, err := os.ReadFile(filepath.Join(exampleFolder, scriptName))
	if err != nil {
		return "", fmt.Errorf("script: %w", err)
	}
	return string(script), nil
}

// changeScript applies an edited script and waits for a check. It returns the observations since, and when the ConfigMap
// was changed.
func (d *demo) changeScript(ctx context.Context, before, after, expected string, c check) (log observations, start time.Time, err error) {
	mark := d.Watch.Mark()
	if err := d.applyScript(ctx, before, after); err != nil {
		return nil, time.Time{}, err
	}
	if err := d.Await(ctx, expected, c); err != nil {
		return nil, time.Time{}, err
	}
	start, err = d.changedAt(ctx, after)
	return d.Watch.Since(mark), start, err
}

// applyScript writes the edited script and applies it as a ConfigMap.
func (d *demo) applyScript(ctx context.Context, before, after string) error {
	d.diff(diff(scriptName, before, after))
	path := filepath.Join(d.WorkDir, scriptName)
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		return fmt.Errorf("edited script: %w", err)
	}
	return d.Kubectl().RunPiped(ctx,
		[]string{"create", "configmap", configMapName, "-n", scriptNamespace, "--from-file=" + path, "--dry-run=client", "-o", "yaml"},
		[]string{"apply", "-f", "-"})
}

// changedAt returns when the ConfigMap got the text: the time of the request in the audit log or, on an external cluster,
// the time of the watch event.
func (d *demo) changedAt(ctx context.Context, text string) (time.Time, error) {
	if d.external() {
		return editedAt(d.Watch.All(), text), nil
	}
	requests, err := d.Cluster.Requests(ctx, 0, "kubectl")
	if err != nil {
		return time.Time{}, err
	}
	writes := requests.Of("", configMaps.Resource).In(scriptNamespace).Writes()
	if len(writes) == 0 {
		return time.Time{}, fmt.Errorf("audit log: no write of ConfigMap %s", configMapName)
	}
	return writes[len(writes)-1].Time, nil
}

// editedAt returns when the ConfigMap was first observed with the text after its last other text.
func editedAt(log observations, text string) time.Time {
	var since time.Time
	held := ""
	for _, s := range log {
		if !s.Is(configMaps, configMapName) {
			continue
		}
		before := held
		held, _, _ = unstructured.NestedString(s.Object.Object, "data", scriptName)
		if held == text && before != text {
			since = s.At
		}
	}
	return since
}
