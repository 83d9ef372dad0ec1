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
)

// getAll is how the demo shows where things stand.
func (d *demo) getAll(ctx context.Context) error {
	return d.kubectl(ctx, "get", "catsets,pods,pvc", "-n", demoNamespace)
}

func (d *demo) threePods(ctx context.Context) error {
	d.undoing("-f", catsetFile)
	if err := d.kubectl(ctx, "apply", "-f", catsetFile); err != nil {
		return err
	}
	if err := d.await(ctx, "three Pods are Ready, each with its claim", settled(3)); err != nil {
		return err
	}
	d.out.ok("three Pods are Ready, each with a claim of its own, %s after the CatSet was there", duration(settlingTime(d.watch.all(), 3)))
	if !inOrder(d.watch.all(), podNames(3)) {
		return errors.New("expected every Pod to be created after the one before was Ready; last seen: another order")
	}
	d.out.ok("each was created when the one before was Ready")
	return d.getAll(ctx)
}

func (d *demo) scale(ctx context.Context) error {
	before := fingerprints(d.watch.all(), podNames(3)...)
	if err := d.kubectl(ctx, "scale", "catset", "nginx", "-n", demoNamespace, "--replicas=5"); err != nil {
		return err
	}
	if err := d.await(ctx, "five Pods are Ready, each with its claim", settled(5)); err != nil {
		return err
	}
	d.out.ok("five Pods are Ready, %s after the CatSet said so", duration(settlingTime(d.watch.all(), 5)))
	if err := d.untouched(before); err != nil {
		return err
	}
	d.out.ok("the first three were not touched")
	return d.getAll(ctx)
}

func (d *demo) deletePod(ctx context.Context) error {
	const name = "nginx-1"
	others := fingerprints(d.watch.all(), "nginx-0", "nginx-2", "nginx-3", "nginx-4")
	claim := uid(d.watch.all(), claims, "www-"+name)
	gap, err := d.deleteAndAwait(ctx, name)
	if err != nil {
		return err
	}
	d.out.ok("%s is back and Ready, %s after it was gone", name, duration(gap))
	if now := uid(d.watch.all(), claims, "www-"+name); now != claim {
		return fmt.Errorf("expected the claim www-%s to be the one it was, %s; last seen: %s", name, claim, now)
	}
	if err := d.untouched(others); err != nil {
		return err
	}
	d.out.ok("its claim is the same one, and the other four Pods were not touched")
	return d.kubectl(ctx, "get", "pods", "-n", demoNamespace)
}

// deleteAndAwait deletes one of the five Pods and waits until there are five again. It returns how long the Pod was away.
func (d *demo) deleteAndAwait(ctx context.Context, name string) (time.Duration, error) {
	mark, old := d.watch.mark(), uid(d.watch.all(), pods, name)
	if err := d.kubectl(ctx, "delete", "pod", name, "-n", demoNamespace); err != nil {
		return 0, err
	}
	if err := d.await(ctx, "a new "+name+" is Ready", all(replaced(name, old), settled(5))); err != nil {
		return 0, err
	}
	return awayTime(d.watch.since(mark), name, old), nil
}

// untouched holds if the Pods are those of the fingerprints, to the last field.
func (d *demo) untouched(before map[string]string) error {
	now := d.watch.all()
	for name, expected := range before {
		if seen := fingerprints(now, name)[name]; seen != expected {
			return fmt.Errorf("expected Pod %s to be untouched, %s; last seen: %s", name, expected, seen)
		}
	}
	return nil
}

// editScript shows that a changed ConfigMap is all that a new behaviour needs.
func (d *demo) editScript(ctx context.Context) error {
	mark, log := d.watch.mark(), d.watch.all()
	oldRevision, oldPod := revision(log), uid(log, pods, "nginx-0")
	others := fingerprints(log, podNames(5)[1:]...)
	changed, err := leaderEdit.apply(d.good)
	if err != nil {
		return err
	}
	if err := d.applyScript(ctx, d.good, changed); err != nil {
		return err
	}
	d.good = changed
	live := all(newRevision(oldRevision), replaced("nginx-0", oldPod), leads("nginx-0"), settled(5))
	if err := d.await(ctx, "nginx-0 is made anew with the label role=leader", live); err != nil {
		return err
	}
	start, err := d.changedAt(ctx, changed)
	if err != nil {
		return err
	}
	d.out.times(editTimes(d.watch.since(mark), start, oldRevision, oldPod))
	if err := d.untouched(others); err != nil {
		return err
	}
	d.out.ok("the other four Pods come out the same, and were not touched")
	return d.kubectl(ctx, "get", "pods", "-n", demoNamespace, "-L", "role")
}

