package main

import (
	"context"
	"fmt"
	"regexp"
)

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
