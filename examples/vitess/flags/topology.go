package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// machine runs on this machine what the operator wants to run in a cluster.
type machine struct {
	*places
	out       io.Writer
	programs  map[string]string
	processes []*process
}

// tryTopology starts the topology servers, runs the Jobs, starts vtctld, vtgate and vtorc, asks them what they have read, and takes all
// back with the Jobs of the finalize hooks.
func tryTopology(ctx context.Context, out io.Writer, programs map[string]string, t *tree) error {
	p, err := newPlaces(t)
	if err != nil {
		return err
	}
	m := &machine{places: p, out: out, programs: programs}
	defer m.stop()
	fmt.Fprintln(out, "\nTopology: rendered command lines on this machine, with only addresses, ports and paths replaced")
	if err := m.startAll(ctx, "StatefulSet", "etcd"); err != nil {
		return err
	}
	if err := m.runJobs(ctx, t.of("Job")); err != nil {
		return err
	}
	for _, program := range []string{"vtctld", "vtgate", "vtorc"} {
		if err := m.startAll(ctx, "Deployment", program); err != nil {
			return err
		}
	}
	if err := m.checkTopology(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nDeletion: the Jobs of the finalize hooks")
	if err := m.runJobs(ctx, t.undo); err != nil {
		return err
	}
	return m.checkEmpty(ctx)
}

func (m *machine) stop() {
	for _, p := range slices.Backward(m.processes) {
		p.stop()
	}
	os.RemoveAll(m.directory)
}

// startAll starts what runs a program, and waits until the readiness probes pass that the operator wrote. A StatefulSet starts all its
// Pods, a Deployment one.
func (m *machine) startAll(ctx context.Context, kind, program string) error {
	owners := workloadsOf(m.tree, kind, program)
	if len(owners) == 0 {
		return fmt.Errorf("no %s runs %s", kind, program)
	}
	type started struct {
		*process
		probe string
	}
	var all []started
	begin := time.Now()
	for _, owner := range owners {
		replicas := 1
		if kind == "StatefulSet" {
			replicas = number(owner.at("spec", "replicas"))
		}
		for ordinal := range replicas {
			pod := podName(owner, ordinal)
			p, err := m.start(pod, mainOf(owner))
			if err != nil {
				return err
			}
			probe, err := m.probe(pod, owner)
			if err != nil {
				return err
			}
			all = append(all, started{p, probe})
		}
	}
	for _, s := range all {
		if err := s.waitFor(ctx, s.probe); err != nil {
			return err
		}
	}
	fmt.Fprintf(m.out, "  ok  %d %s ready by their readiness probes (%.1f s)\n", len(all), program, time.Since(begin).Seconds())
	return nil
}

func (m *machine) start(pod string, i invocation) (*process, error) {
	args, err := m.args(pod, i)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(m.out, "  $ %s %s\n", i.program, strings.Join(args, " "))
	p, err := startProcess(pod, m.programs[i.program], args, filepath.Join(m.directory, pod))
	if err == nil {
		m.processes = append(m.processes, p)
	}
	return p, err
}

// probe returns the URL of a readiness probe.
func (m *machine) probe(pod string, owner object) (string, error) {
	get := at(list(podSpec(owner)["containers"])[0], "readinessProbe", "httpGet")
	if get == nil {
		return "", fmt.Errorf("%s has no readiness probe by HTTP", owner.id())
	}
	address, err := m.address(pod, containerPort(owner, at(get, "port"), 0))
	return "http://" + address + text(at(get, "path")), err
}

// runJobs runs Jobs in the order in which the operator writes them. None may fail, though a cluster would try again.
func (m *machine) runJobs(ctx context.Context, jobs []object) error {
	for _, job := range jobs {
		if err := m.runJob(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// runJob runs the containers of a Job, one after another, twice: a Job may be repeated after it has done its work. A deletion cannot.
func (m *machine) runJob(ctx context.Context, job object) error {
	for _, i := range invocationsOf(job) {
		args, err := m.args(podName(job, 0), i)
		if err != nil {
			return err
		}
		times := 2
		if slices.ContainsFunc(m.tree.undo, func(o object) bool { return o.id() == job.id() }) {
			times = 1
		}
		fmt.Fprintf(m.out, "  $ %s %s\n", i.program, strings.Join(args, " "))
		for range times {
			if _, err := m.output(ctx, i.program, args...); err != nil {
				return fmt.Errorf("%s: %w", job.id(), err)
			}
		}
	}
	fmt.Fprintf(m.out, "  ok  %s\n", job.id())
	return nil
}

// output runs a command and returns what it prints.
func (m *machine) output(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	c := command(ctx, m.programs[program], args, m.directory)
	var stderr strings.Builder
	c.Stderr = &stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, lastLine(stderr.String()))
	}
	return string(text), nil
}

// get returns the body of a page.
func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, response.Status)
	}
	return string(body), err
}

// parsed reads JSON.
func parsed[T any](text string, err error) (T, error) {
	var value T
	if err == nil {
		err = json.Unmarshal([]byte(text), &value)
	}
	return value, err
}
