package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/steps"
)

// The phases.
const (
	phaseBase      = "base" // What is used before there are objects.
	phaseCreate    = "create"
	phaseUpdate    = "update"
	phaseTouch     = "touch"      // An annotation that the hook does not read.
	phaseTouchRead = "touch-read" // One that it reads, with no effect.
	phaseIdle      = "idle"
	phaseRestart   = "restart"
)

var phaseNames = []string{phaseCreate, phaseUpdate, phaseTouch, phaseTouchRead, phaseIdle, phaseRestart}

const (
	// startLimit is how long a control plane may take to start.
	startLimit = 90 * time.Second
	// standstill is how long a host may write nothing though there is something to write.
	standstill = 2 * time.Minute
	// startQuiet is how long a host must make no requests after its start.
	startQuiet = 3 * time.Second
)

// scene is a subject with a control plane of its own.
type scene struct {
	out     *steps.Report
	options *options
	subject subject
	run     int
	cluster *cluster.Cluster
	driver  *driver
	webhook *webhook // nil with another engine.
	host    *host
}

// measure makes all phases with one subject.
func measure(ctx context.Context, out *steps.Report, o *options, s subject, run int, all *results) (err error) {
	c := &scene{out: out, options: o, subject: s, run: run}
	defer func() {
		if err != nil && c.host != nil {
			all.log = c.host.log()
		}
		err = errors.Join(err, c.close())
	}()
	if err := c.start(ctx); err != nil {
		return err
	}
	for _, phase := range append([]string{phaseBase}, phaseNames...) {
		if phase != phaseBase && phase != phaseCreate && !o.has(phase) || !c.applies(phase) {
			continue
		}
		var m measurement
		err := out.WithProgress(s.name+": "+phase, func() (err error) {
			m, err = c.phase(ctx, phase)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", phase, err)
		}
		m.Phase = phase
		out.OKf("%s: %s", phase, m)
		if err := all.add(s, run, m); err != nil {
			return err
		}
	}
	return nil
}

// applies reports whether a phase says something of the subject.
func (c *scene) applies(phase string) bool {
	switch phase {
	case phaseTouchRead:
		return c.subject.direct || isScript(c.options.engine)
	case phaseIdle:
		return !c.subject.direct
	}
	return true
}

// start starts the control plane and the subject.
func (c *scene) start(ctx context.Context) (err error) {
	starting, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if c.cluster, err = cluster.Start(starting, cluster.Options{}); err != nil {
		return err
	}
	if err := c.cluster.Install(starting); err != nil {
		return err
	}
	if err := c.cluster.Apply(starting, namespace, setUp()...); err != nil {
		return err
	}
	if c.options.engine == engineWebhook {
		if c.webhook, err = startWebhook(); err != nil {
			return err
		}
	}
	if c.options.engine != engineNone {
		if err := c.define(starting, false); err != nil {
			return err
		}
	}
	if c.driver, err = newDriver(c.cluster.Config, c.options); err != nil {
		return err
	}
	if err := c.startHost(ctx, "host.log"); err != nil {
		return err
	}
	if err := c.driver.warmUp(ctx); err != nil {
		return err
	}
	return c.awaitSilence(ctx)
}

// awaitSilence returns when the host makes no requests any more: libretto looks through all resources after its start, a little at a time.
func (c *scene) awaitSilence(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, standstill)
	defer cancel()
	mark, err := c.cluster.Mark(ctx)
	if err != nil {
		return err
	}
	made, changed := -1, time.Now()
	return poll(ctx, time.Second/2, func() (bool, error) {
		requests, err := c.cluster.Requests(ctx, mark, "")
		if now := len(ofHost(requests)); now != made {
			made, changed = now, time.Now()
		}
		return time.Since(changed) > startQuiet, err
	})
}

func (c *scene) startHost(ctx context.Context, logFile string) (err error) {
	c.host, err = startHost(ctx, c.subject, c.cluster.Kubeconfig, filepath.Join(c.cluster.Dir, logFile))
	return err
}

// close ends what was started, in the opposite order.
func (c *scene) close() error {
	var errs []error
	if c.host != nil {
		errs = append(errs, c.host.stop())
	}
	if c.webhook != nil {
		errs = append(errs, c.webhook.stop())
	}
	if c.cluster != nil {
		errs = append(errs, c.cluster.Stop())
	}
	return errors.Join(errs...)
}

