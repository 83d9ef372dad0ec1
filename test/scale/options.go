package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// options are the command line's.
type options struct {
	parents, children, payload int
	engine, apply              string
	runs                       int
	phases                     string
	idle, quiet                time.Duration
	parallel, workers, writes  int
	bin, compare, serveFlags   string
	hostCommand                string
	account                    bool
	subjects                   string
	output, profiles           string
	cold                       coldOptions
}

func (o *options) addTo(flags *flag.FlagSet) {
	flags.IntVar(&o.parents, "parents", 1000, "`number` of parents")
	flags.IntVar(&o.children, "children", 10, "`number` of children of each parent")
	flags.IntVar(&o.payload, "payload", 1500, "`bytes` of each child's data")
	flags.StringVar(&o.engine, "engine", engineJavaScript, "`engine` of the hook: "+strings.Join(engineNames, ", ")+
		". With webhook this program is the server; with none there is no definition, for a host that has the behaviour built in")
	flags.StringVar(&o.apply, "apply", applyDynamic, "how children are written: `strategy` "+applyDynamic+" or "+applyServerSide)
	flags.IntVar(&o.runs, "runs", 1, "`number` of runs, of which the medians are printed")
	flags.StringVar(&o.phases, "phases", strings.Join(phaseNames, ","), "comma-separated `phases`, in this order; create is always made")
	flags.DurationVar(&o.idle, "idle", 30*time.Second, "`time` that the phase idle takes")
	flags.DurationVar(&o.quiet, "quiet", 2*time.Second, "`time` for which a host does next to nothing and writes nothing before a phase is over")
	flags.IntVar(&o.parallel, "parallel", 16, "`number` of requests that this program has under way at once")
	flags.IntVar(&o.workers, "workers", 5, "`number` of parents that a host works on at once")
	flags.IntVar(&o.writes, "writes", 8, "`number` of writes for one parent that a host has under way at once")
	flags.StringVar(&o.bin, "bin", "", "`directory` of the libretto and libretto-worker to measure (default bin)")
	flags.StringVar(&o.compare, "compare", "", "`directory` of another libretto and libretto-worker to measure beside them")
	flags.StringVar(&o.serveFlags, "serve-flags", "", "more `flags` of libretto serve, separated by spaces")
	flags.StringVar(&o.hostCommand, "host-command", "", "`command` line of another host of the API group, to measure beside them; "+
		"KUBECONFIG is in its environment. Give it the limits that libretto has here: none on requests, -workers parents at once")
	flags.BoolVar(&o.account, "account", false, "measure libretto with definitions that name a ServiceAccount, too")
	flags.StringVar(&o.subjects, "subjects", "", "comma-separated `names` of what is measured, of direct, libretto, account, compared and host "+
		"(default all that there are)")
	flags.StringVar(&o.output, "o", "", "`file` for all measurements as JSON")
	flags.StringVar(&o.profiles, "profile", "", "`directory` for CPU and heap profiles of libretto, by subject, run and phase")
	o.cold.addTo(flags)
}

// check returns what is to be measured.
func (o *options) check() ([]subject, error) {
	if o.parents < 1 || o.children < 1 || o.payload < 0 || o.runs < 1 || o.parallel < 1 || o.workers < 1 || o.writes < 1 {
		return nil, errors.New("-parents, -children, -runs, -parallel, -workers and -writes must be at least 1, and -payload not below 0")
	}
	if !slices.Contains(engineNames, o.engine) {
		return nil, fmt.Errorf("-engine %q: must be one of %s", o.engine, strings.Join(engineNames, ", "))
	}
	if o.apply != applyDynamic && o.apply != applyServerSide {
		return nil, fmt.Errorf("-apply %q: must be %s or %s", o.apply, applyDynamic, applyServerSide)
	}
	for name := range strings.SplitSeq(o.phases, ",") {
		if !slices.Contains(phaseNames, name) {
			return nil, fmt.Errorf("-phases: %q: must be of %s", name, strings.Join(phaseNames, ", "))
		}
	}
	if err := o.cold.check(o.engine); err != nil {
		return nil, err
	}
	for _, path := range []*string{&o.output, &o.profiles, &o.bin, &o.compare} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return nil, err
		}
		*path = absolute
	}
	if o.bin == "" {
		binary, err := cluster.Binary("libretto")
		if err != nil {
			return nil, err
		}
		o.bin = filepath.Dir(binary)
	}
	if o.cold.definitions > 0 {
		return coldSubjects(o), nil
	}
	return o.selected()
}

// selected returns the subjects that there are and that are asked for.
func (o *options) selected() ([]subject, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	there := []subject{directSubject(own, o)}
	if o.engine != engineNone {
		there = append(there, librettoSubject(librettoName, o.bin, o))
		if o.account {
			there = append(there, librettoSubject(librettoName, o.bin, o).withAccount())
		}
		if o.compare != "" {
			there = append(there, librettoSubject(comparedName, o.compare, o))
		}
	}
	if o.hostCommand != "" {
		there = append(there, hostSubject(o.hostCommand))
	}
	if o.subjects == "" {
		return there, nil
	}
	var chosen []subject
	for name := range strings.SplitSeq(o.subjects, ",") {
		at := slices.IndexFunc(there, func(s subject) bool { return s.name == name })
		if at < 0 {
			return nil, fmt.Errorf("-subjects: there is no %q with these flags", name)
		}
		chosen = append(chosen, there[at])
	}
	return chosen, nil
}

// has reports whether a phase is asked for.
func (o *options) has(phase string) bool { return slices.Contains(strings.Split(o.phases, ","), phase) }