// breakScript shows that a script that does not load changes nothing but the condition.
func (d *demo) breakScript(ctx context.Context) error {
	broken, err := lostParenthesis.apply(d.good)
	if err != nil {
		return err
	}
	mark, before := d.watch.mark(), fingerprints(d.watch.all(), podNames(5)...)
	if err := d.applyScript(ctx, d.good, broken); err != nil {
		return err
	}
	position := regexp.MustCompile(fmt.Sprintf(`%s:%d:\d+: `, regexp.QuoteMeta(scriptName), lostParenthesis.line(d.good)))
	if err := d.await(ctx, "condition ScriptsReady is False and names "+position.String(), scriptsBroken(position)); err != nil {
		return err
	}
	start, err := d.changedAt(ctx, broken)
	if err != nil {
		return err
	}
	d.out.times(breakTimes(d.watch.since(mark), start, position))
	if err := d.showCondition(ctx); err != nil {
		return err
	}
	if err := d.untouched(before); err != nil {
		return err
	}
	d.out.ok("all five Pods are untouched: same UIDs, same resourceVersions")
	return d.stillWorks(ctx, position)
}

func (d *demo) showCondition(ctx context.Context) error {
	if err := d.kubectl(ctx, "get", "compositecontroller", controllerName); err != nil {
		return err
	}
	return d.kubectl(ctx, "get", "compositecontroller", controllerName, "-o", `jsonpath={.status.conditions[?(@.type=="ScriptsReady")].message}`)
}

// stillWorks deletes the leader, which only the edited script knows, while the newest script is broken.
func (d *demo) stillWorks(ctx context.Context, position *regexp.Regexp) error {
	others := fingerprints(d.watch.all(), podNames(5)[1:]...)
	gap, err := d.deleteAndAwait(ctx, "nginx-0")
	if err != nil {
		return err
	}
	if err := d.await(ctx, "the new nginx-0 has the label role=leader while the script is broken", all(leads("nginx-0"), scriptsBroken(position))); err != nil {
		return err
	}
	if err := d.untouched(others); err != nil {
		return err
	}
	d.out.ok("the last good revision still works: the leader is back, as leader, %s after it was gone", duration(gap))
	return nil
}

func (d *demo) mendScript(ctx context.Context) error {
	broken, err := lostParenthesis.apply(d.good)
	if err != nil {
		return err
	}
	mark, before := d.watch.mark(), fingerprints(d.watch.all(), podNames(5)...)
	if err := d.applyScript(ctx, broken, d.good); err != nil {
		return err
	}
	if err := d.await(ctx, "condition ScriptsReady is True again", definitionReady); err != nil {
		return err
	}
	start, err := d.changedAt(ctx, d.good)
	if err != nil {
		return err
	}
	d.out.times(mendTimes(d.watch.since(mark), start))
	if err := d.untouched(before); err != nil {
		return err
	}
	d.out.ok("no Pod was touched: the script is the one that served all the time")
	return d.kubectl(ctx, "get", "compositecontroller", controllerName)
}

// readScript returns the example's script.
func readScript() (string, error) {
	script, err := os.ReadFile(filepath.Join(exampleFolder, scriptName))
	if err != nil {
		return "", fmt.Errorf("script: %w", err)
	}
	return string(script), nil
}

// applyScript edits a copy of the script as its author would, and applies it. Only the ConfigMap changes.
func (d *demo) applyScript(ctx context.Context, before, after string) error {
	d.out.diff(diff(scriptName, before, after))
	path := filepath.Join(d.work, scriptName)
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		return fmt.Errorf("edited script: %w", err)
	}
	return d.kubectlPiped(ctx,
		[]string{"create", "configmap", configMapName, "-n", scriptNamespace, "--from-file=" + path, "--dry-run=client", "-o", "yaml"},
		[]string{"apply", "-f", "-"})
}

// changedAt is when the ConfigMap got the text, which is what the times of an edit are counted from. The audit log of the
// own control plane knows when the request came in. A borrowed cluster keeps such things to itself: there it is when the
// watch told of it, which may be a little late.
func (d *demo) changedAt(ctx context.Context, text string) (time.Time, error) {
	if d.borrowed() {
		return edited(d.watch.all(), text), nil
	}
	requests, err := d.cluster.Requests(ctx, 0, "kubectl")
	if err != nil {
		return time.Time{}, err
	}
	writes := requests.Of("", configMaps.Resource).In(scriptNamespace).Writes()
	if len(writes) == 0 {
		return time.Time{}, fmt.Errorf("audit log: no write of ConfigMap %s", configMapName)
	}
	return writes[len(writes)-1].Time, nil
}

// edited is when the ConfigMap was first seen with the text since it last had another.
func edited(log sightings, text string) time.Time {
	var since time.Time
	held := ""
	for _, s := range log {
		if !s.is(configMaps, configMapName) {
			continue
		}
		before := held
		held, _, _ = unstructured.NestedString(s.object.Object, "data", scriptName)
		if held == text && before != text {
			since = s.at
		}
	}
	return since
}

// await waits until what the watch has seen passes the check, for as long as the demo's limit allows.
func (d *demo) await(ctx context.Context, expected string, c check) error {
	return d.out.during("waiting until "+expected, func() error {
		ctx, cancel := context.WithTimeout(ctx, d.limit)
		defer cancel()
		seen, err := d.watch.await(ctx, c, d.libretto.Ended)
		if errors.Is(err, context.DeadlineExceeded) {
			return unmet{expected: expected, limit: d.limit, seen: seen}
		}
		if err != nil {
			return fmt.Errorf("expected %s: %w; last seen: %s", expected, err, seen)
		}
		return nil
	})
}