// phase makes a phase.
func (c *scene) phase(ctx context.Context, name string) (measurement, error) {
	d := c.driver
	switch name {
	case phaseBase:
		return c.measure(ctx, name, func(context.Context) error { return nil }, 0)
	case phaseCreate:
		return c.measure(ctx, name, func(ctx context.Context) error { return d.each(ctx, d.create) }, c.children())
	case phaseUpdate:
		return c.measure(ctx, name, func(ctx context.Context) error { return d.each(ctx, d.update) }, c.children())
	case phaseTouch:
		return c.measure(ctx, name, func(ctx context.Context) error { return d.each(ctx, d.touch) }, 0)
	case phaseTouchRead:
		if err := c.readTouches(ctx); err != nil {
			return measurement{}, err
		}
		return c.measure(ctx, name, func(ctx context.Context) error { return d.each(ctx, d.touch) }, 0)
	case phaseIdle:
		return c.measure(ctx, name, c.idle, 0)
	}
	if c.subject.direct {
		return c.list(ctx)
	}
	return c.restart(ctx)
}

func (c *scene) children() int { return c.options.parents * c.options.children }

// idle passes the time.
func (c *scene) idle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.options.idle):
		return nil
	}
}

// define applies the definition, whose hook may read the annotation of the phases touch and touch-read, and the account that it names.
func (c *scene) define(ctx context.Context, readsTouches bool) error {
	address := ""
	if c.webhook != nil {
		address = c.webhook.address()
	}
	controller := definition(hook(c.options.engine, readsTouches, address))
	objects := []*unstructured.Unstructured{controller}
	if c.subject.account {
		objects = append(withAccount(controller, namespace, warmUpNamespace), controller)
	}
	return c.cluster.Apply(ctx, namespace, objects...)
}

// readTouches has the hook read the annotation, and returns when the host has settled with it.
func (c *scene) readTouches(ctx context.Context) error {
	if c.subject.direct {
		return nil
	}
	if err := c.define(ctx, true); err != nil {
		return err
	}
	_, err := c.measure(ctx, "", c.passQuiet, 0)
	return err
}

// passQuiet waits for what a host does a little later.
func (c *scene) passQuiet(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.options.quiet):
		return nil
	}
}

// measure makes requests, and returns what they cost until the host has settled and has written so many children.
func (c *scene) measure(ctx context.Context, phase string, requests func(context.Context) error, children int) (measurement, error) {
	mark, err := c.cluster.Mark(ctx)
	if err != nil {
		return measurement{}, err
	}
	calls, err := c.hookCalls(ctx)
	if err != nil {
		return measurement{}, err
	}
	profile := c.startProfile(ctx, phase)
	meter, err := startMeter(c.host.PID(), c.cluster.PID(), time.Time{})
	if err != nil {
		return measurement{}, err
	}
	begin := time.Now()
	err = requests(ctx)
	driven := time.Now()
	if err == nil {
		err = c.settle(ctx, meter, mark, children)
	}
	m, busy, made, err := c.conclude(ctx, profile, meter, mark, calls, err)
	if err != nil {
		return measurement{}, err
	}
	if m.Failed > 0 && c.subject.direct {
		return measurement{}, fmt.Errorf("of the direct writes %d failed, the first was: %s", m.Failed, failed(made)[0])
	}
	m.Driven = driven.Sub(begin).Seconds()
	m.Settled = busy.Sub(begin).Seconds()
	// A host that has nothing to write is done when it is quiet.
	end := maxTime(driven, busy)
	if children > 0 {
		end = lastWrite(made, driven)
	}
	m.Wall = end.Sub(begin).Seconds()
	return m, nil
}

