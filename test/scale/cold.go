package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/quota"
	"github.com/libretto-k8s/libretto/test/steps"
)

// coldOptions are those of another measurement: many definitions, each with its scripts and a parent in a namespace of its own, are there when
// the host starts.
type coldOptions struct {
	definitions int
	trust       string
	cpus        float64
	liftAfter   time.Duration
	limit       time.Duration
}

func (o *coldOptions) addTo(flags *flag.FlagSet) {
	flags.IntVar(&o.definitions, "definitions", 0, "`number` of definitions in as many namespaces that a host finds when it starts. "+
		"Nothing else is measured then: until all are Ready and their parents are synced, with each of -trust")
	flags.StringVar(&o.trust, "trust", "shared,namespace", "comma-separated `values` of --script-trust, with -definitions")
	flags.Float64Var(&o.cpus, "cpus", 0, "`number` of processors that host and workers have together, with -definitions. "+
		"It takes a cgroup, version 1 or 2, and the right to make one (default no limit)")
	flags.DurationVar(&o.liftAfter, "lift-after", 2*time.Minute, "`time` after which the limit of -cpus is lifted")
	flags.DurationVar(&o.limit, "limit", 10*time.Minute, "`time` after which a host is given up, with -definitions")
}

func (o *coldOptions) check(engine string) error {
	switch {
	case o.definitions < 0 || o.cpus < 0:
		return errors.New("-definitions and -cpus must not be negative")
	case o.definitions == 0 && o.cpus > 0:
		return errors.New("-cpus needs -definitions")
	case o.definitions == 0:
		return nil
	case o.liftAfter <= 0 || o.limit <= 0:
		return errors.New("-lift-after and -limit must be above 0")
	case !isScript(engine):
		return fmt.Errorf("-definitions: their hooks are scripts, and not of -engine %s", engine)
	}
	return nil
}

// coldSubjects returns libretto, and the one to compare with, with each kind of trust.
func coldSubjects(o *options) []subject {
	dirs := map[string]string{librettoName: o.bin, comparedName: o.compare}
	var all []subject
	for _, name := range []string{librettoName, comparedName} {
		for trust := range strings.SplitSeq(o.cold.trust, ",") {
			if dirs[name] == "" {
				continue
			}
			s := librettoSubject(name, dirs[name], o)
			s.args = append(s.args, "--script-trust="+trust)
			s.name, s.why = name+" "+trust, strings.Join(s.args[1:], " ")
			all = append(all, s)
			if o.account && name == librettoName {
				all = append(all, s.withAccount())
			}
		}
	}
	return all
}

// coldProgram returns a step for each subject and run, and the one that prints the results.
func coldProgram(out *steps.Report, o *options, subjects []subject) steps.Program {
	all := newColdResults(o, subjects)
	title := fmt.Sprintf("%d definitions in as many namespaces, from the start of the host", o.cold.definitions)
	if o.cold.cpus > 0 {
		title += fmt.Sprintf(", which has %g processors for %s at most", o.cold.cpus, o.cold.liftAfter)
	}
	p := steps.Program{
		Title:   title,
		Log:     func() string { return all.log },
		Close:   func(context.Context) error { return nil },
		Reading: [][2]string{{"docs/design/engines/speed.md", "what was measured"}},
	}
	for run := range o.runs {
		for at, s := range subjects {
			p.Steps = append(p.Steps, steps.Step{
				Title: fmt.Sprintf("%s, run %d of %d", s.name, run+1, o.runs),
				Why:   s.why,
				Run: func(ctx context.Context) error {
					c := &coldScene{out: out, options: o, subject: s}
					m, err := c.measure(ctx)
					if all.log = c.log; err != nil {
						return err
					}
					out.OKf("%s", m.text(o.cold.definitions))
					return all.add(at, m)
				},
			})
		}
	}
	p.Steps = append(p.Steps, steps.Step{
		Title: "Results",
		Why:   "Medians of the runs. CPU is that of the host / of its workers.",
		Run:   func(context.Context) error { return all.print(out) },
	})
	return p
}

// coldScene is a subject with a control plane of its own, on which all objects are before it starts.
type coldScene struct {
	out     *steps.Report
	options *options
	subject subject
	log     string // Of the host, once it has ended.
	cluster *cluster.Cluster
	quota   *quota.Quota // nil without a limit.
	host    *host
}

func (c *coldScene) measure(ctx context.Context) (m coldMeasurement, err error) {
	defer func() {
		if c.host != nil {
			c.log = c.host.log()
		}
		err = errors.Join(err, c.close())
	}()
	if err := c.out.WithProgress("applying the objects", func() error { return c.start(ctx) }); err != nil {
		return m, err
	}
	err = c.out.WithProgress(c.subject.name, func() (err error) {
		m, err = c.run(ctx)
		return err
	})
	return m, err
}

// start starts the control plane, and applies all objects.
func (c *coldScene) start(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit+c.options.cold.limit)
	defer cancel()
	if c.cluster, err = cluster.Start(ctx, cluster.Options{}); err != nil {
		return err
	}
	if err := c.cluster.Install(ctx); err != nil {
		return err
	}
	if err := c.cluster.Apply(ctx, namespace, setUp()...); err != nil {
		return err
	}
	for i := range c.options.cold.definitions {
		if err := c.cluster.Apply(ctx, tenantName(i), tenant(i, c.options, c.subject.account)...); err != nil {
			return err
		}
	}
	return nil
}

// run starts the host and waits until all is done.
func (c *coldScene) run(ctx context.Context) (m coldMeasurement, err error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	done, err := watchTenants(watching, c.cluster.Config, c.options.cold.definitions)
	if err != nil {
		return m, err
	}
	s := c.subject
	if cpus := c.options.cold.cpus; cpus > 0 {
		if c.quota, err = quota.New(cpus); err != nil {
			return m, fmt.Errorf("-cpus: %w", err)
		}
		s.args = c.quota.Inside(s.args)
	}
	began := time.Now()
	if c.host, err = launchHost(s, c.cluster.Kubeconfig, filepath.Join(c.cluster.Dir, "host.log")); err != nil {
		return m, err
	}
	meter, err := startMeter(c.host.PID(), c.cluster.PID(), began)
	if err != nil {
		return m, err
	}
	lifted, err := c.wait(ctx, done, began)
	if err = errors.Join(err, meter.end(&m.measurement)); err != nil {
		return m, err
	}
	m.setTimes(done.times(), began, lifted, c.options.cold.definitions)
	if err := c.quota.Lift(); err != nil { // The metrics are many.
		return m, err
	}
	return m, m.readMetrics(ctx, c.host)
}

// wait waits until all tenants are done, or for the limit. It returns when the quota was lifted, or zero.
func (c *coldScene) wait(ctx context.Context, done *tenants, began time.Time) (lifted time.Time, err error) {
	err = poll(ctx, 20*time.Millisecond, func() (bool, error) {
		if c.host.Ended() {
			return false, fmt.Errorf("%s has ended", c.subject.name)
		}
		took := time.Since(began)
		if done.all() || took > c.options.cold.limit {
			return true, nil
		}
		if c.quota != nil && lifted.IsZero() && took > c.options.cold.liftAfter {
			lifted = time.Now()
			return false, c.quota.Lift()
		}
		return false, nil
	})
	return lifted, err
}

// close ends what was started, in the opposite order.
func (c *coldScene) close() error {
	var errs []error
	if c.host != nil {
		errs = append(errs, c.host.stop())
	}
	if c.quota != nil {
		errs = append(errs, c.quota.Remove())
	}
	if c.cluster != nil {
		errs = append(errs, c.cluster.Stop())
	}
	return errors.Join(errs...)
}