// conclude ends a measurement, of which err is the outcome. It returns what it cost without times, when the host was busy last, and the
// requests since the mark. calls is the number of hook calls before.
func (c *scene) conclude(
	ctx context.Context, profile *profiling, meter *meter, mark cluster.Mark, calls int, err error,
) (m measurement, busy time.Time, made cluster.Requests, failure error) {
	busy, busyErr := meter.lastBusy()
	if err := errors.Join(err, busyErr, meter.end(&m), profile.end(ctx)); err != nil {
		return measurement{}, time.Time{}, nil, err
	}
	after, err := c.hookCalls(ctx)
	if err != nil {
		return measurement{}, time.Time{}, nil, err
	}
	if made, err = c.cluster.Requests(ctx, mark, ""); err != nil {
		return measurement{}, time.Time{}, nil, err
	}
	made = ofHost(made)
	m.HookCalls, m.Requests, m.Failed = after-calls, count(made), len(failed(made))
	return m, busy, made, nil
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settle returns when the host does nothing any more and has written so many children since the mark. It looks at the requests only when
// the host is quiet, so that it takes nothing from it.
func (c *scene) settle(ctx context.Context, meter *meter, mark cluster.Mark, children int) error {
	written, changed := -1, time.Now()
	var next time.Time // Not before it the requests are looked at again: that takes a second if there are a hundred thousand.
	return poll(ctx, time.Second/4, func() (bool, error) {
		if c.host.Ended() {
			return false, fmt.Errorf("%s has ended", c.subject.name)
		}
		busy, err := meter.lastBusy()
		if done := time.Since(busy) > c.options.quiet; !done || err != nil || children == 0 {
			return done, err
		}
		if time.Now().Before(next) {
			return false, nil
		}
		looked := time.Now()
		made, err := c.cluster.Requests(ctx, mark, "")
		if err != nil {
			return false, err
		}
		next = time.Now().Add(max(time.Second, 2*time.Since(looked)))
		made = ofHost(made)
		now := writtenChildren(made)
		if now != written {
			written, changed = now, time.Now()
		}
		if time.Since(changed) > standstill {
			return false, fmt.Errorf("%s stands still: it has written %d of %d children", c.subject.name, written, children)
		}
		return now >= children && time.Since(lastWrite(made, time.Time{})) > c.options.quiet, nil
	})
}

// hookCalls counts the calls so far.
func (c *scene) hookCalls(ctx context.Context) (int, error) {
	if c.webhook != nil {
		return int(c.webhook.calls.Load()), nil
	}
	return c.host.hookCalls(ctx)
}

// restart stops the host and starts it again.
func (c *scene) restart(ctx context.Context) (measurement, error) {
	if err := c.host.stop(); err != nil {
		return measurement{}, err
	}
	mark, err := c.cluster.Mark(ctx)
	if err != nil {
		return measurement{}, err
	}
	calls := 0
	if c.webhook != nil {
		calls = int(c.webhook.calls.Load())
	}
	begin := time.Now()
	if err := c.startHost(ctx, "restarted.log"); err != nil {
		return measurement{}, err
	}
	profile := c.startProfile(ctx, phaseRestart)
	meter, err := startMeter(c.host.PID(), c.cluster.PID(), begin)
	if err != nil {
		return measurement{}, err
	}
	filled, err := c.filled(ctx)
	if err == nil {
		err = c.settle(ctx, meter, mark, 0)
	}
	m, busy, _, err := c.conclude(ctx, profile, meter, mark, calls, err)
	if err != nil {
		return measurement{}, err
	}
	m.Settled = busy.Sub(begin).Seconds()
	m.Wall = m.Settled
	if c.subject.libretto {
		m.Filled = filled.Sub(begin).Seconds()
		m.Wall = m.Filled
	}
	return m, nil
}

// filled returns when libretto has made its first pass, for which its caches have to be filled. Of another host it is not known.
func (c *scene) filled(ctx context.Context) (time.Time, error) {
	if !c.subject.libretto {
		return time.Now(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, standstill)
	defer cancel()
	err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
		metrics, err := c.host.metrics(ctx)
		return metrics.Sum("libretto_definition_reconcile_total", map[string]string{"definition": definitionName}) > 0, err
	})
	return time.Now(), err
}

// list lists all objects with a process that does nothing else.
func (c *scene) list(ctx context.Context) (measurement, error) {
	command := exec.CommandContext(ctx, c.subject.args[0], listRole)
	command.Env = append(command.Environ(), "KUBECONFIG="+c.cluster.Kubeconfig)
	out, err := command.Output()
	if err != nil {
		return measurement{}, fmt.Errorf("list: %w", err)
	}
	var l listing
	if err := json.Unmarshal(out, &l); err != nil {
		return measurement{}, fmt.Errorf("list: %w", err)
	}
	return measurement{Wall: l.Wall, HostCPU: l.CPU, HostPeak: l.Peak, Requests: map[string]int{"list all": 2}}, nil
}
